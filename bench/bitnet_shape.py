#!/usr/bin/env python3
"""Writes a model folder of BitNet b1.58 2B4T's shape with random packed ternary weights (about 1.2 GB) and runs it.

usage: bitnet_shape.py FOLDER [--loom build/bin/loom] [--threads 1] [--prompt-tokens 32] [--new-tokens 16] [--layers 30] [--keep] [--no-run]

The folder has what the published one has: config.json, model.safetensors with U8 codes, bf16 scales, norms and embedding. Prints the
size of the file, the resident weights, the peak of the process, and tokens per second. The folder is deleted again without --keep.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys

import numpy as np

CONFIG = {"architectures": ["BitNetForCausalLM"], "auto_map": {"AutoConfig": "configuration_bitnet.BitNetConfig",
          "AutoModelForCausalLM": "modeling_bitnet.BitNetForCausalLM"}, "bos_token_id": 128000, "eos_token_id": 128001, "hidden_act": "relu2",
          "hidden_size": 2560, "initializer_range": 0.02, "intermediate_size": 6912, "max_position_embeddings": 4096, "model_type": "bitnet",
          "rms_norm_eps": 1e-05, "num_attention_heads": 20, "num_hidden_layers": 30, "num_key_value_heads": 5, "rope_theta": 500000.0,
          "tie_word_embeddings": True, "torch_dtype": "bfloat16", "use_cache": True, "vocab_size": 128256,
          "quantization_config": {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "offline"}}


def tensors(config):
    """(name, type, shape) in the order of the file."""
    d, n = config["hidden_size"], config["intermediate_size"]
    kv = d // config["num_attention_heads"] * config["num_key_value_heads"]
    yield "model.embed_tokens.weight", "BF16", [config["vocab_size"], d]
    for i in range(config["num_hidden_layers"]):
        layer = f"model.layers.{i}."
        for name, size in (("input_layernorm", d), ("post_attention_layernorm", d), ("self_attn.attn_sub_norm", d), ("mlp.ffn_sub_norm", n)):
            yield f"{layer}{name}.weight", "BF16", [size]
        for name, rows, cols in (("self_attn.q_proj", d, d), ("self_attn.k_proj", kv, d), ("self_attn.v_proj", kv, d), ("self_attn.o_proj", d, d),
                                 ("mlp.gate_proj", n, d), ("mlp.up_proj", n, d), ("mlp.down_proj", d, n)):
            yield f"{layer}{name}.weight", "U8", [rows // 4, cols]
            yield f"{layer}{name}.weight_scale", "BF16", [1]
    yield "model.norm.weight", "BF16", [d]


def bfloat16(values):
    return (np.asarray(values, np.float32).view(np.uint32) >> 16).astype("<u2").tobytes()


PIECE = 1 << 20  # elements made at once: the process that starts loom stays small, or its own peak would be reported as loom's


def data_of(name, kind, count, random):
    if kind == "U8":  # four codes 0 1 2 a byte
        codes = random.integers(0, 81, count, dtype=np.uint8)
        return (codes % 3 | codes // 3 % 3 << 2 | codes // 9 % 3 << 4 | codes // 27 << 6).astype(np.uint8).tobytes()
    if name.endswith("weight_scale"):
        return bfloat16([0.02])
    return bfloat16(np.ones(count)) if "norm" in name else bfloat16(random.standard_normal(count, np.float32) * np.float32(0.02))


def write(folder, config):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/config.json", "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
    sizes, header, at = {"U8": 1, "BF16": 2}, {}, 0
    for name, kind, shape in tensors(config):
        size = int(np.prod(shape)) * sizes[kind]
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(1)
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for name, kind, shape in tensors(config):
            left = int(np.prod(shape))
            while left:
                file.write(data_of(name, kind, min(left, PIECE), random))
                left -= min(left, PIECE)
    return at


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("folder")
    parser.add_argument("--loom", default=os.path.join(here, "..", "build", "bin", "loom"))
    parser.add_argument("--threads", default="1")
    parser.add_argument("--prompt-tokens", default="32")
    parser.add_argument("--new-tokens", default="16")
    parser.add_argument("--layers", type=int, default=30)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--no-run", action="store_true")
    a = parser.parse_args()
    if os.path.exists(a.folder) and not a.keep:
        sys.exit(f"bitnet_shape: {a.folder} exists; with --keep it is written into and left")
    size = write(a.folder, dict(CONFIG, num_hidden_layers=a.layers))
    print(f"{a.folder}: {size / 1e6:.1f} MB of tensors", flush=True)
    try:
        if not a.no_run:
            command = [a.loom, "bench", a.folder, "--prompt-tokens", a.prompt_tokens, "--new-tokens", a.new_tokens, "--repeats", "3", "-t", a.threads,
                       "--json", "-q"]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                sys.exit(f"bitnet_shape: {done.stderr.strip()}")
            r = json.loads(done.stdout)
            print(f"{a.threads} threads: weights {r['weights_mb']:.1f} MB in memory, peak of the process {r['peak_rss_mb']:.1f} MiB, load "
                  f"{r['load_ms'] / 1e3:.1f} s, reads {r['prefill_tps']:.1f} tok/s, writes {r['decode_tps']:.1f} tok/s")
    finally:
        if not a.keep:
            shutil.rmtree(a.folder)


if __name__ == "__main__":
    main()
