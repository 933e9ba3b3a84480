"""ONNX graphs beside onnxruntime, interleaved: python bench/onnx_graphs.py DATA [--threads 1 2] [--rounds 5] [--only PART] [--processor-time]

DATA is what tools/fetch_data.sh laid out. Inputs are those of tests/golden/onnx/models.json. A row has the least, median and greatest ratio
(onnxruntime's median time over Loom's, a pair per round; above 1 Loom is faster), both medians in microseconds, and the hash of Loom's
outputs, which must be one for all rounds and thread counts. With --processor-time the times are user time of the processor per run at one
thread, of processes of their own: what other programs take away does not count, so a machine that is shared can be used.
Packages: onnxruntime, numpy.
"""
import argparse
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

from beside import HERE, program, timed


def values(info):
    i = numpy.arange(int(numpy.prod(info["shape"], dtype=numpy.int64)), dtype=numpy.int64)
    x = (i * 7919 % info["modulus"]).astype(numpy.float64) / info["divisor"] + info["offset"]
    return x.astype(info["type"]).reshape(info["shape"])


def peer(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    # A thread that spins after its last job would take the processor from Loom's sample.
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    options.add_session_config_entry("session.force_spinning_stop", "1")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def loom(model, seconds, threads, files):
    out = subprocess.run([program("bench_graphs"), str(model), str(seconds), str(threads), *files], check=True, capture_output=True, text=True).stdout
    digest, _, _, median = out.split("\t")
    return digest, float(median)


def user_time(command):
    """Seconds of user time that a command takes, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, out


def run_peer(model, runs, files):
    """Runs in a process of its own: a session and `runs` runs."""
    session = peer(model, 1)
    inputs = {name: numpy.load(path) for name, path in (f.split("=") for f in files)}
    for _ in range(runs):
        session.run(None, inputs)


def processor_times(model, files, seconds):
    """Microseconds of user time per run, Loom's and onnxruntime's, and Loom's hash: what a longer process takes more than a shorter one."""
    times, runs = [], []
    for duration in (0.1 * seconds, 1.1 * seconds):
        time, out = user_time([program("bench_graphs"), str(model), str(duration), "1", *files])
        digest, count, _, _ = out.split("\t")
        times.append(time)
        runs.append(int(count))
    ours = (times[1] - times[0]) / max(1, runs[1] - runs[0])
    wanted = max(5, int(seconds / ours))
    short, long = (user_time([sys.executable, __file__, "--peer", str(n), str(model), *files])[0] for n in (wanted // 10 + 1, wanted // 10 + 1 + wanted))
    return digest, ours * 1e6, (long - short) / wanted * 1e6


def row(model, infos, threads, rounds, seconds, folder, by_processor):
    inputs = {info["name"]: values(info) for info in infos}
    files = []
    for at, (name, value) in enumerate(inputs.items()):
        path = pathlib.Path(folder) / f"{at}.npy"
        numpy.save(path, value)
        files.append(f"{name}={path}")
    session = None if by_processor else peer(model, threads)
    ours, theirs, digests = [], [], set()
    for _ in range(rounds):
        if by_processor:
            digest, our_time, their_time = processor_times(model, files, seconds)
            digests.add(digest)
            ours.append(our_time)
            theirs.append(their_time)
            continue
        digest, median = loom(model, seconds, threads, files)
        digests.add(digest)
        ours.append(median)
        theirs.append(timed(lambda: session.run(None, inputs), seconds)[1])
    return sorted(t / o for t, o in zip(theirs, ours)), statistics.median(ours), statistics.median(theirs), digests


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--processor-time", action="store_true")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--only", default="")
    o = parser.parse_args()
    if o.processor_time:
        o.threads = [1]
    cases = json.loads((pathlib.Path(HERE) / ".." / "tests" / "golden" / "onnx" / "models.json").read_text(encoding="utf-8"))["cases"]
    print(f"onnxruntime {onnxruntime.__version__}\nmodel\tinput\tthreads\tratio least\tmedian\tgreatest\tLoom us\tonnxruntime us\thash")
    moved = False
    for case in (c for c in cases if o.only in c["model"]):
        seen = set()
        for threads in o.threads:
            with tempfile.TemporaryDirectory() as folder:
                ratios, ours, theirs, digests = row(o.data / case["model"], case["inputs"], threads, o.rounds, o.seconds, folder, o.processor_time)
            seen |= digests
            shape = "x".join(map(str, case["inputs"][0]["shape"]))
            print(f"{case['model']}\t{shape}\t{threads}\t{ratios[0]:.2f}\t{statistics.median(ratios):.2f}\t{ratios[-1]:.2f}\t{ours:.0f}\t{theirs:.0f}"
                  f"\t{' '.join(d[:16] for d in sorted(digests))}", flush=True)
        if len(seen) != 1:
            print(f"{case['model']}: {len(seen)} hashes", file=sys.stderr)
            moved = True
    return 1 if moved else 0


if sys.argv[1:2] == ["--peer"]:
    sys.exit(run_peer(sys.argv[3], int(sys.argv[2]), sys.argv[4:]))
sys.exit(main())
