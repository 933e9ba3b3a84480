#!/usr/bin/env python3
"""Write a random-weight GGUF with the shape of a published model: for speed and memory measurements where that model is not at hand.

usage: make_random_gguf.py SHAPE OUT.gguf [--type T] [--seed N] [--layers N]

SHAPE: smollm2-360m, qwen2.5-0.5b, tinyllama-1.1b, qwen3-4b, mistral-7b, llama-3-8b. Needs numpy and gguf; memory stays at one tensor, the disk takes the file.
Matrices are Q4_0, the head (or the tied embedding) Q8_0, norms and biases F32. --type: all matrices of that block format or f16, or q4_k_m: Q4_K, and
Q6_K where llama.cpp's mixture of that name has it. Codes are uniform and block scales are chosen so that activations keep their size and
logits stay near unit size. The vocabulary is made up (bytes, then pairs and triples of pieces) with the right
number of entries, so text round-trips but means nothing. Same seed, same file.
"""
import argparse
import itertools
import os

import gguf
import numpy as np

SHAPES = {
    "smollm2-360m": dict(arch="llama", hidden=960, layers=32, heads=15, kv_heads=5, ff=2560, vocab=49152, tied=True, context=8192,
                         rope=100000.0, eps=1e-5, tokenizer="smollm"),
    "qwen2.5-0.5b": dict(arch="qwen2", hidden=896, layers=24, heads=14, kv_heads=2, ff=4864, vocab=151936, tied=True, context=32768,
                         rope=1000000.0, eps=1e-6, tokenizer="qwen2"),
    "tinyllama-1.1b": dict(arch="llama", hidden=2048, layers=22, heads=32, kv_heads=4, ff=5632, vocab=32000, tied=False, context=2048,
                           rope=10000.0, eps=1e-5, tokenizer="spm"),
    "mistral-7b": dict(arch="llama", hidden=4096, layers=32, heads=32, kv_heads=8, ff=14336, vocab=32000, tied=False, context=32768,
                       rope=10000.0, eps=1e-5, tokenizer="spm"),
    "qwen3-4b": dict(arch="qwen3", hidden=2560, layers=36, heads=32, kv_heads=8, head_dim=128, ff=9728, vocab=151936, tied=True, context=40960,
                     rope=1000000.0, eps=1e-6, tokenizer="qwen2"),
    "llama-3-8b": dict(arch="llama", hidden=4096, layers=32, heads=32, kv_heads=8, ff=14336, vocab=128256, tied=False, context=8192,
                       rope=500000.0, eps=1e-5, tokenizer="llama-bpe"),
}
CHATML = "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}" \
         "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
Q4_0, Q8_0, F16, F32 = (gguf.GGMLQuantizationType[name] for name in ("Q4_0", "Q8_0", "F16", "F32"))


# Offsets of f16 d, and of what is subtracted or added, in a block; that in units of d, so that weights have no mean.
SCALES = {"Q4_0": (0,), "Q4_1": (0, 2, -7.5), "Q5_0": (0,), "Q5_1": (0, 2, -15.5), "Q8_0": (0,), "Q2_K": (80, 82, 1.5), "Q3_K": (108,),
          "Q4_K": (0, 2, 7.5), "Q5_K": (0, 2, 15.5), "Q6_K": (208,), "MXFP4": ()}


def types(s):
    """The types of a matrix of block i, by the tensor's name, of the head and of an embedding that is not tied to it."""
    if s["type"] == "q4_0":
        return lambda i, name: Q4_0, Q8_0, Q4_0
    if s["type"] != "q4_k_m":
        kind = gguf.GGMLQuantizationType[s["type"].upper()]
        return lambda i, name: kind, kind, kind
    q4, q6, eighth = gguf.GGMLQuantizationType.Q4_K, gguf.GGMLQuantizationType.Q6_K, s["layers"] // 8

    def kind_of(i, name):
        more_bits = i < eighth or i >= 7 * s["layers"] // 8 or (i - eighth) % 3 == 2
        return q6 if more_bits and name in ("attn_v", "ffn_down") else q4
    return kind_of, q6, q4


