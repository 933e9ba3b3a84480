#!/usr/bin/env python3
"""Writes tests/golden/adapters: adapters as PEFT saves them and the logits that PEFT computes after loading them.

Needs torch, transformers and peft. Run it from the root of the repository; it replaces the folder:
    python3 tools/golden/peft_adapters.py
bases/NAME is a model of random weights, NAME/adapter an adapter, NAME/logits.json the logits of every position.
fields.json lists the fields of LoraConfig, which a test compares with the table in src/lm/peft_config.cpp.
"""

import copy
import dataclasses
import json
import pathlib
import shutil
import tempfile
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM

OUT = pathlib.Path("tests/golden/adapters")
IDS = [5, 6, 7, 40, 2, 33, 5, 1]
SIZES = dict(hidden_size=16, intermediate_size=24, num_attention_heads=4, num_key_value_heads=2, num_hidden_layers=2,
             vocab_size=48, max_position_embeddings=64, bos_token_id=None, eos_token_id=None, pad_token_id=None,
             rms_norm_eps=1e-5)


def bases():
    """Models of random weights, by name."""
    yield "plain", LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False))
    yield "tied", LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=True))
    yield "biased", LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=False, attention_bias=True,
                                                 mlp_bias=True))
    yield "qwen2", Qwen2ForCausalLM(Qwen2Config(**SIZES, tie_word_embeddings=True))


