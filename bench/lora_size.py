#!/usr/bin/env python3
"""Steps of LoRA fine-tuning of a model of real size beside PEFT on PyTorch, on the CPU and on a card.

usage: lora_size.py MODEL.gguf TEXT [--devices cpu,gpu] [--peers float32,bfloat16] [--threads 16] [--batch 2] [--length 256] [--rank 8] [--steps 3]
                    [--rounds 2] [--loom build/bin/loom]

MODEL is a llama of tools/make_random_gguf.py or a real one. PEFT trains a model of that shape whose frozen weights are random numbers of each of the
--peers types, adapters in float32: weights of four bits are in no package that runs everywhere. Both have batches of --batch windows of --length tokens,
adapters of --rank beside q, k, v and o, cross-entropy, a clipped norm, AdamW. Every sample is a process of its own, rounds are interleaved. Seconds a step are
those of --steps + 1 steps less those of one; a card has compiled its shaders before. Memory is the peak of the process, and on a card the most that nvidia-smi shows above what was in use before.
Packages: torch, transformers, peft, gguf.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import machine

TARGETS = ["q_proj", "k_proj", "v_proj", "o_proj"]


def card_mb():
    """Memory in use on the first card, MiB; 0 where no card is."""
    try:
        asked = subprocess.run(["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True)
        return int(asked.stdout.split()[0])
    except (OSError, subprocess.CalledProcessError):
        return 0


class CardPeak:
    """The most memory of the card above what was in use before, while the block runs."""

    def __enter__(self):
        self.before, self.most, self.done = card_mb(), 0, threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.thread.start()
        return self

    def watch(self):
        while not self.done.wait(0.2):
            self.most = max(self.most, card_mb() - self.before)

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


def train(o):
    """PEFT's steps, in a process of its own."""
    import time

    import gguf
    import peft
    import torch
    import transformers

    torch.manual_seed(0)
    torch.set_num_threads(o["threads"])
    meta = {name: field.contents() for name, field in gguf.GGUFReader(o["model"]).fields.items() if name.startswith("llama.")}
    config = transformers.LlamaConfig(
        hidden_size=meta["llama.embedding_length"], intermediate_size=meta["llama.feed_forward_length"], num_hidden_layers=meta["llama.block_count"],
        num_attention_heads=meta["llama.attention.head_count"], num_key_value_heads=meta["llama.attention.head_count_kv"],
        vocab_size=meta["llama.vocab_size"], rope_theta=meta["llama.rope.freq_base"], tie_word_embeddings=False)
    device = "cuda" if o["device"] == "gpu" else "cpu"
    torch.set_default_dtype(getattr(torch, o["peer"]))
    with torch.device(device):
        model = transformers.LlamaForCausalLM(config)
    torch.set_default_dtype(torch.float32)
    settings = peft.LoraConfig(r=o["rank"], lora_alpha=16, lora_dropout=0.0, target_modules=TARGETS, task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, settings)  # keeps adapters in float32
    model.train()
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-3, weight_decay=0.01)
    ids = torch.randint(0, meta["llama.vocab_size"], (o["batch"], o["length"] + 1), device=device)
    losses, times = [], []
    for _ in range(o["steps"] + 1):
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = model(input_ids=ids[:, :-1], use_cache=False).logits.flatten(0, 1)
        loss = torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(loss.item())  # waits for the card
        times.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": statistics.median(times[1:]), "losses": losses}))


def sample_peer(o):
    run = machine.measure([sys.executable, os.path.abspath(__file__), "--train", json.dumps(o)])
    if run.code != 0:
        sys.exit(f"PEFT: {run.error.strip()[-800:]}")
    return json.loads(run.out.splitlines()[-1])["seconds"], run


def sample_loom(o, loom):
    seconds, runs = [], []
    for steps in (1, o["steps"] + 1):
        with tempfile.TemporaryDirectory() as out:
            runs.append(machine.measure([loom, "finetune", o["model"], "--text", o["text"], "-o", os.path.join(out, "adapter"), "--rank", str(o["rank"]), "--batch",
                                         str(o["batch"]), "--micro-batch", str(o["batch"]), "--length", str(o["length"]), "--steps", str(steps), "--warmup", "0",
                                         "-t", str(o["threads"]), "--device", o["device"], "-q", "--json"]))
        if runs[-1].code != 0:
            sys.exit(f"loom finetune: {runs[-1].error.strip()[-800:]}")
        seconds.append(json.loads(runs[-1].out)["seconds"])
    return (seconds[1] - seconds[0]) / o["steps"], max(runs, key=lambda run: run.rss_mb)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("--devices", default="cpu", type=lambda s: s.split(","))
    parser.add_argument("--peers", default=["float32", "bfloat16"], type=lambda s: s.split(","))
    for name, value in (("threads", os.cpu_count()), ("batch", 2), ("length", 256), ("rank", 8), ("steps", 3), ("rounds", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--loom", default=os.path.join(HERE, "..", "build", "bin", "loom"))
    return parser.parse_args()


def main():
    a = arguments()
    print("| device | side | seconds a step | its time over Loom's | peak RSS MiB | card MiB |\n|---|---|---|---|---|---|", flush=True)
    for device in a.devices:
        o = {"model": a.model, "text": a.text, "device": device, **{name: getattr(a, name) for name in ("threads", "batch", "length", "rank", "steps")}}
        sides = {"Loom": lambda: sample_loom(o, a.loom)}
        sides.update({f"PEFT, {peer}": lambda peer=peer: sample_peer({**o, "peer": peer}) for peer in a.peers})
        taken = {name: [] for name in sides}
        if device == "gpu":
            sample_loom(o, a.loom)  # compiles the shaders, which the driver keeps
        for _ in range(a.rounds):
            for name, sample in sides.items():
                with CardPeak() as peak:
                    seconds, run = sample()
                taken[name].append((seconds, run.rss_mb, peak.most))
        for name, samples in taken.items():
            ratio = statistics.median(theirs[0] / mine[0] for mine, theirs in zip(taken["Loom"], samples))
            times = " / ".join(f"{t:.3f}" for t in sorted(s[0] for s in samples))
            print(f"| {device} | {name} | {times} | {ratio:.2f} | {max(s[1] for s in samples):.0f} | {max(s[2] for s in samples)} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(json.loads(sys.argv[2]))
    else:
        main()
