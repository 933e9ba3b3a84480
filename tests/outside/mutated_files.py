#!/usr/bin/env python3
"""Changed files of every format meet every command that reads them:  mutated_files.py PROGRAM [--format F] [--count N] [--seed S] [--case I]

A case is a function of format, seed and number. Each must end within its limits with 0, 3 or 4, one line that names the file, and nothing
half-written. One that does not is kept in --keep (the folder it ran in and its command) and is run again by --format F --seed S --case I.
"""

import json
import math
import os
import random
import resource
import shutil
import tempfile
import time
from pathlib import Path

from formats import Formats
from jobs import is_whole
from outside import Limits, Program, Tally, arguments, complaints, write_tree

PEAK = 1 << 30  # gzip may unpack so much; a template holds half of it
SHORT = 25  # inputs of each format where it has to be quick


def insane(done, reading):
    """Answers that are none: JSON that cannot be read, and numbers that are not finite."""
    if done.status != 0 or "--json" not in reading.args:
        return []
    try:
        answer = json.loads(done.out)
    except ValueError as error:
        return [f"no JSON on stdout: {error}"]
    scores = [entry.get("logit") for entry in answer.get("top", [])] if isinstance(answer, dict) else []
    if not all(isinstance(s, (int, float)) and math.isfinite(s) for s in scores):
        return [f"scores {scores}"]
    return []


class Cases:
    def __init__(self, program, name, form, folder, keep):
        self.program, self.name, self.form, self.folder, self.keep = program, name, form, folder, keep
        self.known = {name.split("/")[0] for name in form.files} | {reading.folder for reading in form.readings}
        write_tree(folder, form.files)
        self.statuses, self.slowest, self.largest = {}, 0.0, 0

    def reset(self, reading):
        again = {reading.file}
        if reading.folder:
            shutil.rmtree(Path(self.folder, reading.folder), ignore_errors=True)
            again |= {name for name in self.form.files if name.startswith(reading.folder + "/")}
        write_tree(self.folder, {name: self.form.files[name] for name in again})
        for name in self.strangers():
            os.unlink(Path(self.folder, name))

    def strangers(self):
        return set(os.listdir(self.folder)) - self.known

    def check_unchanged(self, tally):
        """A reader that refuses the valid file would see none of what is changed in it."""
        for reading in {reading.args: reading for reading in self.form.readings}.values():
            done = self.program.run(reading.args, self.folder, stdin=reading.stdin)
            if done.status not in (0, *reading.silent):
                tally.fail(f"{self.name}: loom {' '.join(reading.args)}: the unchanged file is refused: {done.err.strip()}")
            self.reset(reading)

    def run(self, seed, number, tally, show=False):
        rng = random.Random(f"{self.name} {seed} {number}")
        reading = rng.choice(self.form.readings)
        data = reading.change(rng, self.form.files[reading.file])
        Path(self.folder, reading.file).write_bytes(data)
        done = self.program.run(reading.args, self.folder, stdin=reading.stdin, limits=Limits(cpu=10))
        wrong = complaints(done, self.folder, [part for name in self.form.files for part in (name.split("/")[0], name.split("/")[-1])], reading.statuses, reading.silent)
        if done.timed_out and self.form.heavy:
            wrong = []  # asked for
        if done.peak > PEAK and not self.form.heavy:
            wrong.append(f"{done.peak >> 20} MiB")
        wrong += insane(done, reading)
        for path in self.strangers():
            if done.status not in (0, *reading.silent) or path not in reading.writes:
                wrong.append(f"{path} was left")
            elif not is_whole(path, Path(self.folder, path).read_bytes()):
                wrong.append(f"{path} is torn")
        if show:
            print(f"loom {' '.join(reading.args)}\nchanged: {reading.file}, {len(data)} bytes\n{done}")
        if wrong:
            kept = Path(self.keep, f"{self.name}-{seed}-{number}")
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(self.folder, kept)
            Path(kept, "command.txt").write_text(f"loom {' '.join(reading.args)}\n{'; '.join(wrong)}\n{done.err[:4000]}\n")
            tally.fail(f"--format {self.name} --seed {seed} --case {number}: loom {' '.join(reading.args)}: {'; '.join(wrong)}: {done.err[:300].strip()} ({kept})")
        key = "limit" if done.timed_out else done.status
        self.statuses[key] = self.statuses.get(key, 0) + 1
        self.slowest, self.largest = max(self.slowest, done.cpu), max(self.largest, done.peak)
        tally.rounds += 1
        self.reset(reading)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--format", action="append", choices=Formats.names(), help="only this one; may be repeated")
    parser.add_argument("--count", type=int, help="inputs of each format")
    parser.add_argument("--case", type=int, help="this one, shown")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "loom-found"), help="where failing cases go")
    given = parser.parse_args()
    # With this limit, an input for which the program would take all memory of the machine ends it with exit code 4.
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))
    program, tally = Program(given.program), Tally()
    with tempfile.TemporaryDirectory(prefix="loom-mutated-") as folder:
        for name in given.format or Formats.names():
            made, work = Path(folder, "made-" + name), Path(folder, "work-" + name)
            made.mkdir(), work.mkdir()
            form = Formats(program, made).make(name)
            cases = Cases(program, name, form, work, given.keep)
            if form.fits:
                cases.check_unchanged(tally)
            if given.case is not None:
                cases.run(given.seed, given.case, tally, show=True)
                continue
            began, count = time.monotonic(), given.count or (form.count if given.whole else SHORT)
            for number in range(count):
                cases.run(given.seed, number, tally)
            ends = ", ".join(f"{cases.statuses[key]} x {key}" for key in sorted(cases.statuses, key=str))
            print(f"{name}: {count} inputs in {time.monotonic() - began:.0f} s: exit codes {ends}; at most {cases.slowest:.2f} s and {cases.largest >> 20} MiB", flush=True)
    program.close()
    tally.end("mutated files")


main()
