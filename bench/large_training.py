#!/usr/bin/env python3
"""A transformer of 31 million parameters from its first step on, on the CPU and on a graphics card: the weights must be equal.

usage: large_training.py [--steps 20] [--devices cpu,gpu] [--threads N] [--loom build/bin/loom]

10 blocks of 512 with 8 heads on bytes, batches of 8 x 256, AdamW, gradients clipped: `loom train` on each device. Times of its steps beside PyTorch:
bench/torch_training.py --card --table training_large.json 10x512. Ends with 1 if one bit differs.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LENGTH, BATCH, WIDTH = 256, 8, 512


def words(letters):
    rng, text = random.Random(1), ""
    known = ["".join(rng.choice("etaoinshrdlu") for _ in range(rng.randrange(2, 8))) for _ in range(60)]
    while len(text) < letters:
        text += rng.choice(known) + " "
    return text[:letters]


def layers():
    def residual(layer):
        return {
            "type": "sequential",
            "residual": True,
            "sequential_layers": [{"type": "rmsnorm", "input_height": WIDTH}, layer],
        }

    block = [
        residual({"type": "mha", "d_model": WIDTH, "num_heads": 8, "max_seq_len": LENGTH}),
        residual({"type": "swiglu", "input_height": WIDTH, "output_height": 1344}),
    ]
    return [
        {"type": "embedding", "vocab_size": 256, "embedding_dim": WIDTH},
        *(block * 10),
        {"type": "rmsnorm", "input_height": WIDTH},
        {"type": "dense", "input_height": WIDTH, "output_height": 256, "activation": "linear"},
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS
    )
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--devices", type=lambda text: text.split(","), default=["cpu", "gpu"])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    a = parser.parse_args()
    ends = set()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text"), "w", encoding="ascii") as file:
            file.write(words(BATCH * LENGTH * a.steps + 1))
        config = os.path.join(folder, "training.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump(
                {
                    "network": {"seed": 1, "layers": layers()},
                    "data": {"format": "text", "path": "text", "unit": "bytes", "length": LENGTH},
                    "seed": 1,
                    "epochs": 1,
                    "batch_size": BATCH,
                    "shuffle": True,
                    "loss": "softmax_crossentropy",
                    "optimizer": {"name": "adamw", "learning_rate": 0.0003},
                    "clip_norm": 1,
                },
                file,
            )
        for device in a.devices:
            begin = time.monotonic()
            done = subprocess.run(
                [
                    a.loom,
                    "train",
                    config,
                    "-o",
                    os.path.join(folder, device.replace(":", "-")),
                    "--json",
                    "-q",
                    "--device",
                    device,
                    "-t",
                    str(a.threads),
                ],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                sys.exit(
                    f"large_training: loom train --device {device} ended with {done.returncode}: {done.stderr.strip()}"
                )
            ends.add(json.loads(done.stdout)["hash"])
            print(f"{device}: {time.monotonic() - begin:.1f} s, weights {json.loads(done.stdout)['hash']}", flush=True)
    return 0 if len(ends) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
