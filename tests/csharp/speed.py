"""Time of the C# package over C: interleaved programs, the least time of groups of calls. Fails above the limits.

  speed.py libloom.so

Limits over C: a forward of a small network 1 us, a step of a stream 50 us. A machine without mcs or mono ends with 77.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import run

SPEC = ('{"seed": 1, "layers": [{"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"}, '
        '{"type": "dense", "input_height": 8, "output_height": 4}]}')
ROUNDS = 3


def least(commands):
    """Runs programs in turns, and returns the least of each number that they print."""
    found = {}
    for _ in range(ROUNDS):
        for name, (command, environment) in commands.items():
            done = subprocess.run([str(c) for c in command], env=environment, capture_output=True, text=True,
                                  check=True)
            numbers = [int(word) for word in done.stdout.split()]
            found[name] = [min(pair) for pair in zip(found.get(name, numbers), numbers)]
    return found


def main():
    if not shutil.which("mcs") or not shutil.which("mono"):
        print("SKIPPED: mcs or mono is not installed, so the package of C# is not measured")
        return run.SKIPPED
    library = pathlib.Path(sys.argv[1]).resolve()
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    environment = {**os.environ, "WELVET_LIBRARY": str(library), "LD_LIBRARY_PATH": str(library.parent)}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        run.compile_files(run.library_sources(), folder / "Welvet.dll", "-target:library", "-optimize")
        run.compile_files(run.sources(run.ROOT / "tests/csharp/speed"), folder / "speed.exe", "-optimize",
                          f"-r:{folder}/Welvet.dll")
        (folder / "speed.runtimeconfig.json").write_text(run.CONFIG)
        run.run(["cc", "-O2", f"-I{run.ROOT}/include", run.ROOT / "tests/csharp/speed/speed.c", f"-L{library.parent}",
                 "-lloom", "-o", folder / "speed"])
        commands = {"C": ([folder / "speed", SPEC], environment)}
        for title, runner in (("CoreCLR", run.core_runtime()), ("Mono", "mono")):
            if runner:
                commands[title] = ([runner, folder / "speed.exe", SPEC, model], environment)
        found = least(commands)
        failed = 0
        for title, numbers in found.items():
            print(title, "forward {} ns, run {} ns".format(*numbers[:2]),
                  *("tensor {} ns, step of a stream {} ns".format(*numbers[2:]) if len(numbers) > 2 else "",))
            over = [a - b for a, b in zip(numbers, found["C"])]
            if max(over) > 1000 or (len(numbers) > 2 and numbers[3] > 50000):
                failed = 1
        return failed


if __name__ == "__main__":
    sys.exit(main())
