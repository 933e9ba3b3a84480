#!/usr/bin/env python3
"""SmolLM2 answers with the same ids and the same hash of logits on the graphics card as on the CPU, and so does a server that
answers four requests at once; wrong names are reported.

usage: gpu_answer.py LOOM      (LOOM_DATA names the folder with the model)
"""
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

loom = sys.argv[1]
model = pathlib.Path(os.environ["LOOM_DATA"]) / "llm/SmolLM2-135M-Instruct.Q4_1.gguf"


def run(*arguments, expect=0, **environment):
    done = subprocess.run([loom, *arguments], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    assert done.returncode == expect, (arguments, done.returncode, done.stderr)
    return done


def answer(device, *flags):
    out = run("generate", str(model), "--prompt", "What is the capital of France?", "--json", "--device", device, *flags)
    return {key: json.loads(out.stdout)[key] for key in ("ids", "hash", "text")}


for kv_dtype in ("float32", "int8"):
    here, there = (answer(device, "-n", "8", "--kv-dtype", kv_dtype) for device in ("cpu", "gpu"))
    assert here == there, (kv_dtype, here, there)
    print("answer", kv_dtype, here["text"], here["hash"])

# Drawn on the card, but the last one. Hashes are of the ids and of the last logits.
hashes = set()
for flags in (
    "--temperature 0.8 --top-k 40 --seed 7",
    "--temperature 1.5 --top-k 256 --top-p 0.97 --min-p 0.001 --seed 1",
    "--temperature 1.2 --top-k 40 --repetition-penalty 1.3 --frequency-penalty 0.4 --presence-penalty 0.2 --repeat-last-n 16 --seed 2",
    "--temperature 3 --top-k 100 --logit-bias 504:4 --logit-bias 28:-inf --seed 3 --ignore-eos",
    "--repetition-penalty 1.5 --repeat-last-n -1",
    "--temperature 0.8 --top-p 0.9 --seed 4",
):
    here, there = (answer(device, "-n", "6", "--ctx", "256", *flags.split()) for device in ("cpu", "gpu"))
    assert here == there, (flags, here, there)
    hashes.add(here["hash"])
assert len(hashes) == 6, hashes
print("drawn answers:", len(hashes))


def answers_of_server(device):
    small = pathlib.Path(__file__).resolve().parents[1] / "golden/models/llama2_untied"
    flags = ["--port", "0", "--json", "--ctx", "128", "--parallel", "4", "--device", device, "-t", "1"]
    server = subprocess.Popen([loom, "serve", str(small), *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        said = ""
        while "}" not in said:
            line = server.stdout.readline()
            assert line, f"the server on {device} has ended"
            said += line
        url = json.loads(said)["url"]

        def ask(number):
            body = {"prompt": [3 + number] * (5 + 9 * number), "max_tokens": 64, "ignore_eos": True,
                    "temperature": 0.8 * (number % 2), "seed": 7}
            if number == 3:
                body |= {"top_k": 40, "repetition_penalty": 1.1}
            request = urllib.request.Request(url + "/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
            return json.load(urllib.request.urlopen(request, timeout=600))["loom"]["hash"]

        with concurrent.futures.ThreadPoolExecutor(4) as clients:
            hashes = list(clients.map(ask, range(4)))
        figures = urllib.request.urlopen(url.removesuffix("/v1") + "/metrics", timeout=60).read().decode()
        return hashes, int(figures.split("\nloom_passes_total ")[1].split()[0])
    finally:
        server.terminate()
        server.wait(60)


on_host, _ = answers_of_server("cpu")
on_card, passes = answers_of_server("gpu")
assert on_card == on_host and len(set(on_host)) == 4, (on_card, on_host)
assert passes < 180, passes  # 256 where each is answered alone
print("four requests at once:", passes, "passes")

# ONNX graphs.
def outputs(model, *arguments):
    return json.loads(run("run", str(model), "--json", *arguments).stdout)


data = pathlib.Path(os.environ["LOOM_DATA"])
for name in ("vad/silero_vad_16k_sequence.onnx", "onnx/minilm_int8.onnx"):
    given = ("--seed", "3")
    here, there, chosen = (outputs(data / name, *given, "--device", device) for device in ("cpu", "gpu", "auto"))
    assert here["hash"] == there["hash"] == chosen["hash"], (name, here["hash"], there["hash"])
    assert there["precision"] == "strict", there["precision"]
fast = run("run", str(data / "vad/silero_vad_16k_sequence.onnx"), "--seed", "3", "--device", "gpu", "--precision", "fast")
assert "of no other device" in fast.stderr, fast.stderr

adapters = json.loads(run("gpu", "report", "--json").stdout)["adapters"]
assert adapters and adapters[0]["device"] == "gpu:0" and adapters[0]["limits"]["binding_bytes"] > 0, adapters
wrong = run("generate", str(model), "--prompt", "x", "--device", "gpu:99", expect=2)
assert "no graphics adapter of number 99" in wrong.stderr, wrong.stderr
wrong = run("generate", str(model), "--prompt", "x", "--device", "tpu", expect=2)
assert "no device \"tpu\"" in wrong.stderr, wrong.stderr
wrong = run("gpu", "report", expect=3, LOOM_WEBGPU_LIB="/nowhere/lib.so")
assert wrong.stderr.count("\n") == 1 and "/nowhere/lib.so" in wrong.stderr, wrong.stderr
print("wrong names are reported in one line")
