#!/usr/bin/env python3
"""Changes one line of the engine at a time and asks whether a test notices.

    tools/mutate.py --count 100 --seed 1 --out mutants.tsv

Each mutant is one seeded change of an operator, a constant, a bound or a dropped call in src/{ops,layers,learning,network}. It is
built in a copy of the sources below build/mutants and the fast tests run in the order in which they are likely to notice; the first failing
program kills it, as does one that takes six times as long as without the change. Mutants that do not compile are drawn again. Survivors are
printed as a diff: each wants a test, or a reason why no result can tell it (a threshold of speed, a message). Two runs divide the work with
--first and --work."""

import argparse
import hashlib
import itertools
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "mutants"
FOLDERS = ["ops", "layers", "learning", "network"]
# Programs that look at a folder, the quickest first.
TESTS = {
    "ops": ["ops", "network", "tests_conformance", "learning", "tests_determinism"],
    "layers": ["layers", "network", "learning", "tests_conformance", "tests_determinism", "telemetry", "evolution"],
    "learning": ["learning", "training", "tests_determinism"],
    "network": ["network", "learning", "telemetry", "evolution", "training", "tests_conformance"],
}

OPERATORS = [
    (r" \+ ", " - "), (r" - ", " + "), (r" \* ", " + "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "),
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"std::min\b", "std::max"), (r"std::max\b", "std::min"), (r"\+\+(\w)", r"--\1"), (r" % ", " / "),
]


def mutations(line):
    """Every (label, new line) of one line of code."""
    code = line.split("//")[0]
    text = code.strip()
    if not text or text.startswith(("#", "static_assert", "template", "using", "namespace", "return fail(", "LOOM_ASSERT")) or '"' in code:
        return
    for pattern, to in OPERATORS:
        for m in re.finditer(pattern, code):
            yield f"{m.group().strip()} -> {m.expand(to).strip()}", line[: m.start()] + m.expand(to) + line[m.end():]
    for m in re.finditer(r"(?<![\w.])(\d+)(?:\.(\d+))?(?![\w.])", code):
        if m.group(2) is not None:
            yield f"{m.group()} -> 0.5 more", line[: m.start()] + str(float(m.group()) + 0.5) + line[m.end():]
        else:
            yield f"{m.group()} + 1", line[: m.start()] + str(int(m.group()) + 1) + line[m.end():]
    if re.fullmatch(r"[\w:.>\-]+\([^;{}]*\);", text) and not text.startswith(("return", "delete")):
        yield "call dropped", line.replace(text, ";")


def draw(rng):
    """One change that the seed chooses: every file weighs as much as it has places to change."""
    places = []
    for folder in FOLDERS:
        for path in sorted((ROOT / "src" / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h") or path.stem.endswith(("_test", "_fuzz")) or "golden" in path.stem:
                continue
            for number, line in enumerate(path.read_text().splitlines()):
                for label, new in mutations(line):
                    places.append((folder, path.relative_to(ROOT), number, label, line, new))
    rng.shuffle(places)
    return iter(places)


def run(work, command, limit):
    """Runs a command in the copy and returns its result, or None when it took longer. A change may ask for memory without end, hence the limit."""
    bound = lambda: resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
    try:
        return subprocess.run(command, cwd=work, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=limit,
                              preexec_fn=bound)
    except subprocess.TimeoutExpired:
        return None


def run_test(work, test, limit):
    return run(work, [f"build/bin/{test}_test", "--gtest_brief=1", "--gtest_fail_fast"], limit)


def seconds_of_tests(work, jobs):
    """Measures how long each program takes on the unchanged sources."""
    seconds = {}
    for test in sorted({test for tests in TESTS.values() for test in tests}):
        subprocess.run(["ninja", "-C", "build", f"-j{jobs}", f"{test}_test"], cwd=work, check=True, stdout=subprocess.DEVNULL)
        started = time.time()
        ran = run_test(work, test, 1800)
        if ran is None or ran.returncode != 0:
            sys.exit(f"{test}_test fails on the unchanged sources:\n{ran.stdout[-2000:] if ran else 'no end in 30 minutes'}")
        seconds[test] = time.time() - started
    return seconds


def judge(work, folder, jobs, seconds):
    """(verdict, what noticed) of the sources of the copy."""
    for test in TESTS[folder]:
        built = run(work, ["ninja", "-C", "build", f"-j{jobs}", f"{test}_test"], 1800)
        if built is None or built.returncode != 0:
            return "no build", ""
        ran = run_test(work, test, 20 + 6 * seconds[test])
        if ran is None:
            return "killed", f"{test}: hangs"
        if ran.returncode != 0:
            failed = re.search(r"\[  FAILED  \] ([\w./]+)", ran.stdout)
            return "killed", f"{test}: {failed.group(1) if failed else f'exit {ran.returncode}'}"
    return "survived", ""


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=100)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--out", default="mutants.tsv", help="one line per mutant; mutants that have a line already are not run again")
    options.add_argument("--list", action="store_true", help="print the changes and build nothing")
    options.add_argument("--first", type=int, default=0, help="how many of the seed's changes to pass over")
    options.add_argument("--work", type=Path, default=WORK, help="the folder of the copy")
    args = options.parse_args()
    work = args.work
    places = itertools.islice(draw(random.Random(args.seed)), args.first, None)
    if args.list:
        for _ in range(args.count):
            folder, path, number, label, old, new = next(places)
            print(f"{path}:{number + 1}\t{label}\t{old.strip()}\t->\t{new.strip()}")
        return 0

    work.mkdir(parents=True, exist_ok=True)
    for name in subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        if not (work / name).exists() or (work / name).read_bytes() != (ROOT / name).read_bytes():
            shutil.copy(ROOT / name, work / name)  # with the time of now: an object of an earlier mutant may be younger than the source
    subprocess.run(["cmake", "--preset", "release", "-DLOOM_TESTS=ON", "-DLOOM_PROGRAM=OFF", "-DLOOM_UNITY=OFF", "-DLOOM_TARGETS=scalar;native",
                    "-DCMAKE_CXX_FLAGS_RELEASE=-O1"],
                   cwd=work, check=True, stdout=subprocess.DEVNULL)
    out = Path(args.out)
    known = {}
    if out.exists():
        known = {line.split("\t")[0]: line.split("\t")[1] for line in out.read_text().splitlines()}
    seconds = seconds_of_tests(work, args.jobs)
    print("  ".join(f"{test} {s:.0f} s" for test, s in seconds.items()), flush=True)
    done = killed = 0
    for folder, path, number, label, old, new in places:
        if done == args.count:
            break
        key = hashlib.sha256(json.dumps([str(path), number, old, new]).encode()).hexdigest()[:12]
        verdict = known.get(key)
        if verdict is None:
            target = work / path
            unchanged = target.read_text().splitlines(keepends=True)
            lines = list(unchanged)
            lines[number] = new + "\n"
            started = time.time()
            target.write_text("".join(lines))
            verdict, noticed = judge(work, folder, args.jobs, seconds)
            target.write_text("".join(unchanged))
            with out.open("a") as table:
                table.write("\t".join([key, verdict, noticed, f"{path}:{number + 1}", label, old.strip(), new.strip()]) + "\n")
            print(f"{verdict:9} {path}:{number + 1}  {label}  {noticed}  ({time.time() - started:.0f} s)", flush=True)
            if verdict == "survived":
                print(f"  - {old.strip()}\n  + {new.strip()}", flush=True)
        if verdict == "no build":
            continue
        done += 1
        killed += verdict == "killed"
    print(f"{killed} of {done} mutants were noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
