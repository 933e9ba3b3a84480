"""examples/c/ask.c gives the README's answer and hash."""

import os
import pathlib
import subprocess
import sys


def main():
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    done = subprocess.run([sys.argv[1], model, "What is the capital of France?"], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode or not done.stdout.startswith("The capital of France is Paris.\nhash 99554f0d"):
        return 1
    wrong = subprocess.run([sys.argv[1], sys.argv[0], "x"], capture_output=True, text=True)
    print(wrong.stderr)
    return 0 if wrong.returncode == 1 and wrong.stderr.startswith("ask: Unsupported: ") else 1


if __name__ == "__main__":
    sys.exit(main())
