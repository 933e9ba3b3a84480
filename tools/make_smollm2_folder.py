#!/usr/bin/env python3
"""Write a llama-architecture GGUF as a Hugging Face folder: config.json, model.safetensors, tokenizer.json, tokenizer_config.json.

usage: make_smollm2_folder.py MODEL.gguf FOLDER [--dtype F32|BF16|F16]        (default F32)

Needs numpy and gguf only, so that the safetensors path can be tested without torch. Every tensor is dequantised to f32 as the gguf
package does it, query and key rows go back from interleaved to half-split RoPE order, and the result is rounded to nearest even into
the requested type. tools/golden/smollm2_reference.py checks that the bytes equal what transformers makes of the same file.
Only what SmolLM2 uses is handled: byte-level BPE with the "smollm" splitter, a tied head, no rope scaling; anything else is refused.
"""
import argparse
import hashlib
import json
import os
import sys

import gguf
import numpy as np

LAYER_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
TOP_NAMES = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}


def fields(reader):
    """Metadata of a GGUF as a plain dictionary."""
    return {name: field.contents() for name, field in reader.fields.items()}


def hf_name(name):
    if name in TOP_NAMES:
        return TOP_NAMES[name]
    part = name.split(".")
    if len(part) == 4 and part[0] == "blk" and part[3] == "weight" and part[2] in LAYER_NAMES:
        return f"model.layers.{part[1]}.{LAYER_NAMES[part[2]]}.weight"
    sys.exit(f"tensor '{name}' has no place in a tied llama model")


def half_split(weight, num_heads):
    """Rows of each head from pairs (2i, 2i+1) to pairs (i, i + head_dim/2)."""
    rows, columns = weight.shape
    return weight.reshape(num_heads, rows // num_heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def to_bf16(x):
    """Round f32 to the nearest bfloat16, ties to even; weights are finite."""
    bits = np.ascontiguousarray(x, dtype=np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


ENCODE = {"F32": lambda x: x.astype("<f4"), "F16": lambda x: x.astype("<f2"), "BF16": to_bf16}


def tensors(reader, meta):
    """Yields (name, shape, f32 values), names sorted, one tensor in memory at a time."""
    heads = {"attn_q": meta["llama.attention.head_count"], "attn_k": meta["llama.attention.head_count_kv"]}
    for name, tensor in sorted((hf_name(t.name), t) for t in reader.tensors):
        value = gguf.quants.dequantize(tensor.data, tensor.tensor_type).astype(np.float32, copy=False)
        kind = tensor.name.split(".")[2] if tensor.name.startswith("blk.") else ""
        yield name, half_split(value, heads[kind]) if kind in heads else value


def write_safetensors(path, reader, meta, dtype):
    """Streams the tensors after a header that is computed from the shapes alone."""
    width = 4 if dtype == "F32" else 2
    header, offset = {"__metadata__": {"format": "pt"}}, 0
    for name, shape in sorted((hf_name(t.name), [int(n) for n in reversed(t.shape)]) for t in reader.tensors):
        size = width * int(np.prod(shape))
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with open(path + ".part", "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for name, value in tensors(reader, meta):
            data = np.ascontiguousarray(ENCODE[dtype](value)).tobytes()
            digest.update(name.encode() + b"\0" + data)
            out.write(data)
    os.replace(path + ".part", path)
    return digest.hexdigest()


def config(meta, dtype):
    if meta["general.architecture"] != "llama" or any(k.startswith("llama.rope.scaling") for k in meta):
        sys.exit("only llama without rope scaling is handled")
    heads, hidden = meta["llama.attention.head_count"], meta["llama.embedding_length"]
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "attention_bias": False, "mlp_bias": False,
        "hidden_size": hidden, "intermediate_size": meta["llama.feed_forward_length"], "num_hidden_layers": meta["llama.block_count"],
        "num_attention_heads": heads, "num_key_value_heads": meta["llama.attention.head_count_kv"], "head_dim": hidden // heads,
        "max_position_embeddings": meta["llama.context_length"], "rms_norm_eps": meta["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": meta["llama.rope.freq_base"], "rope_scaling": None, "tie_word_embeddings": True,
        "vocab_size": len(meta["tokenizer.ggml.tokens"]), "bos_token_id": meta["tokenizer.ggml.bos_token_id"],
        "eos_token_id": meta["tokenizer.ggml.eos_token_id"], "pad_token_id": meta["tokenizer.ggml.padding_token_id"],
        "torch_dtype": {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}[dtype],
    }


def tokenizer(meta):
    """The vocabulary in tokenizer.json form. "smollm" splits off single digits, then splits as GPT-2 does."""
    if (meta["tokenizer.ggml.model"], meta["tokenizer.ggml.pre"]) != ("gpt2", "smollm"):
        sys.exit("only the smollm tokenizer is handled")
    tokens, types = meta["tokenizer.ggml.tokens"], meta["tokenizer.ggml.token_type"]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    added = [{"id": i, "content": t, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, t in enumerate(tokens) if types[i] == gguf.TokenType.CONTROL]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, byte_level]},
        "post_processor": None, "decoder": dict(byte_level, add_prefix_space=True),
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": False,
                  "vocab": {t: i for i, t in enumerate(tokens)}, "merges": [m.split(" ") for m in meta["tokenizer.ggml.merges"]]},
    }


def tokenizer_config(meta):
    tokens = meta["tokenizer.ggml.tokens"]
    name = lambda key: tokens[meta[f"tokenizer.ggml.{key}_token_id"]]
    return {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": False, "add_prefix_space": False, "clean_up_tokenization_spaces": False,
            "bos_token": name("bos"), "eos_token": name("eos"), "pad_token": name("padding"), "unk_token": name("unknown"),
            "model_max_length": meta["llama.context_length"], "chat_template": meta["tokenizer.chat_template"]}


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(value, out, ensure_ascii=False, indent=1)


def make(model, folder, dtype):
    """Writes the folder; returns a SHA-256 over the tensors' names and bytes."""
    reader = gguf.GGUFReader(model)
    meta = fields(reader)
    os.makedirs(folder, exist_ok=True)
    write_json(f"{folder}/config.json", config(meta, dtype))
    write_json(f"{folder}/tokenizer.json", tokenizer(meta))
    write_json(f"{folder}/tokenizer_config.json", tokenizer_config(meta))
    return write_safetensors(f"{folder}/model.safetensors", reader, meta, dtype)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("folder")
    parser.add_argument("--dtype", choices=list(ENCODE), default="F32")
    arguments = parser.parse_args()
    print(f"{arguments.folder} tensors sha256 {make(arguments.model, arguments.folder, arguments.dtype)}")


if __name__ == "__main__":
    main()
