"""Asks a language model one question and prints the answer as it is written.

usage: python ask.py MODEL [QUESTION]      MODEL: a GGUF file, a Hugging Face folder or an .entity
"""

import sys

import welvet

if not hasattr(welvet, "LM"):
    sys.exit(f"ask.py: {welvet.__file__} is another project named welvet; Loom's wheel comes from tools/wheel")


def main(arguments):
    if not 1 <= len(arguments) <= 2:
        sys.exit(__doc__)
    lm = welvet.LM(arguments[0])
    stream = lm.stream(arguments[1] if len(arguments) == 2 else "What is the capital of France?")
    for piece in stream:
        print(piece, end="", flush=True)
    print(f"\nhash {stream.result.hash[:16]}")


if __name__ == "__main__":
    main(sys.argv[1:])
