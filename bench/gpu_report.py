#!/usr/bin/env python3
"""Whether a graphics card has the bits of the CPU, and how fast it is: the rows of docs/benchmarks/graphics-cards.md.

usage: gpu_report.py LOOM MODEL [--device gpu] [--steps 500] [--only text,golden,training,speed]

text      64 ids and the hash of two prompts, on the CPU and on the card
golden    loom verify --device: the golden set, line by line
training  --steps steps of an MLP, a CNN, an LSTM and a transformer, of the MLP with int8 and ternary weights and by
          target propagation (chain, layerwise): the weights at the end and the journal, the CPU's and the card's
speed     loom bench: tokens per second, submits and bytes read per token, buffers, resident memory

Needs a WebGPU library (LOOM_WEBGPU_LIB). Ends with 1 if one bit differs.
"""
import argparse
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time

PROMPTS = ("What is the capital of France?", "Write a short story about a lighthouse keeper.")
BATCH, BATCHES = 32, 10


def write_data(folder):
    """Images of 28 x 28 with one of ten labels, and a text: 320 samples of each, which have something to learn."""
    rng = random.Random(1)
    classes = [[rng.randrange(256) for _ in range(28 * 28)] for _ in range(10)]
    labels = [i % 10 for i in range(BATCH * BATCHES)]
    with open(os.path.join(folder, "images"), "wb") as file:
        file.write(struct.pack(">4I", 0x803, len(labels), 28, 28))
        for label in labels:
            file.write(bytes((v + rng.randrange(128)) // 2 % 256 for v in classes[label]))
    with open(os.path.join(folder, "labels"), "wb") as file:
        file.write(struct.pack(">2I", 0x801, len(labels)) + bytes(labels))
    words = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randrange(2, 8))) for _ in range(60)]
    text = ""
    while len(text) < 64 * BATCH * BATCHES + 1:
        text += rng.choice(words) + " "
    with open(os.path.join(folder, "text"), "w") as file:
        file.write(text[:64 * BATCH * BATCHES + 1])


def dense(inputs, outputs, activation="relu"):
    return {"type": "dense", "input_height": inputs, "output_height": outputs, "bias": True, "activation": activation}


def trainings():
    """(name, config) of each training; they differ in what they say beyond the loss and the data."""
    mlp = [{"type": "reshape"}, dense(784, 256), dense(256, 64), dense(64, 10, "linear")]
    cnn = [{"type": "cnn2", "input_channels": 1, "filters": 8, "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"},
           {"type": "maxpool", "kernel_size": 2},
           {"type": "cnn2", "input_channels": 8, "filters": 16, "kernel_size": 3, "padding": 1, "bias": True, "activation": "relu"},
           {"type": "maxpool", "kernel_size": 2}, {"type": "reshape"}, dense(784, 10, "linear")]
    lstm = [{"type": "embedding", "vocab_size": 256, "embedding_dim": 32}, {"type": "lstm", "input_height": 32, "output_height": 64},
            {"type": "dense", "input_height": 64, "output_height": 256, "activation": "linear"}]
    block = [{"type": "sequential", "residual": True, "sequential_layers": [{"type": "rmsnorm", "input_height": 64}, layer]}
             for layer in ({"type": "mha", "d_model": 64, "num_heads": 4, "max_seq_len": 64},
                           {"type": "swiglu", "input_height": 64, "output_height": 160})]
    transformer = [{"type": "embedding", "vocab_size": 256, "embedding_dim": 64}, *block, *block,
                   {"type": "rmsnorm", "input_height": 64}, {"type": "dense", "input_height": 64, "output_height": 256, "activation": "linear"}]
    images = {"format": "idx", "inputs": "images", "targets": "labels", "shape": [1, 28, 28], "normalise": "mean_std"}
    text = {"format": "text", "path": "text", "unit": "bytes", "length": 64}
    momentum = {"name": "sgd", "momentum": 0.9, "learning_rate": 0.01}
    adam = {"name": "adamw", "learning_rate": 0.003}

    def typed(dtype):
        return [layer if layer["type"] == "reshape" else {**layer, "dtype": dtype} for layer in mlp]

    yield "MLP", mlp, images, {"optimizer": momentum}
    yield "CNN", cnn, images, {"optimizer": {**adam, "learning_rate": 0.001}}
    yield "LSTM", lstm, text, {"optimizer": adam, "clip_norm": 1}
    yield "transformer", transformer, text, {"optimizer": adam, "clip_norm": 1}
    yield "MLP, int8", typed("int8"), images, {"optimizer": momentum}
    yield "MLP, ternary", typed("ternary"), images, {"optimizer": momentum}
    yield "MLP, targets (chain)", mlp, images, {"tween": {}}
    yield "MLP, targets (layerwise)", mlp, images, {"tween": {"mode": "layerwise"}}


