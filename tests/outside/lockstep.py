"""examples/lockstep: processes of several languages compute one world, and a flipped bit of a weight is named.

  lockstep.py BUILD [TICKS [CHARACTERS]]

Ends with 77, which CTest shows as skipped, if only one process can be started.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLE = ROOT / "examples/lockstep"
SKIPPED = 77


def play(*options):
    done = subprocess.run([sys.executable, "-B", EXAMPLE / "run.py", *map(str, options)], capture_output=True, text=True, timeout=1500, check=False)
    print(done.stdout, done.stderr, sep="", flush=True)
    return done


def compare(folder):
    done = subprocess.run([sys.executable, "-B", EXAMPLE / "compare", folder], capture_output=True, text=True, check=False)
    print(done.stdout, done.stderr, sep="", flush=True)
    return done


def expect(condition, what):
    if not condition:
        raise SystemExit(f"expected {what}")


def whole_world(folder, ticks, characters):
    """All processes agree to the end, and the characters have learned."""
    done = play("--ticks", ticks, "--characters", characters, "--folder", folder)
    if done.returncode == SKIPPED:
        raise SystemExit(SKIPPED)
    expect(done.returncode == 0 and re.search(r"^hash [0-9a-f]{64}$", done.stdout, re.MULTILINE), "one hash of all processes")
    names = sorted(path.name[:-6] for path in folder.glob("*.ticks"))
    logs = [(folder / f"{name}.ticks").read_text("ascii").splitlines() for name in names]
    expect(len(names) >= 2 and all(log == logs[0] and len(log) == ticks for log in logs), f"{ticks} equal hashes in {names}")
    expect(len(set(line.split()[1] for line in logs[0])) == ticks, "another hash in every tick")
    right = int(re.search(r"^(\d+) of \d+ did", done.stdout, re.MULTILINE)[1])
    expect(right > characters * 0.6, f"more than 6 in 10 characters that did what they were taught, not {right}")
    same = compare(folder)
    expect(same.returncode == 0 and f"{ticks} ticks are equal" in same.stdout, "compare to find no difference")
    return names


def flipped_bit(folder, name, flip):
    """A bit that is flipped in one process is found in that tick, character and layer, and only there."""
    tick, character, weight, index, bit = flip
    done = play("--ticks", tick + 10, "--characters", 20, "--folder", folder, "--flip", f"{name}:{tick}:{character}:{weight}:{index}:{bit}")
    expect(done.returncode == 3 and f"desync in tick {tick}\n" in done.stdout, f"a desync in tick {tick}")
    found = compare(folder)
    expect(found.returncode == 3, "compare to end with 3")
    first, second = found.stdout.splitlines()[:2]
    expect(first.startswith(f"tick {tick}: ") and name in first, f"tick {tick} and {name} in the first line")
    begin = f"character {character}: weight {weight}: 1 of "
    end = f"the first at index {index}, bits {bit}"
    expect(second.startswith(begin) and second.endswith(end), f"{begin}... {end}")
    expect("1 of 20 characters differ" in found.stdout, "one character that differs")


def lost_process(folder):
    """A process that ends in the middle fails the whole world, with its name."""
    done = play("--ticks", 5, "--characters", 4, "--folder", folder, "--peer", "python", "--peer", "gone=false")
    expect(done.returncode == 1 and "failed: gone did not connect" in done.stdout, "the name of the process that ended")
    done = play("--ticks", 5, "--characters", 4, "--folder", folder, "--peer", "python", "--peer", f"two={sys.executable} -c 'import sys; sys.exit(4)'")
    expect(done.returncode == 1 and "failed: two did not connect" in done.stdout, "the name of the process that ended")


def main():
    os.environ["LOOM_BUILD"] = sys.argv[1]
    os.environ.setdefault("NODE_PATH", os.environ.get("LOOM_NPM", str(pathlib.Path.home() / ".cache/loom/npm")) + "/package/node_modules")
    ticks, characters = (int(text) for text in (sys.argv[2:] + ["200", "200"][len(sys.argv) - 2:]))
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        names = whole_world(folder, ticks, characters)
        flips = [(9, 7, "layers.0.bias", 3, 30), (14, 12, "layers.1.weight", 3, 2), (6, 19, "layers.0.weight", 95, 0)]
        for number, flip in enumerate(flips):
            flipped_bit(folder, names[number % len(names)], flip)
        lost_process(folder)


if __name__ == "__main__":
    main()
