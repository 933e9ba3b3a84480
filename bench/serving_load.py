#!/usr/bin/env python3
"""`loom serve` under many clients for a long time: errors, memory, times, and equal hashes.

  bench/serving_load.py MODEL [--streams 64] [--minutes 10] [--threads 2] [--parallel 64] [--loom build/bin/loom] [--json FILE]

Each client asks one chat after the other and reads it as server-sent events; it takes the chats, as many as there are clients, from another place of
the list each time. Before, the server answers every chat alone, and each later answer has to have that hash. Prints the greatest and least resident
memory after the first third, in which kept beginnings of prompts fill their memory, and seconds to the first token and between pieces of text at the
50th, 95th and 99th percentile. Exits with 1 after an error, another hash, or where memory after the first third differs by more than 2 %.
"""
import argparse
import json
import os
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from serving import Server, free_port, prompts, read_chat

NEW_TOKENS = 32


def resident_mb(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS"))


def percentiles(values):
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * part))] for part in (0.5, 0.95, 0.99)]


class Load:
    def __init__(self, server, texts, seconds):
        self.server, self.texts, self.end = server, texts, time.monotonic() + seconds
        self.first, self.gaps, self.errors, self.memory = [], [], [], []
        self.lock, self.begin = threading.Lock(), time.monotonic()
        self.alone = {}

    def ask(self, text):
        times, _, digest = read_chat(self.server, text, NEW_TOKENS)
        return times, digest

    def client(self, number):
        turn = number
        while time.monotonic() < self.end:
            text = self.texts[turn % len(self.texts)]
            turn += 7
            try:
                times, digest = self.ask(text)
                problem = None if digest == self.alone[text] else f"hash {digest}, alone {self.alone[text]}"
            except Exception as error:  # of any kind: it is one of the results
                times, problem = [], repr(error)
            with self.lock:
                if problem:
                    self.errors.append(problem)
                if times:
                    self.first.append(times[0])
                    self.gaps += [b - a for a, b in zip(times, times[1:])]

    def run(self, streams):
        for text in self.texts:
            self.alone[text] = self.ask(text)[1]
        self.begin = time.monotonic()
        clients = [threading.Thread(target=self.client, args=(number,)) for number in range(streams)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            time.sleep(2)
            self.memory.append((time.monotonic() - self.begin, resident_mb(self.server.process.pid)))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    for name, value in (("streams", 64), ("threads", 2), ("parallel", 64), ("context", 512)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    parser.add_argument("--json")
    return parser.parse_args()


def main():
    a = arguments()
    port = free_port()
    server = Server("loom", [a.loom, "serve", a.model, "--port", str(port), "-t", str(a.threads), "-q", "--ctx", str(a.context),
                             "--parallel", str(a.parallel)], port)
    load = Load(server, prompts(a.streams, 24, seed=5), a.minutes * 60)
    try:
        load.run(a.streams)
    finally:
        server.stop()
    later = [mb for at, mb in load.memory if at > a.minutes * 20]
    first, gaps = percentiles(load.first), percentiles(load.gaps)
    row = {"streams": a.streams, "minutes": a.minutes, "answers": len(load.first), "errors": load.errors[:5], "error_count": len(load.errors),
           "resident_mb": [min(later), max(later)], "first_token_seconds": first, "seconds_per_piece": gaps}
    print(f"{len(load.first)} answers, {len(load.errors)} errors or other hashes{': ' + load.errors[0] if load.errors else ''}")
    print(f"resident memory after the first third: {min(later):.1f} to {max(later):.1f} MB")
    for name, values in (("first token", first), ("between pieces", gaps)):
        print(f"{name:15} p50 {values[0]:.3f}  p95 {values[1]:.3f}  p99 {values[2]:.3f} s")
    if a.json:
        with open(a.json, "w", encoding="utf-8") as file:
            json.dump({**row, "memory": load.memory}, file, indent=1)
    return 1 if load.errors or max(later) > 1.02 * min(later) else 0


if __name__ == "__main__":
    sys.exit(main())