def loom(program, *arguments):
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr.strip() or 'status %d' % done.returncode}")
    return done.stdout


def text(o):
    same = True
    for prompt in PROMPTS:
        answers = [json.loads(loom(o.loom, "generate", o.model, "--prompt", prompt, "-n", "64", "--ignore-eos", "--json", "-q",
                                   "--device", device)) for device in ("cpu", o.device)]
        equal = all(answers[0][key] == answers[1][key] for key in ("ids", "hash"))
        same &= equal
        print(f"{len(answers[0]['ids'])} ids, hash {answers[0]['hash'][:16]}: {'equal' if equal else 'DIFFERENT'}", flush=True)
    return same


def golden(o):
    done = subprocess.run([o.loom, "verify", "--device", o.device], capture_output=True, text=True)
    print((done.stdout or done.stderr).strip(), flush=True)
    return done.returncode == 0


def journal(run):
    """The lines of a journal, which are the same on every device but for the clock's, which are elsewhere."""
    with open(os.path.join(run, "journal.jsonl")) as file:
        return file.read()


def trained(program, folder, training, steps, device):
    """The hash of the weights after `steps` steps of one of trainings(), and the journal; the data are in the folder."""
    _, layers, data, more = training
    config = os.path.join(folder, "training.json")
    with open(config, "w") as file:
        json.dump({"network": {"seed": 1, "layers": layers}, "data": data, "seed": 1, "epochs": max(1, steps // BATCHES),
                   "batch_size": BATCH, "shuffle": True, "loss": "softmax_crossentropy", **more}, file)
    run = tempfile.mkdtemp(dir=folder)
    report = json.loads(loom(program, "train", config, "-o", run, "--json", "-q", "--device", device, "--overwrite"))
    return report["hash"], journal(run)


def training(o):
    folder, same = tempfile.mkdtemp(prefix="loom-gpu-report-"), True
    try:
        write_data(folder)
        print(f"| {o.steps} steps | weights and journal | CPU s | card s |\n| --- | --- | --- | --- |")
        for each in trainings():
            ends, seconds = [], []
            for device in ("cpu", o.device):
                begin = time.monotonic()
                ends.append(trained(o.loom, folder, each, o.steps, device))
                seconds.append(time.monotonic() - begin)
            same &= ends[0] == ends[1]
            print(f"| {each[0]} | {ends[0][0][:16]} {'equal' if ends[0] == ends[1] else 'DIFFERENT'} | {seconds[0]:.1f} | {seconds[1]:.1f} |", flush=True)
    finally:
        shutil.rmtree(folder)
    return same


def speed(o):
    r = json.loads(loom(o.loom, "bench", o.model, "--device", o.device, "--json", "-q"))
    g, tokens = r["gpu"], (r["repeats"] + 1) * (r["new_tokens"] + 1)
    print("| adapter | prefill tok/s | decode tok/s | dispatches per token | submits | bytes read | buffers MB |\n" + "| --- " * 7 + "|")
    print(f"| {g['adapter']}, {g['driver']} | {r['prefill_tps']:.0f} | {r['decode_tps']:.0f} | {g['dispatches'] / tokens:.0f} "
          f"| {g['decode']['submits_per_token']:.2f} | {g['decode']['bytes_read_per_token']:.0f} | {g['buffer_mb']:.0f} |", flush=True)
    return True


def main():
    parts = {"text": text, "golden": golden, "training": training, "speed": speed}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("loom"), p.add_argument("model")
    p.add_argument("--device", default="gpu"), p.add_argument("--steps", type=int, default=500)
    p.add_argument("--only", default=",".join(parts))
    o = p.parse_args()
    if unknown := set(o.only.split(",")) - set(parts):
        p.error(f"--only {','.join(sorted(unknown))}: expected names of {', '.join(parts)}")
    results = [parts[name](o) for name in o.only.split(",")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
