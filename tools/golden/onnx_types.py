"""ONNX's casts and quantisations as cases of Loom's number types (engine 4.1): tests/golden/onnx/types.json, written by onnx_cases.py.

A case with "to" encodes: x are numbers, y the numbers that the codes stand for (before the scale). A case with "dtype" decodes: x are codes
(integers as numbers, floats as their bits), y numbers. "scale" and "zero_point" hold one value, or one per index of "axis".
The encoders promise nothing for values of x that are not finite (D-05).
"""
import numpy
from onnx import TensorProto

from onnx_node import Unmapped, tensor

OPS = ("Cast", "QuantizeLinear", "DequantizeLinear")
# (Loom's name, bits); for integers also the codes that Loom's encoder emits.
TYPES = {TensorProto.INT2: ("int2", 2, -2, 1), TensorProto.UINT2: ("uint2", 2, 0, 3), TensorProto.FLOAT4E2M1: ("fp4", 4),
         TensorProto.INT4: ("int4", 4, -7, 7), TensorProto.UINT4: ("uint4", 4, 0, 15), TensorProto.FLOAT8E4M3FN: ("fp8e4m3", 8),
         TensorProto.FLOAT8E5M2: ("fp8e5m2", 8), TensorProto.INT8: ("int8", 8, -127, 127), TensorProto.UINT8: ("uint8", 8, 0, 255),
         TensorProto.FLOAT16: ("float16", 16), TensorProto.BFLOAT16: ("bfloat16", 16), TensorProto.INT16: ("int16", 16, -32767, 32767),
         TensorProto.UINT16: ("uint16", 16, 0, 65535), TensorProto.FLOAT: ("float32", 32), TensorProto.DOUBLE: ("float64", 64)}


def type_case(n, case):
    types = [value.type.tensor_type.elem_type for value in (case.model.graph.input[0], case.model.graph.output[0])]
    for unknown in (t for t in types if t not in TYPES):
        raise Unmapped(f"{TensorProto.DataType.Name(unknown)} is no Loom type")
    source, target = (TYPES[t] for t in types)
    encodes = target[1] < source[1]
    name, bits, *codes = target if encodes else source
    if bits == 32:
        raise Unmapped("no narrow type")
    if n.attribute("block_size"):
        raise Unmapped("blocks of 2: groups have 32, 64 or 128 elements")
    x, y = n.ins[0], n.outs[0]
    scale, zero = (None, None) if n.op == "Cast" else (n.input(1), n.input(2))
    if zero is not None and zero.astype(float).any() and name.startswith("int"):
        raise Unmapped(f"{name} has no zero point")
    axis = n.attribute("axis", 1)
    if encodes:
        check_encoder(n, name, codes, axis)
    elif not codes:
        x = x.view(numpy.uint8 if bits <= 8 else numpy.uint16)
    out = {"name": case.name, "op": n.op, "to" if encodes else "dtype": name, "x": tensor(x, "f32")}
    if scale is not None:
        out["scale"] = tensor(scale, "f32")
        if zero is not None:
            out["zero_point"] = tensor(zero.reshape(scale.shape), "f32")
        if scale.ndim:
            out["axis"] = axis
    out["y"] = tensor(y, "f32")
    return out


def check_encoder(n, name, codes, axis):
    """Unmapped where Loom's encoders differ from ONNX's by design."""
    if not n.attribute("saturate", 1):
        raise Unmapped("overflow beyond the largest value: Loom's encoders saturate")
    if not codes:
        return
    x, scale, zero = n.ins[0], *((numpy.float32(1), None) if n.op == "Cast" else (n.ins[1], n.input(2)))
    shape = [-1 if scale.ndim and a == axis else 1 for a in range(x.ndim)]
    quotient = numpy.rint(x / scale.reshape(shape)) + (0 if zero is None else zero.astype(int).reshape(shape))
    if not numpy.array_equal(numpy.clip(quotient, *codes), n.outs[0].astype(float)):
        emitted = f"{name} is clamped to {codes[0]}..{codes[1]}"
        raise Unmapped(f"{emitted}, ONNX's Cast wraps" if n.op == "Cast" else emitted)