ATTENTION = ["q_proj", "k_proj", "v_proj", "o_proj"]
# name: (base, settings of LoraConfig)
CASES = {
    "all_linear": ("plain", dict(target_modules="all-linear")),
    "rank_pattern": ("plain", dict(target_modules=ATTENTION, rank_pattern={"q_proj": 1, r"layers\.1\..*o_proj": 3})),
    "alpha_pattern": ("plain", dict(target_modules=ATTENTION, alpha_pattern={"v_proj": 1, "model.layers.0.self_attn.q_proj": 7})),
    "patterns_rslora": ("plain", dict(target_modules=ATTENTION, use_rslora=True, rank_pattern={"^.*k_proj": 1},
                                      alpha_pattern={r"layers\.[01]\.self_attn\.[qk]_proj": 5})),
    "rslora": ("plain", dict(target_modules=["q_proj", "down_proj"], use_rslora=True)),
    "init_true": ("plain", dict(target_modules=["q_proj"], init_lora_weights=True)),
    "init_false": ("plain", dict(target_modules=["q_proj"], init_lora_weights=False)),
    "init_gaussian": ("plain", dict(target_modules=["q_proj"], init_lora_weights="gaussian")),
    "init_orthogonal": ("plain", dict(target_modules=["q_proj"], init_lora_weights="orthogonal")),
    "init_eva": ("plain", dict(target_modules=["q_proj"], init_lora_weights="eva")),
    "init_mica": ("plain", dict(target_modules=["q_proj"], init_lora_weights="mica")),
    "pissa": ("plain", dict(target_modules=["q_proj", "down_proj"], init_lora_weights="pissa")),
    "pissa_patterns": ("plain", dict(target_modules=["q_proj", "v_proj"], init_lora_weights="pissa",
                                     rank_pattern={"v_proj": 3}, alpha_pattern={"q_proj": 9})),
    "olora": ("plain", dict(target_modules=["q_proj", "up_proj"], init_lora_weights="olora")),
    "olora_rslora": ("plain", dict(target_modules=["q_proj", "up_proj"], init_lora_weights="olora", use_rslora=True)),
    "dora": ("plain", dict(target_modules=ATTENTION, use_dora=True)),
    "dora_biased": ("biased", dict(target_modules=["q_proj", "down_proj"], use_dora=True)),
    "dora_embedding": ("plain", dict(target_modules=["embed_tokens", "lm_head"], use_dora=True)),
    "save_head": ("plain", dict(target_modules=ATTENTION, modules_to_save=["lm_head"])),
    "save_head_tied": ("tied", dict(target_modules=ATTENTION, modules_to_save=["lm_head"])),
    "save_embedding": ("plain", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens"])),
    "save_embedding_tied": ("tied", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens"])),
    "save_both_tied": ("tied", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens", "lm_head"])),
    "save_embedding_kept_tied": ("tied", dict(target_modules=["q_proj"], modules_to_save=["embed_tokens"],
                                              ensure_weight_tying=True)),
    "save_norms": ("plain", dict(target_modules=["q_proj"], modules_to_save=["input_layernorm", "norm"])),
    "save_linear": ("biased", dict(target_modules=["q_proj"], modules_to_save=["o_proj"])),
    "save_mlp": ("plain", dict(target_modules=["q_proj"], modules_to_save=["mlp"])),
    "bias_all": ("biased", dict(target_modules=["q_proj", "v_proj"], bias="all")),
    "bias_all_saved": ("biased", dict(target_modules=["q_proj"], bias="all", modules_to_save=["mlp"])),
    "bias_lora_only": ("biased", dict(target_modules=["q_proj", "v_proj"], bias="lora_only")),
    "bias_qwen2": ("qwen2", dict(target_modules=["q_proj"], bias="lora_only")),
    "lora_bias": ("biased", dict(target_modules=["q_proj", "down_proj"], lora_bias=True)),
    "lora_bias_without": ("plain", dict(target_modules=["q_proj", "down_proj"], lora_bias=True, use_rslora=True)),
    "embedding": ("plain", dict(target_modules=["embed_tokens"])),
    "embedding_tied": ("tied", dict(target_modules=["embed_tokens", "q_proj"])),
    "embedding_kept_tied": ("tied", dict(target_modules=["embed_tokens"], ensure_weight_tying=True)),
    "head": ("plain", dict(target_modules=["lm_head", "v_proj"])),
    "head_tied": ("tied", dict(target_modules=["lm_head"])),
    "layers": ("plain", dict(target_modules=["q_proj", "up_proj"], layers_to_transform=[1])),
    "layer_number": ("plain", dict(target_modules=["q_proj"], layers_to_transform=0, layers_pattern="layers")),
    "regex": ("plain", dict(target_modules=r".*\.(0|1)\.self_attn\.(q|o)_proj")),
    "excluded": ("plain", dict(target_modules=["q_proj", "v_proj"], exclude_modules=["layers.0.self_attn.q_proj"])),
    "excluded_regex": ("plain", dict(target_modules=["q_proj", "v_proj"], exclude_modules=r".*\.1\..*v_proj")),
    "fan_in_fan_out": ("plain", dict(target_modules=["q_proj"], fan_in_fan_out=True)),
    "trainable_tokens": ("plain", dict(target_modules=["q_proj"], trainable_token_indices=[5, 7, 40])),
    "trainable_tokens_tied": ("tied", dict(target_modules=["q_proj"], trainable_token_indices={"embed_tokens": [5, 2]})),
    "trainable_tokens_head": ("plain", dict(target_modules=["q_proj"],
                                            trainable_token_indices={"lm_head": [1, 7], "embed_tokens": [5]})),
}


def randomise(model):
    """Gives every parameter of the adapter values that matter."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if "lora_magnitude" in name:
                p.mul_(1 + 0.3 * torch.randn_like(p))
            elif "lora_" in name or "trainable_tokens_delta" in name:
                p.add_(0.3 * torch.randn_like(p))
            elif p.requires_grad:
                p.add_(0.2 * torch.randn_like(p))


def write_case(name, base, settings):
    folder = OUT / name
    torch.manual_seed(len(name) * 1000 + sum(map(ord, name)))
    base_path = OUT / "bases" / base
    model = AutoModelForCausalLM.from_pretrained(base_path, dtype=torch.float32)
    config = LoraConfig(task_type="CAUSAL_LM", **{"r": 2, "lora_alpha": 3, "lora_dropout": 0.1, **settings})
    peft = get_peft_model(model, config)
    randomise(peft)
    peft.eval()
    with tempfile.TemporaryDirectory() as scratch:
        peft.save_pretrained(scratch)
        (folder / "adapter").mkdir(parents=True)
        for file in ("adapter_config.json", "adapter_model.safetensors"):
            shutil.copy(pathlib.Path(scratch) / file, folder / "adapter" / file)
    config_path = folder / "adapter" / "adapter_config.json"
    json_config = json.loads(config_path.read_text())
    json_config["base_model_name_or_path"] = base
    config_path.write_text(json.dumps(json_config, indent=1, sort_keys=True) + "\n")
    fresh = AutoModelForCausalLM.from_pretrained(base_path, dtype=torch.float32)
    loaded = PeftModel.from_pretrained(fresh, folder / "adapter").eval()
    with torch.no_grad():
        logits = loaded(torch.tensor([IDS])).logits[0]
        plain = AutoModelForCausalLM.from_pretrained(base_path, dtype=torch.float32)(torch.tensor([IDS])).logits[0]
    moved = (logits - plain).abs().max().item()
    assert moved > 1e-3, (name, moved)
    text = {"base": base, "ids": IDS, "logits": [[float(f"{v:.7g}") for v in row] for row in logits.tolist()]}
    (folder / "logits.json").write_text(json.dumps(text, separators=(",", ":")) + "\n")
    return moved


def main():
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    shutil.rmtree(OUT, ignore_errors=True)
    for number, (name, _) in enumerate(bases()):
        torch.manual_seed(number)
        model = dict(bases())[name]
        with torch.no_grad():
            for p in model.parameters():
                p.copy_(torch.randn_like(p) * (0.3 if p.dim() == 2 else 0.1) + (1 if p.dim() == 1 else 0))
        model.save_pretrained(OUT / "bases" / name)
        (OUT / "bases" / name / "generation_config.json").unlink(missing_ok=True)
    for name, (base, settings) in CASES.items():
        try:
            print(f"{name}: logits move by {write_case(name, base, copy.deepcopy(settings)):.3g}", flush=True)
        except Exception as error:  # a combination that this version of PEFT refuses
            print(f"{name}: PEFT refuses it: {error}", flush=True)
            shutil.rmtree(OUT / name, ignore_errors=True)
    fields = sorted(f.name for f in dataclasses.fields(LoraConfig) if not f.name.startswith("_"))
    (OUT / "fields.json").write_text(json.dumps(fields, indent=1) + "\n")


if __name__ == "__main__":
    main()
