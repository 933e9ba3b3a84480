#!/usr/bin/env python3
"""Disks that are full:  full_disks.py PROGRAM [--whole] [--seed S]

Each call of a save fails once (every one of them in a whole run), files may not grow beyond a size, and file systems are too small, where this process
may mount such. A job that cannot write ends with one line and exit code 3, nothing torn or left; with room again the job ends as undisturbed.
"""

import os
import random
import subprocess
import sys
import tempfile

from jobs import Workshop, failed_well
from outside import Faults, Limits, Program, Tally, arguments, some, tree

DISKS = 137  # rounds of a whole run on file systems that are too small


def with_mounts():
    """Begins this script again where it may mount: as itself if it can, else in a namespace of its own. False where there is none."""
    if "LOOM_MOUNTS" in os.environ:
        return os.environ["LOOM_MOUNTS"] == "yes"
    probe = "mount -t tmpfs none /tmp"
    for prefix in (["unshare", "--mount"], ["unshare", "--user", "--map-root-user", "--mount"]):
        try:
            if subprocess.run([*prefix, "sh", "-c", probe], capture_output=True).returncode == 0:
                os.execvpe(prefix[0], [*prefix, sys.executable, *sys.argv], {**os.environ, "LOOM_MOUNTS": "yes"})
        except FileNotFoundError:
            pass
    return False


def mount(folder, *options):
    subprocess.run(["mount", "-t", "tmpfs", "-o", ",".join(options), "none", folder], check=True)


class Rounds:
    def __init__(self, shop, tally):
        self.shop, self.tally, self.faults = shop, tally, Faults(shop.program)

    def check(self, job, done, what, room=None):
        wrong = failed_well(done, self.shop, job)
        if done.status == 3 and not any(text in done.err for text in ("No space left", "File too large")):
            wrong.append("the line does not say why")
        if room:
            room()
        wrong += [] if wrong else self.shop.finish(job)
        self.tally.rounds += 1
        if wrong:
            self.tally.fail(f"{job.name}, {what}: {'; '.join(wrong)}: {done.err.strip()}")

    def failing_calls(self, job, rng, whole):
        self.shop.begin(job)
        calls = some(rng, self.faults.count(lambda **more: self.shop.run(job, **more))[0], whole, 5)
        for call in calls:
            self.shop.begin(job)
            done = self.shop.run(job, environment=self.faults.environment(save=call))
            self.check(job, done, f"call {call} fails")
        return len(calls)

    def short_files(self, job, rng, rounds):
        self.shop.begin(job)
        largest = max(map(len, job.done.values()))
        for _ in range(rounds):
            size = max(rng.randrange(largest), min(largest - 1, 512))  # the error has to fit into one too
            self.shop.begin(job)
            self.check(job, self.shop.run(job, limits=Limits(file=size)), f"files of {size} bytes")

    def small_disks(self, job, rng, rounds):
        need = sum((len(data) + 4095) // 4096 for data in tree(self.shop.disk).values())
        for _ in range(rounds):
            pages = rng.randrange(1, max(2, 2 * need))
            self.shop.empty()
            mount(self.shop.disk, f"size={4 * pages}k")
            try:
                try:
                    self.shop.begin(job)
                except OSError:  # not even the old file
                    self.shop.empty()
                self.check(job, self.shop.run(job), f"a disk of {4 * pages} KiB", lambda: mount(self.shop.disk, "remount", "size=64m"))
            finally:
                subprocess.run(["umount", self.shop.disk], check=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("--job", action="append", help="only this one; may be repeated")
    given = parser.parse_args()
    mounts = with_mounts()
    program, tally = Program(given.program), Tally()
    with tempfile.TemporaryDirectory(prefix="loom-disks-") as folder:
        shop = Workshop(program, folder)
        rounds = Rounds(shop, tally)
        for job in (job for job in shop.jobs if not given.job or job.name in given.job):
            rng = random.Random(f"{job.name} {given.seed}")
            calls = rounds.failing_calls(job, rng, given.whole)
            rounds.short_files(job, rng, 12 if given.whole else 1)
            disks = 0 if not mounts else -(-DISKS // len(shop.jobs)) if given.whole else 1
            rounds.small_disks(job, rng, disks)
            print(f"{job.name}: {calls} calls, {disks} disks", flush=True)
    program.close()
    tally.end("full disks" if mounts else "full disks, without file systems of their own (no right to mount)")


main()
