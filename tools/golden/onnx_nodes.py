#!/usr/bin/env python3
"""ONNX's own node cases (onnx.backend.test.case.node) whole, models and tensors, as one file: tests/golden/onnx/nodes.bin and nodes.tsv.

usage: onnx_nodes.py OUT.bin [REPORT OUT.tsv]      (needs onnx, numpy; the file states their versions)

Without a report all cases of tensors are written, for a test to try: LOOM_ONNX_CASES=OUT.bin LOOM_ONNX_REPORT=REPORT io_test
--gtest_filter='OnnxNodeCases.*' writes one line "pass NAME" or "fail NAME reason" for each. With that report OUT.bin holds the cases that
pass, the small ones first, up to LIMIT bytes, and OUT.tsv one line per operation: how many of its cases pass, and why the others do not.
Cases named "..._expanded" hold the same values again and are passed over.
"""
import collections
import io
import json
import pathlib
import struct
import sys
import warnings

import numpy
import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.node import collect_testcases

LIMIT = 2_600_000
BIG = 400_000     # bytes of one case


def tensor(value, info):
    if isinstance(value, TensorProto):
        return value.SerializeToString(deterministic=True)
    if not info.type.HasField("tensor_type") or value is None:
        raise TypeError("no tensor")
    return numpy_helper.from_array(value, info.name).SerializeToString(deterministic=True)


def packed(data):
    return struct.pack("<I", len(data)) + data


def record(case):
    out = io.BytesIO()
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    out.write(packed(case.name.encode()))
    out.write(struct.pack("<dd", case.rtol or 1e-3, case.atol or 1e-7))
    out.write(packed(model.SerializeToString(deterministic=True)))
    for values, infos in ((inputs, model.graph.input), (outputs, model.graph.output)):
        out.write(struct.pack("<I", len(values)))
        for value, info in zip(values, infos):
            out.write(packed(tensor(value, info)))
    return out.getvalue()


def operation(case):
    return case.name, "+".join(sorted({n.op_type for n in case.model.graph.node}))


def main():
    warnings.simplefilter("ignore")
    cases, unwritten = {}, {}
    for case in collect_testcases():
        if "_expanded" in case.name:
            continue
        try:
            data = record(case)
            if len(data) > BIG:
                raise ValueError("larger than %d bytes" % BIG)
            cases[case.name] = (operation(case)[1], data)
        except (TypeError, ValueError) as error:
            unwritten[case.name] = (operation(case)[1], str(error) if isinstance(error, ValueError) else "sequences, maps or texts")
    head = json.dumps({"made_by": "tools/golden/onnx_nodes.py", "versions": {"onnx": onnx.__version__, "numpy": numpy.__version__}})
    chosen = [data for _, data in cases.values()]
    if len(sys.argv) > 2:
        result = {}
        for line in pathlib.Path(sys.argv[2]).read_text().splitlines():
            how, name, *rest = line.split(" ", 2)
            result[name] = (how == "pass", rest[0] if rest else "")
        chosen, size, kept = [], 0, set()
        for name in sorted((n for n in cases if result[n][0]), key=lambda n: (len(cases[n][1]), n)):
            size += len(cases[name][1])
            if size > LIMIT:
                break
            chosen.append(cases[name][1])
            kept.add(name)
        table = collections.defaultdict(lambda: [0, 0, 0, set()])
        for name, (op, _) in cases.items():
            row = table[op]
            row[0] += 1
            row[1] += result[name][0]
            row[2] += name in kept
            if not result[name][0]:
                row[3].add(result[name][1])
        for op, why in unwritten.values():
            table[op][0] += 1
            table[op][3].add(why)
        lines = ["# " + head, "operation\tcases\tpass\tin nodes.bin\twhy the others do not"]
        for op in sorted(table):
            total, passed, held, why = table[op]
            lines.append("%s\t%d\t%d\t%d\t%s" % (op, total, passed, held, "; ".join(sorted(why))))
        pathlib.Path(sys.argv[3]).write_text("\n".join(lines) + "\n")
        print("%d of %d cases pass, %d are kept" % (sum(r[1] for r in table.values()), sum(r[0] for r in table.values()), len(kept)))
    pathlib.Path(sys.argv[1]).write_bytes(packed(head.encode()) + b"".join(chosen))


main()
