#!/usr/bin/env python3
"""A language model in every type: resident weights, perplexity, speed, an answer and its hash. Prints a Markdown table.

usage: type_table.py MODEL TEXT [--loom build/bin/loom] [--windows 4] [--threads 1] [--question "What is the capital of France?"] [--types a,b]

The weights are turned into each type on load from MODEL, so a 4-bit MODEL is the best that any row can be.
"""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TYPES = ["float64", "float32", "float16", "bfloat16", "fp8e4m3", "fp8e5m2", "int64", "int32", "int16", "int8", "uint64", "uint32", "uint16", "uint8",
         "int4", "uint4", "fp4", "int2", "uint2", "ternary", "binary"]


def run(loom, *arguments):
    done = subprocess.run([loom, *arguments, "--json", "-q"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"type_table: {' '.join(arguments)} failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    parser.add_argument("--windows", default="4")
    parser.add_argument("--threads", default="1")
    parser.add_argument("--question", default="What is the capital of France?")
    parser.add_argument("--types", default=",".join(TYPES))
    a = parser.parse_args()
    print(f"| type | weights MB | perplexity | writes tok/s | answer to \"{a.question}\" | hash |\n|---|---|---|---|---|---|", flush=True)
    for dtype in a.types.split(","):
        common = ["--dtype", dtype, "-t", a.threads]
        speed = run(a.loom, "bench", a.model, "--prompt-tokens", "64", "--new-tokens", "32", "--repeats", "3", *common)
        loss = run(a.loom, "perplexity", a.model, a.text, "--max-windows", a.windows, *common)
        answer = run(a.loom, "generate", a.model, "-p", a.question, "-n", "24", *common)
        text = " ".join(answer["text"].split())[:44].replace("|", "\\|")
        print(f"| {dtype} | {speed['weights_mb']:.1f} | {loss['perplexity']:.4g} | {speed['decode_tps']:.0f} | {text} | "
              f"{answer['hash'][:16]} |", flush=True)


if __name__ == "__main__":
    main()
