#!/usr/bin/env python3
"""A graphics card is lost in the midst of a sentence, which goes on on the CPU with the same ids and hash, and in a training, which goes on from
its checkpoint to the same weights.

usage: lost_card.py LOOM LOST_CARD      (LOOM_DATA names the folder with the model; tests/support/lost_card.cpp is preloaded)
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

loom, lost_card = sys.argv[1:]
model = pathlib.Path(os.environ["LOOM_DATA"]) / "llm/SmolLM2-135M-Instruct.Q4_1.gguf"
folder = tempfile.TemporaryDirectory()
# The form of integer dots is named, since measuring it would be the first submits.
LOST = {**os.environ, "LD_PRELOAD": lost_card, "XDG_CACHE_HOME": folder.name + "/cache", "LOOM_GPU_DOTS": "packed"}


def run(*arguments, expect=0, lose_at=None):
    environment = os.environ if lose_at is None else {**LOST, "LOOM_LOSE_AT": str(lose_at)}
    done = subprocess.run([loom, *arguments], capture_output=True, text=True, timeout=600, env=environment)
    assert done.returncode == expect, (arguments, lose_at, done.returncode, done.stderr)
    return done


def answer(device, lose_at=None):
    out = run("generate", str(model), "--prompt", "What is the capital of France?", "-n", "3", "--json", "--device", device, lose_at=lose_at)
    return {key: json.loads(out.stdout)[key] for key in ("ids", "hash", "text")}, out.stderr


expected, _ = answer("cpu")
for lose_at in (12, 29, 30, 31, 45):
    got, said = answer("gpu", lose_at)
    assert got == expected, (lose_at, got, expected)
    warnings = [line for line in said.splitlines() if "was lost" in line]
    assert len(warnings) == 1 and warnings[0].startswith("loom: warning: "), said
    print(lose_at, warnings[0])

run_folder, config = folder.name + "/run", folder.name + "/config.json"
pathlib.Path(folder.name, "data.csv").write_text("".join(f"{i % 7},{i % 5},{i % 3}\n" for i in range(60)))
pathlib.Path(config).write_text(json.dumps({
    "network": {"seed": 1, "input_shape": [2], "layers": [
        {"type": "dense", "input_height": 2, "output_height": 8, "activation": "tanh"}, {"type": "dense", "input_height": 8, "output_height": 3}]},
    "data": {"format": "csv", "path": "data.csv", "header": False, "class_ids": True},
    "loss": "softmax_crossentropy", "optimizer": "adam", "epochs": 6, "batch_size": 10, "checkpoint": {"every_steps": 4}}))


def trained(*flags, expect=0, lose_at=None, out=run_folder):
    return run("train", config, "--output", out, "--json", *flags, expect=expect, lose_at=lose_at)


whole = json.loads(trained(out=folder.name + "/whole").stdout)["hash"]
for lose_at, device in ((40, "cpu"),):
    said = trained("--device", "gpu", "--overwrite", expect=1, lose_at=lose_at).stderr
    assert "was lost" in said and "--resume goes on" in said, said
    print(lose_at, said.splitlines()[-1])
    assert json.loads(trained("--device", device, "--resume").stdout)["hash"] == whole
