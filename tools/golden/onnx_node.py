"""The adapters of ONNX's node cases share this module: the node with its values, the reason why a case has no place, the table of ops."""
import base64

import numpy
import onnx
from onnx import helper, numpy_helper

OPS = {}            # ONNX op -> (file, function of a Node)


class Unmapped(Exception):
    pass


class Node:
    """A case of one node: its attributes, inputs by position (None where absent), outputs by position."""

    def __init__(self, case):
        proto, (ins, outs) = case.model.graph.node[0], case.data_sets[0]
        self.op, self.notes = proto.op_type, []
        self.attributes = {a.name: helper.get_attribute_value(a) for a in proto.attribute}
        self.ins, self.outs = self.named(proto.input, ins), self.named(proto.output, outs)
        self.out_names = [o.name for o in onnx.defs.get_schema(self.op).outputs]

    @staticmethod
    def named(names, values):
        rest = iter(values)
        return [as_array(next(rest)) if name else None for name in names]

    def attribute(self, name, default=None):
        value = self.attributes.get(name, default)
        if isinstance(value, bytes):
            return value.decode()
        return shortest(value) if isinstance(value, float) else value

    def input(self, index):
        return self.ins[index] if index < len(self.ins) else None

    def output(self, index):
        return self.outs[index] if index < len(self.outs) else None


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def shortest(value):
    """An f32 attribute as the shortest decimal that reads back to it."""
    return float(str(numpy.float32(value)))


def tensor(values, kind):
    values = numpy.asarray(values, dtype=numpy.float64)
    if kind == "f32" and not numpy.array_equal(values, values.astype(numpy.float32), equal_nan=True):
        raise Unmapped("a value is not exact in f32")
    return {"shape": list(values.shape), kind: base64.b64encode(values.astype("<" + kind[0] + str(int(kind[1:]) // 8)).tobytes()).decode()}


def op(file, *names):
    def register(function):
        for name in names:
            OPS[name] = (file, function)
        return function
    return register