def head_dim_of(s):
    return s.get("head_dim", s["hidden"] // s["heads"])


def tensors(s):
    """(name, type, shape, size of a weight), in file order."""
    head_dim, ff, d = head_dim_of(s), s["ff"], s["hidden"]
    q, kv, into_residual = s["heads"] * head_dim, s["kv_heads"] * head_dim, (2 * s["layers"]) ** -0.5
    kind_of, head, embedding = types(s)
    yield "token_embd.weight", head if s["tied"] else embedding, (s["vocab"], d), d ** -0.5 if s["tied"] else 1.0
    for i in range(s["layers"]):
        block = f"blk.{i}."
        yield block + "attn_norm.weight", F32, (d,), 1.0
        for name, rows in (("attn_q", q), ("attn_k", kv), ("attn_v", kv)):
            yield block + name + ".weight", kind_of(i, name), (rows, d), d ** -0.5
            if s["arch"] == "qwen2":
                yield block + name + ".bias", F32, (rows,), 0.1
        if s["arch"] == "qwen3":
            yield block + "attn_q_norm.weight", F32, (head_dim,), 1.0
            yield block + "attn_k_norm.weight", F32, (head_dim,), 1.0
        yield block + "attn_output.weight", kind_of(i, "attn_output"), (d, q), q ** -0.5 * into_residual
        yield block + "ffn_norm.weight", F32, (d,), 1.0
        yield block + "ffn_gate.weight", kind_of(i, "ffn_gate"), (ff, d), d ** -0.5
        yield block + "ffn_up.weight", kind_of(i, "ffn_up"), (ff, d), d ** -0.5
        yield block + "ffn_down.weight", kind_of(i, "ffn_down"), (d, ff), ff ** -0.5 * into_residual
    yield "output_norm.weight", F32, (d,), 1.0
    if not s["tied"]:
        yield "output.weight", head, (s["vocab"], d), d ** -0.5


def stored_shape(kind, shape):
    """Shape of the stored bytes (quantised) or elements (floats)."""
    if kind in (F16, F32):
        return shape
    block, size = gguf.GGML_QUANT_SIZES[kind]
    return (*shape[:-1], shape[-1] // block * size)


def set_scales(kind, data, scale):
    if kind.name == "MXFP4":
        data[:, 0] = np.clip(np.round(np.log2(scale)) + 128, 104, 254)
        return
    at = SCALES[kind.name]
    for offset, factor in ((at[0], 1.0), at[1:])[:1 if len(at) == 1 else 2]:
        data[:, offset:offset + 2] = (scale * factor).astype("<f2").view(np.uint8).reshape(-1, 2)


def deviation(kind, sample):
    """Returns the standard deviation of weights of random codes whose scale is 1: 4.6 (0..15), 73.9 (-128..127), or as measured on the sample."""
    if kind in (Q4_0, Q8_0):
        return 4.6 if kind == Q4_0 else 73.9
    set_scales(kind, sample, np.ones(len(sample)))
    return float(np.std(gguf.quants.dequantize(sample, kind)))


def values(random, name, kind, shape, size):
    if kind == F32:
        noise = random.standard_normal(shape, dtype=np.float32)
        return 1 + np.float32(0.1) * noise if name.endswith("norm.weight") else np.float32(size) * noise
    if kind == F16:
        return (np.float32(size) * random.standard_normal(shape, dtype=np.float32)).astype(np.float16)
    block, bytes_per_block = gguf.GGML_QUANT_SIZES[kind]
    blocks = int(np.prod(shape)) // block
    data = np.frombuffer(bytearray(random.bytes(blocks * bytes_per_block)), dtype=np.uint8).reshape(blocks, bytes_per_block)
    # Scales vary by a quarter around the requested size.
    scale = size / deviation(kind, data[:256].copy()) * random.uniform(0.75, 1.25, blocks)
    set_scales(kind, data, scale)
    return data.reshape(stored_shape(kind, shape))


def byte_letters():
    """The 256 printable stand-ins for bytes of byte-level BPE, in byte order."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b if b in plain else 256 + others.index(b)) for b in range(256)]


def longer_pieces(letters, count):
    """(left, right) of `count` new pieces: every pair of letters, then pairs with a third."""
    pairs = itertools.product(letters, letters)
    triples = ((a + b, c) for a, b, c in itertools.product(letters, letters, letters))
    return list(itertools.islice(itertools.chain(pairs, triples), count))


def add_byte_level(writer, s):
    control = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    letters = byte_letters()
    merges = longer_pieces(letters, s["vocab"] - 256 - len(control))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(s["tokenizer"])
    writer.add_token_list(control + letters + [a + b for a, b in merges])
    writer.add_token_types([gguf.TokenType.CONTROL] * len(control) + [gguf.TokenType.NORMAL] * (s["vocab"] - len(control)))
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_bos_token(False)


def add_sentencepiece(writer, s):
    special = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    letters = ["\u2581"] + [chr(c) for c in range(33, 127)]
    pieces = letters + [a + b for a, b in longer_pieces(letters, s["vocab"] - len(special) - len(letters))]
    types = [gguf.TokenType.UNKNOWN] + [gguf.TokenType.CONTROL] * 2 + [gguf.TokenType.BYTE] * 256 + [gguf.TokenType.NORMAL] * len(pieces)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(special + pieces)
    writer.add_token_scores([0.0] * len(special) + [-float(i) for i in range(len(pieces))])
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("shape", choices=list(SHAPES))
    parser.add_argument("out")
    parser.add_argument("--type", default="q4_0", choices=[*(name.lower() for name in SCALES), "f16", "q4_k_m"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--layers", type=int, help="fewer or more layers than the model has")
    arguments = parser.parse_args()
    s = dict(SHAPES[arguments.shape])
    s["layers"], s["type"] = arguments.layers or s["layers"], arguments.type

    writer = gguf.GGUFWriter(arguments.out + ".part", s["arch"])
    writer.add_name(f"random weights shaped like {arguments.shape}")
    writer.add_file_type(getattr(gguf.LlamaFileType, f"MOSTLY_{arguments.type.upper()}", gguf.LlamaFileType.GUESSED))
    writer.add_quantization_version(gguf.GGML_QUANT_VERSION)
    writer.add_block_count(s["layers"])
    writer.add_context_length(s["context"])
    writer.add_embedding_length(s["hidden"])
    writer.add_feed_forward_length(s["ff"])
    writer.add_head_count(s["heads"])
    writer.add_head_count_kv(s["kv_heads"])
    writer.add_rope_freq_base(s["rope"])
    writer.add_rope_dimension_count(head_dim_of(s))
    if "head_dim" in s:
        writer.add_key_length(s["head_dim"])
        writer.add_value_length(s["head_dim"])
    writer.add_layer_norm_rms_eps(s["eps"])
    writer.add_vocab_size(s["vocab"])
    (add_sentencepiece if s["tokenizer"] == "spm" else add_byte_level)(writer, s)
    writer.add_chat_template(CHATML)
    for name, kind, shape, _ in tensors(s):
        stored = stored_shape(kind, shape)
        item = np.dtype({F32: np.float32, F16: np.float16}.get(kind, np.uint8))
        writer.add_tensor_info(name, stored, item, int(np.prod(stored)) * item.itemsize, kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    random, parameters = np.random.Generator(np.random.Philox(arguments.seed)), 0
    for name, kind, shape, size in tensors(s):
        writer.write_tensor_data(values(random, name, kind, shape, size))
        parameters += int(np.prod(shape))
    writer.close()
    os.replace(arguments.out + ".part", arguments.out)
    print(f"{arguments.out}: {parameters / 1e6:.1f} M parameters, {os.path.getsize(arguments.out):,} bytes")


if __name__ == "__main__":
    main()
