#!/usr/bin/env python3
"""Small random-weight models of every supported family with the logits and greedy tokens that transformers computes for them.

usage: small_models.py [OUT_FOLDER [NAME ...]]     (default tests/golden/models, all; needs torch, transformers; three minutes)

Each folder holds config.json, model.safetensors (or shards with their index), a 256-byte tokenizer.json and reference.json.
Weights come from numpy's Philox-free default generator with a fixed seed, so they do not depend on torch. The reference runs in f32 on
the stored weights by plain attention; RoPE angles are replaced by f64 ones, computed from the published formulas and compared with
transformers' own, because f32 angles lose digits with the position. For every model each of the features that it tests is switched
off and must move the logits: a reference that cannot fail would prove nothing.
The BitNet folders hold packed ternary weights and their scales as the published model does; transformers' own loader reads them back.
"""
import copy
import json
import math
import os
import shutil
import sys

os.environ["TORCHDYNAMO_DISABLE"] = "1"     # BitNet's layers are marked for compilation, which would only change roundings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
import oracle
import torch
from safetensors.torch import save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.integrations.bitnet import pack_weights

PROMPT_TOKENS, GREEDY_TOKENS, ROWS = 64, 32, [0, 15, 40, 63]
# Prompts are drawn until every greedy step is decided by at least this share of the largest logit, and the tokens vary.
SMALLEST_GAP, DIFFERENT_TOKENS = 0.005, 8
BASE = dict(vocab_size=256, hidden_size=48, intermediate_size=80, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=256, rms_norm_eps=1e-5, hidden_act="silu", tie_word_embeddings=True, rope_theta=10000.0,
            bos_token_id=None, eos_token_id=None, pad_token_id=None)
LLAMA = dict(BASE, model_type="llama", architectures=["LlamaForCausalLM"], head_dim=12, attention_bias=False, mlp_bias=False)
BITNET = dict({k: v for k, v in BASE.items() if k != "head_dim"}, model_type="bitnet", architectures=["BitNetForCausalLM"],
              hidden_act="relu2", rope_theta=500000.0)
LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64)

# name: (config, stored type, shard size or none, changes that must move the logits)
MODELS = {
    "llama2_untied": (dict(LLAMA, tie_word_embeddings=False, rms_norm_eps=1e-6), torch.float32, None,
                      [dict(rope_theta=500.0), dict(rms_norm_eps=1e-2)]),
    "llama2_no_gqa": (dict({k: v for k, v in LLAMA.items() if k != "head_dim"}, num_key_value_heads=4, num_hidden_layers=3, hidden_size=40),
                      torch.bfloat16, None, [dict(hidden_act="gelu")]),
    "llama_biases": (dict(LLAMA, attention_bias=True, mlp_bias=True), torch.float16, None, ["bias"]),
    "llama3_scaled": (dict(LLAMA, rope_theta=500000.0, rope_scaling=LLAMA3), torch.float32, None,
                      [dict(rope_scaling=None), dict(rope_scaling=dict(LLAMA3, high_freq_factor=8.0))]),
    "llama_linear": (dict(LLAMA, rope_scaling=dict(type="linear", factor=4.0)), torch.bfloat16, None, [dict(rope_scaling=None)]),
    "llama_yarn": (dict(LLAMA, rope_scaling=YARN, head_dim=16), torch.float32, None,
                   [dict(rope_scaling=None), dict(rope_scaling=dict(YARN, attention_factor=1.0)), dict(rope_scaling=dict(YARN, beta_slow=0.1))]),
    "mistral_window": (dict(BASE, model_type="mistral", architectures=["MistralForCausalLM"], head_dim=12, sliding_window=16,
                            tie_word_embeddings=False), torch.bfloat16, "60KB", [dict(sliding_window=None), dict(sliding_window=17)]),
    "qwen2_biases": (dict(BASE, model_type="qwen2", architectures=["Qwen2ForCausalLM"], rope_theta=1000000.0, rms_norm_eps=1e-6,
                          use_sliding_window=False, sliding_window=16, max_window_layers=1), torch.float32, None, ["bias"]),
    "qwen3_head_norm": (dict(BASE, model_type="qwen3", architectures=["Qwen3ForCausalLM"], head_dim=20, attention_bias=False,
                             rope_theta=1000000.0, use_sliding_window=False), torch.float32, "100KB", ["q_norm", "k_norm"]),
    "smollm3_nope": (dict(BASE, model_type="smollm3", architectures=["SmolLM3ForCausalLM"], num_hidden_layers=3, no_rope_layers=[1, 0, 1],
                          attention_bias=False, mlp_bias=False, use_sliding_window=False), torch.bfloat16, None, [dict(no_rope_layers=[1, 1, 1])]),
    "phi3_fused": (dict(BASE, model_type="phi3", architectures=["Phi3ForCausalLM"], tie_word_embeddings=False, rope_scaling=None,
                        original_max_position_embeddings=256, sliding_window=None), torch.bfloat16, None, [dict(rope_theta=500.0)]),
    # hidden_size 64: its root, by which embeddings are multiplied, is exact in every type
    "gemma1": (dict(BASE, model_type="gemma", architectures=["GemmaForCausalLM"], hidden_size=64, head_dim=16, hidden_act="gelu_pytorch_tanh",
                    hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, attention_bias=False), torch.bfloat16, None, [dict(rope_theta=500.0)]),
}
# Ternary weights: their scale multiplies, or divides.
MODELS["bitnet_multiplied"] = (dict(BITNET, quantization_config=dict(quant_method="bitnet", linear_class="autobitlinear", quantization_mode="offline")),
                               torch.bfloat16, None, ["attn_sub_norm", "ffn_sub_norm"])
