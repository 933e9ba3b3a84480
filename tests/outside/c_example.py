"""examples/c: ask.c gives the README's answer and hash; embedded.c does so with the model inside of it, and nothing else.

  c_example.py ASK
  c_example.py --embedded PROGRAM
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
ANSWER = "The capital of France is Paris.\nhash 99554f0d"


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    print(done.stdout, done.stderr)
    return done


def ask(program):
    done = run(program, MODEL, "What is the capital of France?")
    if done.returncode or not done.stdout.startswith(ANSWER):
        return 1
    wrong = run(program, program, "x")
    return 0 if wrong.returncode == 1 and wrong.stderr.startswith("ask: Unsupported: ") else 1


def embedded(program):
    """A copy of the program, in a folder where there is nothing else."""
    if not pathlib.Path(program).is_file():
        print("example_embedded was not built: was LOOM_DATA set when CMake ran?")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        alone = shutil.copy(program, folder)
        if os.path.getsize(alone) < MODEL.stat().st_size:
            print("the program does not hold the model")
            return 1
        done = run(alone, "What is the capital of France?", cwd=folder, env={"HOME": folder})
        return 0 if done.returncode == 0 and done.stdout.startswith(ANSWER) else 1


if __name__ == "__main__":
    sys.exit(embedded(sys.argv[2]) if sys.argv[1] == "--embedded" else ask(sys.argv[1]))
