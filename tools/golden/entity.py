#!/usr/bin/env python3
"""Writes tests/golden/small.entity from the specification of the format alone (engine 4.2 and 10.4), with Python 3.11's hashlib and json.

entity_test builds the same contents with Loom's writer and asks for the same bytes.
"""
import hashlib
import json
import pathlib
import struct

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests/golden"


def pack(rows, bits, fill):
    """D-10: code i of a row at bit i * bits, rows filled up to 32 codes."""
    out = b""
    for row, filler in zip(rows, fill):
        row = row + [filler] * (-len(row) % 32)
        number = sum((code & ((1 << bits) - 1)) << (i * bits) for i, code in enumerate(row))
        out += number.to_bytes(len(row) * bits // 8, "little")
    return out


def f32(*values):
    return struct.pack(f"<{len(values)}f", *values)


def bits_of(values):
    return [struct.unpack("<I", struct.pack("<f", v))[0] for v in values]


def tensors():
    """path, weight, role, dtype, shape, granularity, group size, codes, scales (dtype, bytes), zeros (dtype, bytes)"""
    int4 = [[(7 * (40 * r + c)) % 15 - 7 for c in range(40)] for r in range(2)]
    uint8 = [[(50 * r + c) % 256 for c in range(3)] for r in range(3)]
    ternary = [[(r + c) % 3 - 1 for c in range(5)] for r in range(2)]
    binary = [[(c * c + r) % 3 % 2 for c in range(33)] for r in range(2)]
    int32 = [[1000003 * (c + 1) * (-1) ** c for c in range(2)]]
    return [
        ("layers.0", "W", "active", "int4", [2, 40], "group", 32, pack(int4, 4, [0, 0]), ("float32", f32(0.5, 0.25, -0.125, 1)), None),
        ("layers.0", "W", "master", "float32", [2, 2], None, None, pack([bits_of([1, -2]), bits_of([0.1, 3e9])], 32, [0, 0]), None, None),
        ("layers.0", "b", "active", "float32", [3], None, None, pack([bits_of([0.5, -0.5, 7])], 32, [0]), None, None),
        ("layers.1", "W", "active", "uint8", [3, 3], "row", None, pack(uint8, 8, [3, 128, 255]), ("float32", f32(1, 2, 0.5)), ("uint8", bytes([3, 128, 255]))),
        ("layers.10", "W", "active", "ternary", [2, 5], "tensor", None, pack([[c + 1 for c in row] for row in ternary], 2, [1, 1]), ("float32", f32(0.75)), None),
        ("layers.2", "W", "active", "binary", [2, 33], "row", None, pack(binary, 1, [0, 0]), ("float32", f32(0.5, 0)), None),
        ("layers.2", "\u00fc\"", "feedback", "int32", [2], "tensor", None, pack(int32, 32, [0]), ("float64", struct.pack("<d", 0.1)), None),
    ]


def blobs():
    table, weights = [], b""

    def place(data):
        nonlocal weights
        weights += b"\0" * (-len(weights) % 64)
        at = {"offset": len(weights), "length": len(data)}
        weights += data
        return at

    for path, weight, role, dtype, shape, granularity, group, codes, scales, zeros in tensors():
        entry = {"path": path, "weight": weight, "role": role, "dtype": dtype, "shape": shape, **place(codes)}
        if granularity:
            entry["granularity"] = granularity
        if group:
            entry["group_size"] = group
        if scales:
            entry["scales"] = {"dtype": scales[0], **place(scales[1])}
        if zeros:
            entry["zeros"] = {"dtype": zeros[0], **place(zeros[1])}
        table.append(entry)
    return json.dumps(table, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode(), weights


def main():
    table, weights = blobs()
    sections = [("metadata", 0, 0, b'{"name":"small"}'), ("network", 0, 1, b'{"cols":1,"depth":1}'), ("signatur", 0, 0, b"\x07" * 70),
                ("tensors", 0, 0, table), ("weights", 0, 0, weights), ("x-other", 2, 0, b""), ("x-other", 7, 4, b"kept")]
    end = 64 + 64 * len(sections)
    entries, hashed, data = b"", b"", b""
    for kind, index, flags, body in sections:
        offset = -(-end // (4096 if kind == "weights" else 64)) * (4096 if kind == "weights" else 64)
        data += b"\0" * (offset - end) + body
        head = kind.encode().ljust(8, b"\0") + struct.pack("<IIQQ", index, flags, offset, len(body))
        digest = hashlib.sha256(body).digest()
        entries += head + digest
        hashed += head + (bytes(32) if kind == "signatur" else digest)
        end = offset + len(body)
    head = b"ENTITY\0\0" + struct.pack("<HHIQII", 2, 1, 1, end, len(sections), 0)
    root = hashlib.sha256(head + hashed).digest()
    (GOLDEN / "small.entity").write_bytes(head + root + entries + data)


main()
