#!/usr/bin/env python3
"""Compares logits of random small models, most of them with an adapter, with those of transformers and PEFT.

usage: tools/compare_peft_transformers.py [--loom build/fast/bin/loom] [--count 500] [--seed 1] [--keep FOLDER]

Case n depends on the seed and n alone. Needs torch, transformers and peft. Exit 1 where a logit differs by more than
2e-4 of the largest one; refusals by name are listed and counted apart.
"""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import warnings

import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model

BOUND = 2e-4
VOCABULARY = 48
FAMILIES = {"llama": ("LlamaConfig", "LlamaForCausalLM"), "mistral": ("MistralConfig", "MistralForCausalLM"),
            "qwen2": ("Qwen2Config", "Qwen2ForCausalLM"), "qwen3": ("Qwen3Config", "Qwen3ForCausalLM")}
LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]


def random_model(rng):
    family = rng.choice(list(FAMILIES))
    heads = rng.choice([2, 4])
    settings = dict(hidden_size=rng.choice([16, 24, 32]), intermediate_size=rng.choice([24, 40]),
                    num_hidden_layers=rng.choice([1, 2]), num_attention_heads=heads,
                    num_key_value_heads=rng.choice([h for h in (1, 2, 4) if heads % h == 0]), vocab_size=VOCABULARY,
                    max_position_embeddings=64, rms_norm_eps=rng.choice([1e-5, 1e-6]),
                    tie_word_embeddings=rng.random() < 0.5, bos_token_id=None, eos_token_id=None, pad_token_id=None)
    if family in ("llama", "mistral", "qwen3") and rng.random() < 0.5:
        settings["head_dim"] = rng.choice([8, 12])
    if family == "qwen3":
        settings.setdefault("head_dim", 8)
    if family == "llama":
        settings.update(attention_bias=rng.random() < 0.4, mlp_bias=rng.random() < 0.3)
    if family == "mistral":
        settings["sliding_window"] = rng.choice([None, 4])
    config = getattr(transformers, FAMILIES[family][0])(**settings)
    torch.manual_seed(rng.randrange(2**31))
    model = getattr(transformers, FAMILIES[family][1])(config)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn_like(p) * (0.3 if p.dim() == 2 else 0.1) + (1 if p.dim() == 1 else 0))
    return model.to(rng.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])), config


def random_adapter(rng, config):
    """Settings of LoraConfig; combinations that PEFT refuses are drawn again."""
    modules = LINEAR + ["embed_tokens", "lm_head"]
    settings = dict(task_type="CAUSAL_LM", r=rng.choice([1, 2, 4]), lora_alpha=rng.choice([1, 3, 16]), lora_dropout=0.1,
                    use_rslora=rng.random() < 0.2)
    settings["target_modules"] = rng.choice([
        "all-linear", rng.sample(LINEAR, rng.randint(1, 5)), rng.sample(modules, rng.randint(1, 6)),
        r".*\.(0|1)\.(self_attn|mlp)\.(q|k|up)_proj", [f"layers.0.self_attn.{rng.choice(LINEAR[:4])}"]])
    targets = settings["target_modules"]
    some = targets[0] if isinstance(targets, list) else "q_proj"
    if rng.random() < 0.3:
        settings["rank_pattern"] = {rng.choice([some, r"layers\.0\..*_proj", r"^model\.layers\.\d+\.self_attn\.q_proj"]): 3}
    if rng.random() < 0.3:
        settings["alpha_pattern"] = {rng.choice([some, r"layers\.[0-9]+\.mlp\.(up|down)_proj"]): 7}
    choice = rng.random()
    if choice < 0.15:
        settings["init_lora_weights"] = rng.choice(["pissa", "olora", "gaussian", "eva", "orthogonal", "mica", False])
    elif choice < 0.35:
        settings["use_dora"] = True
    elif choice < 0.45:
        settings["lora_bias"] = True
    if rng.random() < 0.2:
        settings["modules_to_save"] = rng.sample(["lm_head", "embed_tokens", "norm", "input_layernorm", "o_proj", "mlp"],
                                                 rng.randint(1, 2))
    if rng.random() < 0.15:
        settings["bias"] = rng.choice(["all", "lora_only"])
    if rng.random() < 0.1 and isinstance(targets, list):
        settings["layers_to_transform"] = rng.choice([0, [0]])
    if rng.random() < 0.1:
        settings["exclude_modules"] = rng.choice([["layers.0.self_attn.k_proj"], r".*\.0\.mlp\..*"])
    if rng.random() < 0.1:
        settings["trainable_token_indices"] = rng.sample(range(VOCABULARY), 3)
    if rng.random() < 0.1 and config.tie_word_embeddings:
        settings["ensure_weight_tying"] = True
    return settings