MODELS["bitnet_divided"] = (dict(BITNET, quantization_config=dict(quant_method="bitnet", linear_class="bitlinear", quantization_mode="offline"),
                                 num_key_value_heads=4, num_hidden_layers=1), torch.float32, None, ["attn_sub_norm", "ffn_sub_norm"])
# Two folders carry the newer spelling that transformers 5 writes; the others the one that published models have.
NEW_SPELLING = {"llama3_scaled", "qwen3_head_norm"}


class Rotary64(torch.nn.Module):
    """cos and sin of f64 angles, [1, T, head_dim], rounded once."""

    def __init__(self, frequencies, factor):
        super().__init__()
        self.frequencies, self.factor = frequencies, factor

    def forward(self, x, position_ids, *_, **__):
        angle = position_ids.double()[:, :, None] * self.frequencies
        angle = torch.cat([angle, angle], dim=-1)
        return (angle.cos() * self.factor).float(), (angle.sin() * self.factor).float()


def rope_frequencies(config, head_dim):
    """f64 frequencies and the factor of cos and sin, from the published formulas."""
    s = config.get("rope_scaling") or {}
    kind, factor = s.get("rope_type", s.get("type", "default")), s.get("factor", 1.0)
    f = torch.tensor([config["rope_theta"] ** (-2.0 * i / head_dim) for i in range(head_dim // 2)], dtype=torch.float64)
    n = s.get("original_max_position_embeddings")
    if kind == "linear":
        return f / factor, 1.0
    if kind == "llama3":
        low, high = s["low_freq_factor"], s["high_freq_factor"]
        turns = n * f / (2 * math.pi)
        smooth = ((turns - low) / (high - low)).clamp(0, 1)
        return (1 - smooth) * f / factor + smooth * f, 1.0
    if kind == "yarn":
        dim = lambda turns: head_dim * math.log(n / (2 * math.pi * turns)) / (2 * math.log(config["rope_theta"]))
        low = max(math.floor(dim(s.get("beta_fast", 32.0))), 0)
        high = min(math.ceil(dim(s.get("beta_slow", 1.0))), head_dim - 1)
        ramp = ((torch.arange(head_dim // 2).double() - low) / max(high - low, 0.001)).clamp(0, 1)
        return f / factor * ramp + f * (1 - ramp), s.get("attention_factor", 0.1 * math.log(factor) + 1)
    return f, 1.0


def use_f64_angles(model, config):
    head_dim = config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"]
    rotary = model.model.rotary_emb
    frequencies, factor = rope_frequencies(config, head_dim)
    torch.testing.assert_close(rotary.inv_freq.double(), frequencies, rtol=2e-6, atol=0)
    assert abs(rotary.attention_scaling - factor) < 1e-12
    model.model.rotary_emb = Rotary64(frequencies, factor)


def fill(model, seed):
    """Weights large enough that attention is peaked and every bias and norm matters."""
    random = np.random.default_rng(seed)
    for name, p in sorted(model.named_parameters()):
        kind = name.split(".")[-2]
        value = random.standard_normal(tuple(p.shape))
        if "norm" in kind:
            value = (0.0 if model.config.model_type == "gemma" else 1.0) + 0.3 * value
        elif name.endswith("bias"):
            value = 0.5 * value
        elif kind == "embed_tokens":
            value *= 0.01 if model.config.model_type == "gemma" else 0.1     # small, or a tied head repeats the last token for ever
        else:
            value *= (1.4 if kind in ("q_proj", "k_proj", "qkv_proj") else 1.0) / math.sqrt(p.shape[1])
        p.copy_(torch.tensor(value))


def byte_tokenizer():
    """Byte-level tokenizer without merges; the id is the byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    letters = {chr(b if b in plain else 256 + others.index(b)): b for b in range(256)}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": level,
            "post_processor": None, "decoder": level,
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                      "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": letters, "merges": []}}


def save_ternary(model, folder, dtype, divides):
    """Linear layers as packed codes and a scale, the mean size of their weights or its reciprocal; all else in `dtype`."""
    tensors = {}
    for key, p in model.named_parameters():
        if key.endswith("_proj.weight"):
            mean = p.abs().mean().to(dtype).float()
            tensors[key] = pack_weights((p / mean).round().clamp(-1, 1).to(torch.int32))
            tensors[key + "_scale"] = (1 / mean if divides else mean).reshape(1).to(dtype)
        else:
            tensors[key] = p.detach().to(dtype)
    os.makedirs(folder)
    save_file(tensors, f"{folder}/model.safetensors", metadata={"format": "pt"})


def store(folder, name, seed):
    config, dtype, shard, _ = MODELS[name]
    quantization = config.get("quantization_config")
    plain = {k: v for k, v in config.items() if k != "quantization_config"}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**copy.deepcopy(plain)), dtype=torch.float32)
    fill(model, seed)
    shutil.rmtree(folder, ignore_errors=True)
    if quantization:
        save_ternary(model, folder, dtype, quantization["linear_class"] == "bitlinear")
    else:
        model.to(dtype).save_pretrained(folder, max_shard_size=shard or "1GB")
        os.remove(f"{folder}/generation_config.json")
    if name not in NEW_SPELLING:
        with open(f"{folder}/config.json", "w", encoding="utf-8") as out:
            json.dump(dict(config, torch_dtype=str(dtype)[6:]), out, indent=1)
    with open(f"{folder}/tokenizer.json", "w", encoding="utf-8") as out:
        json.dump(byte_tokenizer(), out, ensure_ascii=False, separators=(",", ":"))


def load(folder):
    """BitNet's layers keep the stored type whatever is asked for."""
    return torch.nn.Module.float(oracle.load(folder))     # which transformers forbids without need


def changed(folder, config, change, ids):
    """Logits with one feature switched off or altered."""
    if isinstance(change, str):      # parameters of that name, set to nothing
        model = load(folder)
        for key, p in model.named_parameters():
            if change in key:
                p.fill_(0.0 if change == "bias" else 1.0)
        other = config
    else:
        other = dict(config, **change)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**copy.deepcopy(other)), dtype=torch.float32, attn_implementation="eager")
        model.load_state_dict(oracle.load(folder).state_dict())
    use_f64_angles(model.eval(), other)
    return oracle.logits(model, ids)


def reference(folder, name, seed):
    config, dtype, _, changes = MODELS[name]
    model = load(folder)
    use_f64_angles(model, config)
    random = np.random.default_rng(seed)
    for _ in range(200):
        ids = random.integers(0, 256, PROMPT_TOKENS).tolist()
        rows = oracle.logits(model, ids)
        scale = np.abs(rows).max()
        tokens, gaps = oracle.greedy(model, ids, GREEDY_TOKENS)
        if min(gaps) >= SMALLEST_GAP * scale and len(set(tokens)) >= DIFFERENT_TOKENS:
            break
    else:
        sys.exit(f"{name}: no prompt decides every greedy step clearly")
    moved = [float(np.abs(changed(folder, config, c, ids) - rows).max() / scale) for c in changes]
    if min(moved) < 1e-2:
        sys.exit(f"{name}: a change moves the logits by {moved} only")
    oracle.write(f"{folder}/reference.json", {
        "made_by": "tools/golden/small_models.py", "versions": oracle.versions(), "seed": seed, "ids": ids, "rows": ROWS,
        "logits": [oracle.exact(rows[r]) for r in ROWS], "max_abs_logit": oracle.exact([scale])[0], "greedy": tokens, "gaps": gaps})
    size = sum(os.path.getsize(f"{folder}/{f}") for f in os.listdir(folder))
    print(f"{name}: {size} bytes, largest logit {scale:.2f}, smallest gap {min(gaps):.3f}, {len(set(tokens))} different tokens, "
          f"changes move it by {', '.join(f'{m:.2f}' for m in moved)}", flush=True)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "../../tests/golden/models")
    for seed, name in enumerate(MODELS):
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        store(f"{out}/{name}", name, seed)
        reference(f"{out}/{name}", name, seed)


if __name__ == "__main__":
    main()
