"""The scripts that time Loom beside a peer share this module: it times calls, runs Loom's programs, and prints rows of a table."""
import json
import os
import statistics
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))


def program(name):
    return os.path.join(HERE, "..", "build", "bin", name)


def table(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return json.load(file)


def timed(f, seconds, at_least=5):
    """Least and median microseconds of f() within `seconds`."""
    f()
    times, begin = [], time.perf_counter()
    while time.perf_counter() - begin < seconds or len(times) < at_least:
        start = time.perf_counter()
        f()
        times.append((time.perf_counter() - start) * 1e6)
    return min(times), statistics.median(times)


def loom_lines(path, table_name, part, seconds, threads, *more):
    """Runs a program of ours and returns the rows whose name has `part` in it, as lists of columns, the last two least and median."""
    out = subprocess.run([path, os.path.join(HERE, table_name), part, str(seconds), str(threads), *more], check=True, capture_output=True, text=True).stdout
    lines = [line.split("\t") for line in out.splitlines()]
    return [line[:-2] + [float(line[-2]), float(line[-1])] for line in lines]


def joined(rounds):
    """The least of the least, the median of the medians."""
    return min(r[0] for r in rounds), statistics.median(r[1] for r in rounds)
