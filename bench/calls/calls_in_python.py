"""Times calls in Python as calls.c does in C: calls_in_python.py MODEL."""

import array
import statistics
import sys
import time

import welvet

GROUPS, CALLS, ANSWERS, TOKENS = 300, 200, 120, 16
SPEC = {"seed": 1, "layers": [{"type": "dense", "input_height": 8, "output_height": 8, "activation": "tanh"},
                              {"type": "dense", "input_height": 8, "output_height": 4}]}


def show(what, times):
    print(what, round(min(times)), round(statistics.median(times)))


def main():
    session = welvet.nn.Session(welvet.Network(SPEC), threads=1)
    x = memoryview(array.array("f", [0] * 8)).cast("B").cast("f", (1, 8))
    times = []
    for _ in range(GROUPS):
        start = time.perf_counter_ns()
        for _ in range(CALLS):
            session.forward(x)
        times.append((time.perf_counter_ns() - start) / CALLS)
    show("forward", times)
    model, times = welvet.LM(sys.argv[1], threads=1), []
    for _ in range(ANSWERS):
        start = time.perf_counter_ns()
        stream = model.stream("Once upon a time", form="raw", max_tokens=TOKENS)
        for _ in stream:
            pass
        digest = stream.result.hash
        times.append((time.perf_counter_ns() - start) / TOKENS)
    show("token", times)
    print("hash", digest[:16])


if __name__ == "__main__":
    main()