def train(model):
    """Gives the adapter's parameters values that matter."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_magnitude" in name:
                p.mul_(1 + 0.3 * torch.randn_like(p))
            elif "lora_" in name or "trainable_tokens_delta" in name:
                p.add_(0.3 * torch.randn_like(p))
            elif p.requires_grad:
                p.add_(0.2 * torch.randn_like(p))


def write_case(rng, folder):
    """Returns the folder of the adapter, or None, its settings and the logits of transformers or PEFT."""
    model, config = random_model(rng)
    model.save_pretrained(folder / "model")
    (folder / "model" / "generation_config.json").unlink(missing_ok=True)
    load = lambda: transformers.AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32)
    ids = [rng.randrange(VOCABULARY) for _ in range(rng.randint(1, 12))]
    if rng.random() < 0.2:
        with torch.no_grad():
            return None, {}, ids, load()(torch.tensor([ids])).logits[0, -1]
    while True:
        settings = random_adapter(rng, config)
        try:
            peft = get_peft_model(load(), LoraConfig(**settings))
            train(peft)
            shutil.rmtree(folder / "adapter", ignore_errors=True)
            peft.save_pretrained(folder / "adapter")
            loaded = PeftModel.from_pretrained(load(), folder / "adapter").eval()
            with torch.no_grad():
                return folder / "adapter", settings, ids, loaded(torch.tensor([ids])).logits[0, -1]
        except Exception:  # a combination that PEFT refuses
            continue


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loom", default="build/fast/bin/loom")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--keep", help="a folder for the cases that differ")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    counts, refusals = collections.Counter(), collections.Counter()
    for n in range(arguments.first, arguments.first + arguments.count):
        rng = random.Random(f"{arguments.seed}/{n}")
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            adapter, settings, ids, expected = write_case(rng, folder)
            command = [arguments.loom, "logits", str(folder / "model"), "--ids", ",".join(map(str, ids)), "--top",
                       str(VOCABULARY), "--json", "-q", "-t", "1"] + (["--adapter", str(adapter)] if adapter else [])
            run = subprocess.run(command, capture_output=True, text=True)
            if run.returncode != 0:
                counts["refused"] += 1
                refusals[run.stderr.strip().replace(scratch, "")[-160:]] += 1
                continue
            got = {row["id"]: row["logit"] for row in json.loads(run.stdout)["top"]}
            error = max(abs(got[i] - expected[i].item()) for i in range(VOCABULARY)) / expected.abs().max().item()
            counts["equal" if error < BOUND else "different"] += 1
            if error >= BOUND:
                print(f"case {n}: differs by {error:.3g}: {settings}", flush=True)
                if arguments.keep:
                    shutil.copytree(folder, pathlib.Path(arguments.keep) / str(n), dirs_exist_ok=True)
    print(f"seed {arguments.seed}, cases {arguments.first} to {arguments.first + arguments.count - 1}:", dict(counts))
    for message, count in refusals.most_common():
        print(f"refused {count} times: {message}")
    return 1 if counts["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
