#!/usr/bin/env python3
"""Steps of LoRA fine-tuning of SmolLM2-135M-Instruct beside PEFT on PyTorch, samples interleaved: python bench/peft_finetune.py

usage: peft_finetune.py [--threads 1,2] [--batch 2] [--length 128] [--rank 8] [--targets q_proj,k_proj,v_proj,o_proj] [--steps 6] [--repeats 5]
                        [--loom build/bin/loom] [--model FILE.gguf] [--text FILE] [--json FILE] [--wait SECONDS]

Both learn the same windows of a text from the same adapters, which PEFT draws, beside the same weights: the GGUF's, decoded to f32 in a Hugging
Face folder (tools/make_smollm2_folder.py). A step is forward, cross-entropy, backward, the gradient's norm clipped to 1, AdamW, a cosine schedule.
All windows of the text are in every batch, so the losses of all steps must agree; first and last are printed. "As stored" is Loom beside the weights as
the GGUF has them, in 4 bits, which read inputs rounded to integers, so its losses differ a little; its ratio is to the same samples of PEFT.

Every sample is a process of its own, and the peak of its memory is the row's. Loom is the command `loom finetune`: a run of one step more than --steps,
less a run of one step, by the seconds that it reports. PyTorch (eager, the attention that transformers picks, AdamW as it comes) times the steps after its
first one. A sample beside which others used the processor is taken again, as in llama_cpp.py.
Packages: torch, transformers, peft, gguf, numpy.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "tools")]
import fetch_data
import machine
from llama_cpp import Failed, compare, parsed, quiet_sample, spread, version_of

RATE, CLIP, ALPHA = 1e-3, 1.0, 16
SIDES = {"loom": "Loom, f32", "stored": "Loom, as stored"}


def windows_of(batch):
    """The least number of windows of which `loom finetune`, which holds a tenth out, learns `batch`."""
    return next(n for n in range(batch, 2 * batch + 2) if n - math.floor(n * 0.1 + 0.5) == batch)


# Runs in a process of its own: torch is large, and the peak of the process that starts Loom would count as Loom's.

def peer_model(o):
    import torch
    import transformers
    torch.manual_seed(0)
    torch.set_num_threads(o["threads"])
    return transformers.AutoModelForCausalLM.from_pretrained(o["base"], dtype=torch.float32)


def prepare(o):
    """Fresh adapters in PEFT's format, and a text of just so many windows with its ids."""
    import peft
    import tokenizers
    config = peft.LoraConfig(r=o["rank"], lora_alpha=ALPHA, lora_dropout=0.0, target_modules=o["targets"], task_type="CAUSAL_LM")
    peft.get_peft_model(peer_model(o), config).save_pretrained(o["adapter"])
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(o["base"], "tokenizer.json"))
    with open(o["source"], encoding="utf-8", newline="") as file:
        ids = tokenizer.encode(file.read(20 * o["windows"] * o["length"]), add_special_tokens=False).ids
    text = tokenizer.decode(ids[:o["windows"] * o["length"] + 1 + o["length"] // 2])
    with open(o["text"], "w", encoding="utf-8", newline="") as file:
        file.write(text)
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    if not o["windows"] * o["length"] < len(ids) <= (o["windows"] + 1) * o["length"]:
        sys.exit(f"{len(ids)} tokens are not {o['windows']} windows of {o['length']}")
    print(json.dumps(ids[:o["batch"] * o["length"] + 1]))


def train(o):
    import peft
    import torch
    import transformers
    model = peft.PeftModel.from_pretrained(peer_model(o), o["adapter"], is_trainable=True)
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: (1 + math.cos(math.pi * step / (o["steps"] + 1))) / 2)
    ids = torch.tensor(o["ids"])
    x, target = ids[:-1].reshape(o["batch"], o["length"]), ids[1:]
    losses = []
    for step in range(o["steps"] + 1):
        if step == 1:
            start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss = torch.nn.functional.cross_entropy(model(input_ids=x, use_cache=False).logits.flatten(0, 1), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, CLIP)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    print(json.dumps({"seconds": (time.perf_counter() - start) / o["steps"], "losses": losses, "parameters": sum(p.numel() for p in trained),
                      "version": f"PEFT {peft.__version__}, transformers {transformers.__version__}, PyTorch {torch.__version__}"}))


def peer_command(what, o):
    return [sys.executable, os.path.abspath(__file__), "--peer", what, json.dumps(o)]


def sample_peer(o):
    run = machine.measure(peer_command("train", o))
    return parsed(run, "PEFT"), [run]


def sample_loom(o, loom, model, dtype):
    runs, results = [], []
    for steps in (1, o["steps"] + 1):
        with tempfile.TemporaryDirectory() as out:
            runs.append(machine.measure([loom, "finetune", model, "--text", o["text"], "--from", o["adapter"], "-o", os.path.join(out, "adapter"), *dtype,
                                         "--batch", str(o["batch"]), "--micro-batch", str(o["batch"]), "--length", str(o["length"]), "--steps", str(steps),
                                         "--learning-rate", str(RATE), "--warmup", "0", "--clip-norm", str(CLIP), "-t", str(o["threads"]), "-q", "--json"]))
        results.append(parsed(runs[-1], "loom finetune"))
    seconds = (results[1]["seconds"] - results[0]["seconds"]) / o["steps"]
    return {"seconds": seconds, "losses": results[1]["losses"], "parameters": results[1]["adapter_parameters"]}, runs


def base_folder(model):
    """The model's weights in f32, written once."""
    folder = os.path.join(fetch_data.CACHE, "peers", "models", os.path.basename(model).removesuffix(".gguf") + "-f32")
    weights = os.path.join(folder, "model.safetensors")
    if not os.path.exists(weights) or os.path.getmtime(weights) < os.path.getmtime(model):
        subprocess.run([sys.executable, os.path.join(HERE, "..", "tools", "make_smollm2_folder.py"), model, folder], check=True, stdout=sys.stderr)
    return folder


def losses_of(taken):
    return " ".join(f"{taken[0]['losses'][at]:.5f}" for at in (0, -1))


def rows_of(threads, samples):
    """A table row for each of Loom's sides."""
    theirs = samples["PEFT"]
    for side, label in SIDES.items():
        mine = samples[side]
        ratios = [b["seconds"] / a["seconds"] for a, b in zip(mine, theirs)]
        rss = " / ".join(f"{max(s['rss_mb'] for s in taken):.0f}" for taken in (mine, theirs))
        foreign = max(s["foreign"] for s in mine + theirs)
        yield (f"| {label} | {threads} | {spread([s['seconds'] for s in mine], 3)} | {spread([s['seconds'] for s in theirs], 3)} | {spread(ratios, 2)} | "
               f"{rss} | {losses_of(mine)} | {losses_of(theirs)} | {foreign:.2f} |")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--threads", default=[1, 2], type=lambda s: [int(t) for t in s.split(",")])
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--targets", default=["q_proj", "k_proj", "v_proj", "o_proj"], type=lambda s: s.split(","))
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    parser.add_argument("--model", default=os.path.join(fetch_data.data_folder(), fetch_data.MODEL))
    parser.add_argument("--text", default=os.path.join(fetch_data.data_folder(), "text", "botchan.txt"))
    parser.add_argument("--json")
    parser.add_argument("--wait", type=float, default=20)
    chosen = parser.parse_args()
    for path in (chosen.loom, chosen.model, chosen.text):
        if not os.path.exists(path):
            parser.error(f"{path}: no such file; build Loom, run tools/fetch_data.sh text llm, or name another")
    return chosen


def main():
    a = arguments()
    base, host, record, failed = base_folder(a.model), machine.describe(), [], False
    with tempfile.TemporaryDirectory() as folder:
        o = {"base": base, "adapter": os.path.join(folder, "adapter"), "text": os.path.join(folder, "text.txt"), "source": a.text, "rank": a.rank,
             "targets": a.targets, "batch": a.batch, "length": a.length, "windows": windows_of(a.batch), "steps": a.steps, "threads": a.threads[0]}
        o["ids"] = parsed(machine.measure(peer_command("prepare", o)), "PEFT's part")
        print(f"{host['cpu']} (family {host['family']}, model {host['model']}), {host['cores']} cores, {host['memory']}, {' '.join(host['flags'])}, "
              f"Linux {host['kernel']}\n\nLoom: {version_of(a.loom)}. A step of {a.batch} windows of {a.length} tokens, adapters of rank {a.rank} beside "
              f"{', '.join(a.targets)}. {a.repeats} interleaved samples a side; seconds a step as minimum / median / maximum; the ratio is PEFT's time over "
              f"Loom's within each pair; losses of the first and of step {a.steps + 1}.\n")
        print("| weights | threads | Loom s | PEFT s | ratio | peak RSS MiB | Loom's losses | PEFT's losses | foreign cores |\n" + "|---" * 9 + "|", flush=True)
        for threads in a.threads:
            o["threads"] = threads
            sides = {"loom": lambda: sample_loom(o, a.loom, base, []), "PEFT": lambda: sample_peer(o), "stored": lambda: sample_loom(o, a.loom, a.model, [])}
            try:
                samples = compare(sides, threads, a.repeats, a.wait)
            except Failed as reason:
                failed = True
                print(f"| all | {threads} | not measured: {reason} | | | | | | |", flush=True)
                record.append({"threads": threads, "not_measured": str(reason)})
                continue
            print("\n".join(rows_of(threads, samples)), flush=True)
            record.append({"threads": threads, "samples": samples})
    print("\n" + "; ".join(sorted({s["version"] for r in record for s in r.get("samples", {}).get("PEFT", [])})))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as out:
            json.dump({"machine": host, "loom": version_of(a.loom), "settings": {k: o[k] for k in ("rank", "targets", "batch", "length", "steps")},
                       "results": record}, out, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        sys.exit({"prepare": prepare, "train": train}[sys.argv[2]](json.loads(sys.argv[3])))
    try:
        sys.exit(main())
    except (Failed, fetch_data.Failure, OSError, subprocess.CalledProcessError) as error:
        print(f"peft_finetune: {error}", file=sys.stderr)
        sys.exit(1)
