#!/usr/bin/env python3
"""Memory, descriptors and streams that run out, and signals:  limits.py PROGRAM [--whole] [--seed S] [--only PART]

Every large request for memory of every command fails once; then address space, open files, closed and full streams, broken pipes, and SIGINT,
SIGTERM and SIGHUP at random moments. One line, a documented exit code, nothing torn or left; what was saving can go on.
"""

import os
import random
import signal
import tempfile
import time

from formats import model_folder
from jobs import Job, Workshop
from outside import Faults, Limits, Program, Tally, arguments, complaints, some, write_tree

MEMORY = (0, 4)
READERS = [("inspect", "m.gguf"), ("inspect", "hub"), ("logits", "m.gguf", "--ids", "1,2,3", "-t", "2"), ("generate", "m.gguf", "-p", "Hi", "-n", "3", "-t", "2"),
           ("generate", "hub", "-p", "Hi", "-n", "3", "-t", "2", "--dtype", "int8"), ("generate", "m.entity", "-p", "Hi", "-n", "2", "--activations", "int8", "-t", "1"),
           ("perplexity", "m.gguf", "t.txt", "--window", "32", "-t", "1"), ("tokenize", "hub", "--text", "a b"), ("run", "wide.json", "--batch", "64", "-t", "2", "-q"),
           ("inspect", "wide.json"), ("diff", "net.json", "net.json"), ("replay", "ready", "-q"), ("replay", "tuned/run", "-q"),
           ("inspect", "ready/checkpoint.entity"), ("dna", "--journal", "ready"), ("evolve", "e.json", "-t", "2", "-q")]


class Limited:
    def __init__(self, shop, given, tally):
        self.shop, self.whole, self.tally, self.program = shop, given.whole, tally, shop.program
        self.rng = random.Random(f"limits {given.seed}")
        self.readers = [Job(" ".join(args), args) for args in READERS]

    def run(self, job, **more):
        return self.shop.run(job, **more) if job.done else self.program.run(job.args, self.shop.base, **more)

    def begin(self, job):
        if job.done:
            self.shop.begin(job)

    def check(self, job, done, what, statuses, and_then=True, silent=()):
        wrong = complaints(done, self.shop.base, [], statuses, (1, *silent) if job.stdin else silent)
        if job.done and done.status >= 0:
            wrong += self.shop.torn(job)
            wrong += self.shop.finish(job) if and_then and not wrong else []
        self.tally.rounds += 1
        if wrong:
            self.tally.fail(f"{job.name}, {what}: {'; '.join(wrong)}: {done.err.strip()[:300]}")

    def memory(self):
        """Each large request, and all that follow it."""
        faults = Faults(self.program)
        for job in self.readers + self.shop.jobs:
            self.begin(job)
            count = faults.count(lambda **more: self.run(job, **more))[1]
            for request in some(self.rng, count, self.whole, 2):
                self.begin(job)
                done = self.run(job, environment=faults.environment(alloc=request))
                # A chat says what it had no memory for, and goes on.
                statuses = ((4, 0) if request == count else MEMORY) + ((1,) if job.stdin else ())
                self.check(job, done, f"request {request} of {count} fails", statuses, and_then=request % 5 == 1)
            print(f"{job.name}: {count} large requests", flush=True)

    def space(self):
        for _ in range(70 if self.whole else 6):
            job = self.rng.choice(self.readers + self.shop.jobs)
            size = int(30 * 1.06 ** self.rng.randrange(40))
            self.begin(job)
            self.check(job, self.run(job, limits=Limits(memory=size << 20)), f"{size} MiB of addresses", MEMORY)

    def files(self):
        least = next(n for n in range(3, 11) if self.run(Job("version", ("--version",)), limits=Limits(files=n)).status == 0)  # for its libraries
        for count in range(least, 11):
            for job in self.readers + self.shop.jobs if self.whole else self.rng.sample(self.readers + self.shop.jobs, 2):
                self.begin(job)
                self.check(job, self.run(job, limits=Limits(files=count)), f"{count} open files", (0, 1, 3, 4))

    def threads(self):
        for size in (64, 256, 1024):
            job = Job("threads", ("logits", "m.gguf", "--ids", "1,2", "-t", "256"))
            self.check(job, self.run(job, limits=Limits(memory=size << 20)), f"256 threads in {size} MiB", MEMORY)

    def streams(self):
        all_jobs = self.readers + self.shop.jobs
        for job in all_jobs if self.whole else self.rng.sample(all_jobs, 5):
            for more in ({"stdout": "closed"}, {"stdout": "/dev/full"}, {"stderr": "closed"}, {"stderr": "/dev/full"}):
                self.begin(job)
                self.check(job, self.run(job, **more), f"{more}", (0, 1))
            self.begin(job)
            reader, writer = os.pipe()
            os.close(reader)
            done = self.run(job, stdout=writer)
            os.close(writer)
            self.check(job, done, "a broken pipe", (0, 1, 128 + signal.SIGPIPE), silent=(128 + signal.SIGPIPE,))

    def signals(self):
        for number in range(52 if self.whole else 6):
            job, stop = self.shop.jobs[number % len(self.shop.jobs)], self.rng.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
            self.shop.begin(job)
            began = time.monotonic()
            self.shop.run(job)
            span = time.monotonic() - began
            self.shop.begin(job)
            pid, pause = self.shop.start(job), self.rng.uniform(0, span)
            time.sleep(pause)
            os.kill(pid, stop)
            done = self.program.wait(pid)
            if done.status == -stop:  # before the program had installed its handlers
                done.status = 128 + stop
            self.check(job, done, f"{stop.name} after {pause:.3f} s", (0, 128 + stop), silent=(128 + stop,))


PARTS = ("memory", "space", "files", "threads", "streams", "signals")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--only", choices=PARTS, action="append")
    given = parser.parse_args()
    program, tally = Program(given.program), Tally()
    with tempfile.TemporaryDirectory(prefix="loom-limits-") as folder:
        shop = Workshop(program, folder)
        write_tree(shop.base / "hub", model_folder(False))
        program.must(("convert", "m.gguf", "m.entity", "-q"), shop.base)
        program.must(("finetune", "m.gguf", "--text", "t.txt", "-o", "tuned", "--length", "8", "--steps", "2", "-q", "-t", "1"), shop.base)
        limited = Limited(shop, given, tally)
        for part in given.only or PARTS:
            before, began = tally.rounds, time.monotonic()
            getattr(limited, part)()
            print(f"{part}: {tally.rounds - before} rounds in {time.monotonic() - began:.0f} s", flush=True)
    program.close()
    tally.end("limits")


main()
