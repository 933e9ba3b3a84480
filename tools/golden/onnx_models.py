#!/usr/bin/env python3
"""What onnxruntime computes with the ONNX models of tools/data_manifest.tsv: tests/golden/onnx/models.json.

usage: onnx_models.py DATA OUT.json      (DATA: what tools/fetch_data.sh laid out; needs onnxruntime and numpy, whose versions the file states)

Inputs are a rule: element i is ((i * 7919) mod modulus) / divisor + offset, in f64, then of its type. Of an output the file holds the shape, and
at most 200 elements: those whose index is a multiple of `every`.
"""
import json
import pathlib
import sys

import numpy
import onnxruntime

SOUND = {"modulus": 1000, "divisor": 2000, "offset": -0.25}
IMAGE = {"modulus": 1000, "divisor": 500, "offset": -1}
ZERO = {"modulus": 1, "divisor": 1, "offset": 0}
STATE = {"modulus": 100, "divisor": 200, "offset": -0.25}


def constant(value):
    return {"modulus": 1, "divisor": 1, "offset": value}


def given(name, kind, shape, rule):
    return {"name": name, "type": kind, "shape": shape, **rule}


CASES = [
    ("onnx/magika_v3_3.onnx", [given("bytes", "int32", [2, 2048], {"modulus": 257, "divisor": 1, "offset": 0})]),
    ("onnx/ch_ppocr_mobile_v2.0_cls_infer.onnx", [given("x", "float32", [2, 3, 48, 192], IMAGE)]),
    ("onnx/ch_PP-OCRv4_det_infer.onnx", [given("x", "float32", [1, 3, 96, 160], IMAGE)]),
    ("onnx/ch_PP-OCRv4_rec_infer.onnx", [given("x", "float32", [1, 3, 48, 160], IMAGE)]),
    ("onnx/minilm_int8.onnx", [
        given("input_ids", "int64", [2, 12], {"modulus": 20000, "divisor": 1, "offset": 100}),
        given("attention_mask", "int64", [2, 12], constant(1)),
        given("token_type_ids", "int64", [2, 12], ZERO)]),
    ("vad/silero_vad.onnx", [
        given("input", "float32", [1, 576], SOUND), given("state", "float32", [2, 1, 128], STATE), given("sr", "int64", [], constant(16000))]),
    ("vad/silero_vad.onnx", [
        given("input", "float32", [3, 288], SOUND), given("state", "float32", [2, 3, 128], ZERO), given("sr", "int64", [], constant(8000))]),
    ("vad/silero_vad_op18_ifless.onnx", [
        given("input", "float32", [1, 576], SOUND), given("state", "float32", [2, 1, 128], STATE), given("sr", "int64", [], constant(16000))]),
    ("vad/silero_vad_half.onnx", [given("input", "float32", [1, 576], SOUND), given("state", "float32", [2, 1, 128], STATE)]),
    ("vad/silero_vad_16k_sequence.onnx", [
        given("input", "float32", [5, 576], SOUND), given("h", "float32", [1, 1, 128], STATE), given("c", "float32", [1, 1, 128], ZERO)]),
]


def values(info):
    n = int(numpy.prod(info["shape"], dtype=numpy.int64))
    i = numpy.arange(n, dtype=numpy.int64)
    x = (i * 7919 % info["modulus"]).astype(numpy.float64) / info["divisor"] + info["offset"]
    return x.astype(info["type"]).reshape(info["shape"])


def main():
    data, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    cases = []
    for model, infos in CASES:
        session = onnxruntime.InferenceSession(str(data / model), providers=["CPUExecutionProvider"])
        results = session.run(None, {info["name"]: values(info) for info in infos})
        outputs = []
        for meta, result in zip(session.get_outputs(), results):
            flat = result.astype(numpy.float64).ravel()
            every = max(1, -(-flat.size // 200))
            outputs.append({"name": meta.name, "shape": list(result.shape), "every": every, "values": [float("%.9g" % v) for v in flat[::every]]})
        cases.append({"model": model, "inputs": infos, "outputs": outputs})
    head = {"made_by": "tools/golden/onnx_models.py", "versions": {"onnxruntime": onnxruntime.__version__, "numpy": numpy.__version__}}
    out.write_text(json.dumps({**head, "cases": cases}, separators=(",", ":")) + "\n")


main()
