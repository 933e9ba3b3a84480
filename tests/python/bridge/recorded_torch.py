"""Stands for PyTorch where there is none: plays the traces that tools/golden/torch_graphs.py recorded, so that the
reader of welvet.bridge runs on them. It computes nothing: every operation gives what PyTorch gave."""

import contextlib
import operator
import sys
import types

import numpy

FUNCTIONS = {f.__name__: f for f in (operator.getitem, operator.add, operator.mul, operator.sub, operator.truediv)}


class DType(str):
    """The name of a type."""


class Tensor:
    """A NumPy array with the methods of a tensor that the reader asks for."""

    def __init__(self, array, learns=False):
        self.array, self.requires_grad, self._backward_hooks = array, learns, None

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: DType(f"torch.{self.array.dtype}"))
    T = property(lambda self: Tensor(self.array.T))

    def stride(self):
        return tuple(n // self.array.itemsize for n in self.array.strides)

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def untyped_storage(self):
        base = self.array
        while isinstance(base.base, numpy.ndarray):
            base = base.base
        return Tensor(base)

    def detach(self):
        return self

    cpu = float = detach

    def clone(self):
        return Tensor(self.array.copy())

    def to(self, dtype):
        return Tensor(self.array.astype(dtype.rpartition(".")[2]))

    def numpy(self):
        return self.array

    def is_floating_point(self):
        return self.array.dtype.kind == "f"

    def is_complex(self):
        return False

    def is_contiguous(self):
        return self.array.flags.c_contiguous

    def numel(self):
        return self.array.size

    def dim(self):
        return self.array.ndim

    def item(self):
        return self.array.item()

    def flatten(self):
        return Tensor(self.array.reshape(-1))

    def __getitem__(self, index):
        return Tensor(self.array[index])

    def __eq__(self, other):
        return Tensor(self.array == getattr(other, "array", other))

    __hash__ = None

    def __ne__(self, other):
        return Tensor(self.array != getattr(other, "array", other))

    def all(self):
        return Tensor(self.array.all())

    def any(self):
        return Tensor(self.array.any())

    def __bool__(self):
        return bool(self.array)

    def copy_(self, other):
        self.array[...] = other.array


class Module:
    """A recorded module."""

    def __init__(self, *parts):
        self._modules = {str(i): part for i, part in enumerate(parts)}
        self._parameters, self.training = {}, False
        self._forward_hooks, self._forward_pre_hooks, self._backward_hooks = {}, {}, {}

    def __setattr__(self, name, value):
        if isinstance(value, Module):
            self._modules[name] = value
        object.__setattr__(self, name, value)

    def named_modules(self, path=""):
        yield path, self
        for name, part in self._modules.items():
            yield from part.named_modules(f"{path}.{name}" if path else name)

    def named_parameters(self, recurse=True, remove_duplicate=True):
        for path, module in self.named_modules():
            if recurse or module is self:
                yield from (
                    (f"{path}.{name}" if path else name, t) for name, t in module._parameters.items() if t is not None
                )

    def named_buffers(self, remove_duplicate=True):
        return []

    def parameters(self, recurse=True):
        return (tensor for _, tensor in self.named_parameters(recurse))

    def get_submodule(self, path):
        found = self
        for name in path.split("."):
            found = found._modules[name]
        return found

    def eval(self):
        return self

    def forward(self, x):
        raise AssertionError("only __call__ is recorded")

    def __call__(self, *tensors):
        assert all(isinstance(t, Tensor) for t in tensors), tensors
        return self.recording.values


class Sequential(Module):
    pass


class Node:
    """An operation of a trace."""

    def __init__(self, graph, about):
        self.graph, self.name, self.op = graph, about["name"], about["op"]
        self.about = about

    def fill(self, recording):
        self.args, self.kwargs = recording.value(self.about["args"]), recording.value(self.about["kwargs"])
        self.recorded, target = recording.value(self.about["value"]), self.about["target"]
        if isinstance(target, dict) and "packet" in target:
            named = types.SimpleNamespace(__name__=target["packet"])
            target = types.SimpleNamespace(overloadpacket=named, __name__=target["packet"])
        elif isinstance(target, dict):
            target = FUNCTIONS.get(target["function"]) or types.SimpleNamespace(__name__=target["function"])
        self.target = target

    @property
    def all_input_nodes(self):
        found = []
        map_aggregate((self.args, self.kwargs), lambda a: found.append(a) if isinstance(a, Node) else None)
        return found


def map_aggregate(argument, function):
    if isinstance(argument, (tuple, list)):
        return tuple(map_aggregate(a, function) for a in argument)
    if isinstance(argument, dict):
        return {name: map_aggregate(a, function) for name, a in argument.items()}
    return function(argument)


class Recording:
    """A recorded model: its modules and its trace."""

    def __init__(self, about, arrays):
        self.tensors, self._arrays, self.nodes = {}, arrays, {}
        self.model = self.module(about["model"])
        self.model.recording = self
        graph = types.SimpleNamespace(process_outputs=lambda answer: answer)
        self.nodes = {n["name"]: Node(graph, n) for n in about["nodes"]}
        for node in self.nodes.values():
            node.fill(self)
        output = types.SimpleNamespace(op="output", args=(self.value(about["answer"]),), target="output", kwargs={})
        output.all_input_nodes = []
        graph.nodes = [*self.nodes.values(), output]
        self.graph, self.values, self.is_exported = graph, self.value(about["values"]), about["is_exported"]
        self.held = {place: self.value(value) for place, value in about["held"].items()}

    def value(self, about):
        if not isinstance(about, dict):
            return about
        kind, given = next(iter(about.items()))
        if kind == "tensor":
            if given not in self.tensors:
                self.tensors[given] = Tensor(numpy.array(self._arrays[given]), about["learns"])
            return self.tensors[given]
        if kind == "slice":
            return slice(*map(self.value, given))
        if kind == "dict":
            return {name: self.value(v) for name, v in given.items()}
        return {
            "node": lambda: self.nodes[given],
            "tuple": lambda: tuple(map(self.value, given)),
            "ellipsis": lambda: Ellipsis,
            "other": lambda: types.SimpleNamespace(name=given),
        }[kind]()

    def module(self, about):
        cls = type(
            about["class"], (Sequential if about["class"] == "Sequential" else Module,), {"__module__": about["module"]}
        )
        made = cls()
        for name, value in about["settings"].items():
            setattr(made, name, self.value(value))
        for name, value in about["tensors"].items():
            made._parameters[name] = self.value(value)
            setattr(made, name, made._parameters[name])
        for name, part in about["parts"].items():
            setattr(made, name, self.module(part))
        return made

    def traced(self):
        """The trace as a module."""
        made = Module()
        made.model, made.graph, made.recording = self.model, self.graph, self
        made._guards_fn = Module()  # the checks of torch.export
        for place, tensor in self.held.items():
            if "." not in place:
                setattr(made, place, tensor)
        return made


class Interpreter:
    def __init__(self, module):
        self.module = module

    def run(self, *tensors):
        """Runs through the recorded nodes; the inputs have to be tensors."""
        for tensor in tensors:
            tensor.stride()  # what is no tensor has none
        for node in self.module.recording.nodes.values():
            self.run_node(node)
        return self.module.recording.values

    def run_node(self, node):
        return node.recorded


class Tracer:
    def trace(self, root):
        if root.model.recording.is_exported:
            raise TypeError("it cannot be traced")
        return root.model.recording


def exported(model, tensors):
    assert all(isinstance(t, Tensor) for t in tensors), tensors
    return types.SimpleNamespace(module=model.recording.traced, state_dict=model.recording.held, constants={})


@contextlib.contextmanager
def installed():
    """While it lasts, `import torch` gives this."""
    fx = types.SimpleNamespace(
        Node=Node,
        Tracer=Tracer,
        Proxy=object,
        Interpreter=Interpreter,
        GraphModule=lambda root, recording: recording.traced(),
        node=types.SimpleNamespace(map_aggregate=map_aggregate, map_arg=map_aggregate),
    )
    torch = types.ModuleType("torch")
    for name, value in {
        "Tensor": Tensor,
        "fx": fx,
        "no_grad": contextlib.nullcontext,
        "bool": DType("torch.bool"),
        "is_tensor": lambda v: isinstance(v, Tensor),
        "from_numpy": lambda a: Tensor(a),
        "nn": types.SimpleNamespace(Module=Module, Sequential=Sequential, ModuleList=Sequential, ModuleDict=Sequential),
        "jit": types.SimpleNamespace(ScriptModule=Interpreter),
        "export": types.SimpleNamespace(export=exported),
    }.items():
        setattr(torch, name, value)
    before = sys.modules.get("torch")
    sys.modules["torch"] = torch
    from welvet.bridge import torch_trace

    torch_trace._classes.cache_clear()
    try:
        yield
    finally:
        torch_trace._classes.cache_clear()
        del sys.modules["torch"]
        if before is not None:
            sys.modules["torch"] = before
