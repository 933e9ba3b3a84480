#!/usr/bin/env python3
"""ONNX's own node cases (onnx.backend.test.case.node) as goldens of Loom's layers, forward only: tests/golden/onnx.

usage: onnx_cases.py OUT_DIR        (needs onnx and numpy; every file states their versions)

Each function of onnx_layers.py and onnx_sequence.py turns one node into the spec of one layer, its weights, x and y; what the spec cannot say
raises Unmapped with the reason, and unmapped.tsv keeps it. Tensors may be viewed in another order or shape (Softmax over axis 0 becomes rows);
no value is computed but sums of two biases and products with a constant factor, in f32. Cases named "..._expanded" hold the same values again
and are passed over. Expected values are ONNX's, computed in f32. A file's "notes" say which outputs of a case are left out, which cases are cut
down, and how. types.json: see onnx_types.py.
"""
import collections
import json
import pathlib
import sys
import warnings

import numpy
import onnx
from onnx.backend.test.case.node import collect_testcases

import onnx_layers      # noqa: F401  fills OPS
import onnx_sequence    # noqa: F401
import onnx_types
from onnx_node import OPS, Node, Unmapped, tensor

LIMIT = 60_000      # bytes of one case in JSON
ROUNDED = {"test_averagepool_2d_ceil_last_window_starts_on_pad": ["ONNX gives y with four decimals"]}
KINDS = {"x": "f32", "external": "f32", "state": "f32", "mask": "f32", "weights": "f32", "y": "f64", "y_state": "f64", "after": "f64"}


def stored(name, case):
    out = {"name": name, "layer": case["layer"], "training": case.get("training", False)}
    if "lengths" in case:
        out["lengths"] = case["lengths"]
    for key, kind in KINDS.items():
        value = case.get(key, {} if key == "weights" else None)
        if isinstance(value, dict) and (value or key == "weights"):
            out[key] = {inner: tensor(v, kind) for inner, v in value.items()}
        elif value is not None and not isinstance(value, dict):
            out[key] = tensor(value, kind)
    return out


def layer_case(case):
    """(file, case in JSON's terms, notes)."""
    file, function = OPS[case.model.graph.node[0].op_type]
    n = Node(case)
    for value in n.ins:
        if getattr(value, "dtype", None) is not None and value.dtype.name in ("float16", "bfloat16"):
            raise Unmapped(f"{value.dtype.name} arithmetic")
    result = function(n)
    dropped = [n.out_names[i] for i, value in enumerate(n.outs) if i and value is not None]
    notes = n.notes + ([f"not compared: {', '.join(dropped)}"] if dropped else []) + ROUNDED.get(case.name, [])
    out = stored(case.name, result)
    size = len(json.dumps(out))
    if size > LIMIT:
        raise Unmapped(f"{size // 1000} KB, above {LIMIT // 1000} KB")
    return result.get("file", file), out, notes


def write(path, head, cases):
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    path.write_text(json.dumps(head, separators=(",", ":"))[:-1] + ',"cases":[\n' + lines + "\n]}\n", encoding="utf-8", newline="\n")
    print(f"{path}: {len(cases)} cases, {path.stat().st_size} bytes")


def main():
    warnings.simplefilter("ignore")
    out = pathlib.Path(sys.argv[1])
    files, notes, unmapped = collections.defaultdict(list), collections.defaultdict(dict), []
    for case in collect_testcases():
        nodes = case.model.graph.node
        if len(nodes) != 1 or case.name.endswith("_expanded"):
            continue
        try:
            if nodes[0].op_type in OPS:
                file, result, remarks = layer_case(case)
            elif nodes[0].op_type in onnx_types.OPS:
                file, result, remarks = "types", onnx_types.type_case(Node(case), case), []
            else:
                continue
        except Unmapped as reason:
            unmapped.append(f"{case.name}\t{reason}\n")
            continue
        files[file].append(result)
        if remarks:
            notes[file][case.name] = "; ".join(remarks)
    for file, cases in files.items():
        head = {"made_by": "tools/golden/onnx_cases.py", "versions": {"onnx": onnx.__version__, "numpy": numpy.__version__}}
        write(out / f"{file}.json", {**head, **({"notes": notes[file]} if notes[file] else {})}, cases)
    (out / "unmapped.tsv").write_text("".join(unmapped), encoding="utf-8", newline="\n")
    print(f"{len(unmapped)} unmapped")


if __name__ == "__main__":
    main()
