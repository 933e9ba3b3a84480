#!/usr/bin/env python3
"""Files of other people's making, and their verdict on ours. gguf 0.19.0, safetensors 0.8.0, numpy 2.4.6.

make             writes tests/golden/reference.gguf and reference.safetensors with those packages.
check FOLDER     reads written.gguf and written.safetensors, which io_test leaves in its build folder, with those packages, compares
                 every name, type, shape, byte and value, and records their SHA-256 in tests/golden/io.json, which io_test demands.
"""
import hashlib
import json
import pathlib
import sys

import gguf
import numpy as np
import safetensors
import safetensors.numpy

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"
# Loom's types in enumerator order; the index seeds the bytes.
DTYPES = ("float64 float32 float16 bfloat16 fp8e4m3 fp8e5m2 int64 int32 int16 int8 uint64 uint32 uint16 uint8 int4 uint4 fp4 int2 uint2 "
          "ternary binary q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k tq1_0 tq2_0 mxfp4").split()
GGUF_WRITTEN = ("float32 float16 bfloat16 q8_0 q4_0 q4_1 q5_0 q5_1 q2_k q3_k q4_k q5_k q6_k tq1_0 tq2_0 mxfp4 int8 int16 int32 int64 float64").split()
GGUF_NAMES = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "float64": "F64"}
ST_WRITTEN = [("F64", 8), ("F32", 4), ("F16", 2), ("BF16", 2), ("F8_E4M3", 1), ("F8_E5M2", 1), ("I64", 8), ("I32", 4), ("I16", 2), ("I8", 1),
              ("U64", 8), ("U32", 4), ("U16", 2), ("U8", 1), ("BOOL", 1)]
METADATA = {
    "general.architecture": "llama", "test.u8": 200, "test.i8": -100, "test.u16": 60000, "test.i16": -30000, "test.u32": 4000000000,
    "test.i32": -2000000000, "test.f32": 1.5, "test.bool": True, "test.string": "Grüße", "test.u64": 1 << 63, "test.i64": -(1 << 62),
    "test.f64": 0.1, "test.ints": [1, -2, 3], "test.floats": [0.5, -0.25], "test.bools": [True, False, True], "test.strings": ["a", "", "\U0001f9f5"],
}


def random_bytes(seed, n):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(56)).astype(np.uint8)


def make():
    w = gguf.GGUFWriter(GOLDEN / "reference.gguf", "llama")
    w.add_custom_alignment(64)
    w.add_block_count(2)
    w.add_token_list(["x", "yy", ""])
    w.add_tensor("a.weight", np.arange(6, dtype=np.float32).reshape(2, 3) - np.float32(2.5))
    w.add_tensor("b.weight", gguf.quants.quantize(np.linspace(-1, 1, 64, dtype=np.float32).reshape(1, 64), gguf.GGMLQuantizationType.Q8_0),
                 raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    safetensors.numpy.save_file({
        "a": np.arange(6, dtype=np.float32).reshape(2, 3) - np.float32(2.5), "b.\u00e4\"\\": np.array([1, -2], np.int64), "flag": np.array([True, False, True]),
        "half": np.array(0.5, np.float16), "none": np.zeros((0, 4), np.uint8)}, GOLDEN / "reference.safetensors", metadata={"format": "pt", "k": "v"})


def check_gguf(path):
    r = gguf.GGUFReader(path)
    for key, want in METADATA.items():
        assert r.fields[key].contents() == want, (key, r.fields[key].contents())
    assert [k for k in r.fields if not k.startswith("GGUF.")] == list(METADATA)
    assert len(r.tensors) == len(GGUF_WRITTEN)
    for t, name in zip(r.tensors, GGUF_WRITTEN):
        kind = gguf.GGMLQuantizationType[GGUF_NAMES.get(name, name.upper())]
        block, size = gguf.GGML_QUANT_SIZES[kind]
        assert t.name == "t." + name and t.tensor_type == kind and t.shape.tolist() == [2 * block, 3, 2], t
        assert (np.asarray(t.data).view(np.uint8).ravel() == random_bytes(DTYPES.index(name), 12 * size)).all(), t.name


def check_safetensors(path):
    got = dict(safetensors.deserialize(path.read_bytes()))
    assert list(sorted(got)) == [f"t{i:02}" for i in range(50)]
    for i in range(50):
        kind, size = ST_WRITTEN[i % len(ST_WRITTEN)]
        shape = [i % 4 + 1, i % 7 + 1]
        want = random_bytes(i, shape[0] * shape[1] * size)
        want = want & 1 if kind == "BOOL" else want
        t = got[f"t{i:02}"]
        assert t["dtype"] == kind and list(t["shape"]) == shape and bytes(t["data"]) == want.tobytes(), (i, t)
    with safetensors.safe_open(path, "np") as f:
        assert f.metadata() == {"a": "1", "note": "\u00fc\n"}


def main():
    if sys.argv[1:] == ["make"]:
        return make()
    folder = pathlib.Path(sys.argv[2])
    check_gguf(folder / "written.gguf")
    check_safetensors(folder / "written.safetensors")
    digests = {n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in ["written.gguf", "written.safetensors"]}
    (GOLDEN / "io.json").write_text(json.dumps(digests, indent=1) + "\n")


main()
