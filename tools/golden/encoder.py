#!/usr/bin/env python3
"""Vectors of texts by a BERT encoder, computed by torch and transformers: tests/golden/encoder.json.

usage: encoder.py FOLDER   (a folder of sentence-transformers: config.json, model.safetensors, tokenizer.json)

Each text alone, mean of the tokens, length 1; every eighth number of each vector is kept. Versions: the file's "made_with".
"""
import json
import sys
from pathlib import Path

import tokenizers
import torch
import transformers

TEXTS = [
    "The weather is lovely today.",
    "It's so sunny outside!",
    "He drove to the stadium.",
    "",
    "a",
    "Überraschung: Straßenbahn, 北京, naïve café — 42 €!",
    "One two three four five six seven eight nine ten. " * 12,
    "word " * 700,
]


def main():
    folder = Path(sys.argv[1])
    model = transformers.BertModel.from_pretrained(folder).eval()
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.config.max_position_embeddings)
    rows = []
    with torch.inference_mode():
        for text in TEXTS:
            ids = tokenizer.encode(text).ids
            hidden = model(torch.tensor([ids]), torch.ones(1, len(ids), dtype=torch.long)).last_hidden_state[0]
            vector = torch.nn.functional.normalize(hidden.mean(0), dim=0)
            rows.append({"text": text, "tokens": len(ids), "every_eighth": [float(f"{v:.8g}") for v in vector[::8]]})
    out = Path(__file__).resolve().parents[2] / "tests/golden/encoder.json"
    made = {"torch": torch.__version__, "transformers": transformers.__version__, "tokenizers": tokenizers.__version__}
    out.write_text(json.dumps({"made_with": made, "texts": rows}, indent=1, ensure_ascii=False) + "\n")
    print(out, made)


if __name__ == "__main__":
    main()
