#!/usr/bin/env python3
"""Reference logits and greedy tokens of SmolLM2-135M-Instruct, computed by transformers in f32 on the weights as stored.

usage: smollm2_reference.py MODEL.gguf CACHE [OUT.json]       (needs torch, transformers, gguf; 10 minutes and 3 GB on two cores)

Builds CACHE/smollm2-F32 and CACHE/smollm2-BF16 with tools/make_smollm2_folder.py, proves that the F32 folder holds bit for bit the
weights that transformers makes of the GGUF, and that the BF16 folder holds them rounded as torch rounds, then writes the reference.
Checked-in result: tests/golden/smollm2_reference.json, made with the versions that it names.
"""
import hashlib
import os
import sys

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]
import make_smollm2_folder
import numpy as np
import oracle
import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import AutoModelForCausalLM

GREEDY_TOKENS = 32
CHAT = "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n" \
       "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPTS = [
    CHAT.format("What is the capital of France?"),
    CHAT.format("Write one sentence about rain."),
    CHAT.format("2+2="),
    "The quick brown fox jumps over the lazy dog. In 1969, 2 men walked on the Moon: Neil Armstrong and Buzz Aldrin.\n\n"
    "def add(a, b):\n    return a + b\n\nZażółć gęślą jaźń — 日本語 🙂\n",
]


def check_folder(gguf_path, folder, dtype):
    """Exits unless the folder's tensors are, byte for byte, transformers' reading of the GGUF; returns their SHA-256."""
    directory, name = os.path.split(os.path.abspath(gguf_path))
    theirs = AutoModelForCausalLM.from_pretrained(directory, gguf_file=name, dtype=torch.float32).state_dict()
    theirs.pop("lm_head.weight")    # the tied head
    digest = hashlib.sha256()
    with safe_open(f"{folder}/model.safetensors", "pt") as ours:
        if sorted(ours.keys()) != sorted(theirs):
            sys.exit("tensor names differ")
        for key in sorted(theirs):
            want = theirs[key].to(dtype).contiguous().view(torch.int32 if dtype == torch.float32 else torch.int16).numpy()
            got = ours.get_tensor(key).view(torch.int32 if dtype == torch.float32 else torch.int16).numpy()
            if not np.array_equal(want, got):
                sys.exit(f"{folder}: {key} differs from transformers' tensor")
            digest.update(key.encode() + b"\0" + got.tobytes())
    return digest.hexdigest()


def reference(folder, sample):
    model, tokenizer, cases = oracle.load(folder), Tokenizer.from_file(f"{folder}/tokenizer.json"), []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt, add_special_tokens=False).ids
        row = oracle.logits(model, ids)[-1]
        top = np.argsort(-row, kind="stable")[:50]
        tokens, gaps = oracle.greedy(model, ids, GREEDY_TOKENS)
        cases.append({"prompt": prompt, "ids": ids, "top_ids": top.tolist(), "top_logits": oracle.exact(row[top]),
                      "sample_logits": oracle.exact(row[sample]), "max_abs_logit": oracle.exact([np.abs(row).max()])[0],
                      "greedy": tokens, "gaps": gaps, "text": tokenizer.decode(tokens, skip_special_tokens=False)})
        print(f"{folder} {len(ids)} ids, smallest gap {min(gaps):.4f}: {cases[-1]['text']!r}", flush=True)
    return cases


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    model, cache = sys.argv[1:3]
    out = sys.argv[3] if len(sys.argv) == 4 else os.path.join(os.path.dirname(__file__), "../../tests/golden/smollm2_reference.json")
    sample = sorted(np.random.default_rng(1).choice(49152, 200, replace=False).tolist())
    result = {"made_by": "tools/golden/smollm2_reference.py", "versions": oracle.versions(), "sample_ids": sample, "weights": {}}
    for name, dtype in (("F32", torch.float32), ("BF16", torch.bfloat16)):
        folder = f"{cache}/smollm2-{name}"
        digest = make_smollm2_folder.make(model, folder, name)
        if check_folder(model, folder, dtype) != digest:
            sys.exit(f"{folder}: stored bytes are not the written ones")
        result["weights"][name] = {"tensors_sha256": digest, "cases": reference(folder, sample)}
    oracle.write(out, result)


if __name__ == "__main__":
    main()
