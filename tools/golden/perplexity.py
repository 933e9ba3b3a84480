#!/usr/bin/env python3
"""Perplexity of SmolLM2's Q4_1 weights, dequantised and computed in f32 by transformers.

usage: perplexity.py FOLDER TEXT [OUT.json]      (FOLDER: CACHE/smollm2-F32 of smollm2_reference.py; TEXT: text/botchan.txt of LOOM_DATA)

Protocol: the whole text is encoded at once, without special tokens; ids are cut into windows of 512 at multiples of 512, each
evaluated on its own from position 0 with an empty cache; within a window tokens 1..511 are scored, each by -log softmax(logits of
the position before it) in f64, and token 0 is not. The first 98 windows (50 176 ids, 50 078 scored) count, the rest is not read.
perplexity = exp(sum of all scores / number of scored tokens); window_nll = mean score of each of the first 20 windows.
"""
import hashlib
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import oracle
from tokenizers import Tokenizer

WINDOW, WINDOWS, LISTED = 512, 98, 20


def window_nll(model, ids):
    rows = oracle.logits(model, ids)[:-1].astype(np.float64)
    top = rows.max(axis=1)
    log_sum = top + np.log(np.exp(rows - top[:, None]).sum(axis=1))
    return log_sum - rows[np.arange(len(ids) - 1), ids[1:]]


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder, text_path = sys.argv[1:3]
    out = sys.argv[3] if len(sys.argv) == 4 else os.path.join(os.path.dirname(__file__), "../../tests/golden/perplexity.json")
    text = open(text_path, "rb").read()
    ids = Tokenizer.from_file(f"{folder}/tokenizer.json").encode(text.decode("utf-8"), add_special_tokens=False).ids
    if len(ids) < WINDOW * WINDOWS:
        sys.exit(f"{text_path}: {len(ids)} ids, {WINDOW * WINDOWS} needed")
    model, scores = oracle.load(folder), []
    for w in range(WINDOWS):
        scores.append(window_nll(model, ids[w * WINDOW:(w + 1) * WINDOW]))
        print(f"window {w}: {scores[-1].mean():.6f}, so far {np.exp(np.concatenate(scores).mean()):.5f}", flush=True)
    used = np.array(ids[:WINDOW * WINDOWS], dtype="<u4")
    oracle.write(out, {
        "made_by": "tools/golden/perplexity.py", "versions": oracle.versions(), "model": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "text": "text/botchan.txt", "text_sha256": hashlib.sha256(text).hexdigest(), "ids_sha256": hashlib.sha256(used.tobytes()).hexdigest(),
        "protocol": " ".join(__doc__.split("Protocol: ")[1].split()), "window": WINDOW, "windows": WINDOWS, "text_ids": len(ids),
        "scored": int(sum(map(len, scores))), "nll": float(np.concatenate(scores).mean()),
        "perplexity": float(np.exp(np.concatenate(scores).mean())), "first_ids": ids[:64], "window_nll": [float(s.mean()) for s in scores[:LISTED]]})


if __name__ == "__main__":
    main()
