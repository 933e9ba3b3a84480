#!/usr/bin/env python3
"""Does a language model that `loom export` wrote say the same elsewhere? By hand: it needs packages that CI has not.

usage: exported_models.py LOOM MODEL.gguf [--count 32]

The model is exported in float16 as a GGUF and as a Hugging Face folder. llama.cpp (the package xllamacpp) reads the first, transformers
the second, in float32 arithmetic; both continue a prompt greedily, and so does Loom. A token that differs is printed.
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

PROMPTS = ["The capital of France is", "Once upon a time", "def fibonacci(n):"]


def run(*command):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=True).stdout


def loom_answer(loom, model, prompt, count):
    return json.loads(run(loom, "generate", model, "--raw", "-p", prompt, "-n", count, "--json", "--quiet"))


def transformers_ids(folder, prompts, count):
    import torch
    import transformers

    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        for ids in prompts:
            all_ids = model.generate(torch.tensor([ids]), max_new_tokens=count, do_sample=False)[0].tolist()
            yield all_ids[len(ids):]


def llama_texts(path, prompts, count):
    """Its binding gives texts, no ids."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = 512
    server = xllamacpp.Server(params)
    for ids in prompts:
        answer = server.handle_completions({"prompt": ids, "max_tokens": count, "temperature": 0, "top_k": 1})
        yield (json.loads(answer) if isinstance(answer, (str, bytes)) else answer)["choices"][0]["text"]


def main():
    loom, model = Path(sys.argv[1]).resolve(), sys.argv[2]
    count = int(sys.argv[sys.argv.index("--count") + 1]) if "--count" in sys.argv else 32
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        gguf, huggingface = Path(folder) / "half.gguf", Path(folder) / "half"
        run(loom, "export", model, gguf, "--dtype", "float16", "--quiet")
        run(loom, "export", model, huggingface, "--dtype", "float16", "--quiet")
        ours = [loom_answer(loom, gguf, p, count) for p in PROMPTS]
        prompts = [json.loads(run(loom, "tokenize", model, "--text", p, "--json"))["ids"] for p in PROMPTS]
        for name, key, answers in (("transformers", "ids", transformers_ids(huggingface, prompts, count)),
                                   ("llama.cpp", "text", llama_texts(gguf, prompts, count))):
            for prompt, own, theirs in zip(PROMPTS, ours, answers):
                same = theirs[:len(own[key])] == own[key]
                print(name, "agrees" if same else f"DIFFERS: {theirs!r}, Loom {own[key]!r}", "on", repr(prompt))
                bad += not same
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
