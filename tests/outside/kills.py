#!/usr/bin/env python3
"""kill -9 while files are written:  kills.py PROGRAM [--whole] [--seed S]

First before calls that save (every one of them in a whole run), then at random moments. Nothing torn may stand under a final name, and going on must
end with the files of a run that nobody disturbed, byte for byte.
"""

import os
import random
import signal
import tempfile
import time

from jobs import Workshop
from outside import Faults, Program, Tally, arguments, some


def check(shop, job, tally, what):
    wrong = shop.torn(job) or shop.finish(job)
    tally.rounds += 1
    if wrong:
        tally.fail(f"{job.name}, killed {what}: {'; '.join(wrong)}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--job", action="append", help="only this one; may be repeated")
    given = parser.parse_args()
    program, tally = Program(given.program), Tally()
    faults = Faults(program)
    with tempfile.TemporaryDirectory(prefix="loom-kills-") as folder:
        shop = Workshop(program, folder)
        for job in (job for job in shop.jobs if not given.job or job.name in given.job):
            rng = random.Random(f"{job.name} {given.seed}")
            shop.begin(job)
            calls = some(rng, faults.count(lambda **more: shop.run(job, **more))[0], given.whole, 4)
            for call in calls:
                shop.begin(job)
                done = shop.run(job, environment=faults.environment(kill=call))
                if done.status not in (0, -signal.SIGKILL):  # 0: time decides how often checkpoints are written
                    tally.fail(f"{job.name}, call {call}: {done.status}: {done.err.strip()}")
                if rng.random() < 0.3:  # and again on the way
                    shop.run(job, again=True, environment=faults.environment(kill=rng.randrange(1, 40)))
                check(shop, job, tally, f"before call {call}")
            shop.begin(job)
            began = time.monotonic()
            shop.run(job)
            span, rounds = time.monotonic() - began, job.kills if given.whole else min(job.kills, 3)
            for _ in range(rounds):
                shop.begin(job)
                for again in (False, True)[: rng.choice((1, 1, 2))]:
                    pid, pause = shop.start(job, again), rng.uniform(0, span)
                    time.sleep(pause)
                    os.kill(pid, signal.SIGKILL)
                    program.wait(pid)
                check(shop, job, tally, f"after {pause:.3f} s")
            print(f"{job.name}: killed before {len(calls)} calls, {rounds} times at random", flush=True)
    program.close()
    tally.end("kills")


main()
