"""PyTorch: a module is traced by torch.fx, and by torch.export where it branches on its input; layers of torch.nn are
read as they are."""

import sys

import numpy

from . import torch_functions, torch_modules
from .graph import Graph
from .weights import Parameter


SEVERAL_INPUTS = True


def is_model(model):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


class Constant:
    """A tensor of the trace that does not depend on the input."""

    def __init__(self, value, parameter=None):
        self.value, self.parameter = value, parameter


class Reader:
    """One reading: the graph, and what each node of the trace became: a node of the graph, a Constant, or a plain
    value."""

    def __init__(self, model, sample):
        import torch

        self.torch = torch
        self.model = model
        self.graph = Graph("torch", sample)
        self.graph.model = model
        self.found = {}
        self.values = {}
        self.names = {
            id(p): name
            for name, p in [
                *model.named_parameters(remove_duplicate=False),
                *model.named_buffers(remove_duplicate=False),
            ]
        }
        self.modules = dict(model.named_modules())

    def parameter(self, tensor):
        """A tensor of the model as a parameter, known by its memory, so that tied tensors are one."""
        torch = self.torch

        def write(array):
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(numpy.array(array)).to(tensor.dtype))

        return Parameter(
            (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()),
            lambda: as_array(tensor),
            write,
            self.names.get(id(tensor), "a tensor"),
        )

    def of(self, argument):
        """What the arguments of a call became, in the same tuples, lists and dicts."""
        return self.torch.fx.node.map_aggregate(
            argument, lambda a: self.found[a] if isinstance(a, self.torch.fx.Node) else a
        )


def as_array(tensor):
    """The values without a copy where NumPy has the type."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor).numpy()


def read(model, sample):
    import torch

    floats = [p for p in model.parameters() if p.is_floating_point()]
    tensors = []
    for part in getattr(sample, "parts", [sample]):
        tensor = torch.from_numpy(part if part.flags.writeable else part.copy())
        tensors.append(tensor.to(floats[0].dtype) if tensor.is_floating_point() and floats else tensor)
    was = {name: m.training for name, m in model.named_modules()}
    model.eval()
    try:
        with torch.no_grad():
            return _read(Reader(model, sample), tensors)
    finally:
        for name, m in model.named_modules():
            m.training = was[name]


def _read(reader, tensors):
    import torch
    from torch import fx

    model = reader.model
    if torch_modules.reader_of(model) is not None:
        model = reader.model = torch.nn.Sequential(model)  # a layer alone
        reader.modules = dict(model.named_modules())
    try:
        traced = fx.GraphModule(model, fx.Tracer().trace(model))
    except (fx.proxy.TraceError, TypeError, RuntimeError) as error:
        return _export(reader, tensors, error)

    inputs = [n for n in traced.graph.nodes if n.op == "placeholder" and not n.args]
    if len(inputs) != len(tensors):
        names = ", ".join(n.name for n in inputs)
        reader.graph.refuse("", type(model).__name__, f"it takes {len(inputs)} inputs ({names}), {len(tensors)} "
                            f"{'is' if len(tensors) == 1 else 'are'} given: several are a tuple")
        return reader.graph

    class Run(fx.Interpreter):
        def run_node(self, n):
            reader.values[n] = super().run_node(n)
            _node(reader, traced, n)
            return reader.values[n]

    Run(traced).run(*tensors)
    _note_unused(reader, traced)
    return reader.graph


def _export(reader, tensors, error):
    """The operations of a model that branches, as they run for this sample."""
    import torch
    from torch import fx

    try:
        program = torch.export.export(reader.model, tuple(tensors))
    except Exception as second:  # noqa: BLE001, whatever it could not trace
        what = type(reader.model).__name__
        reader.graph.refuse("", what, f"torch.fx cannot trace it ({_line(error)}), nor torch.export ({_line(second)})")
        return reader.graph
    traced = program.module()
    tensors = {**program.state_dict, **program.constants}
    named = dict(reader.model.named_parameters(remove_duplicate=False)) | dict(
        reader.model.named_buffers(remove_duplicate=False)
    )

    class Run(fx.Interpreter):
        def run_node(self, n):
            value = reader.values[n] = super().run_node(n)
            if n.op == "get_attr" and n.target in tensors:
                live = named.get(n.target, tensors[n.target])
                reader.found[n] = Constant(live, reader.parameter(live))
            else:
                _node(reader, traced, n)
            return value

    Run(traced).run(*tensors)
    return reader.graph


def _line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _node(reader, traced, n):
    """One node of the trace: its reading goes to reader.found."""
    value = reader.values[n]
    if n.op == "placeholder":
        place = sum(m.op == "placeholder" for m in _before(n))
        given = reader.graph.inputs[place] if place < len(reader.graph.inputs) else None
        reader.found[n] = given if given is not None else n.args[0] if n.args else None
    elif n.op == "output":
        answer = n.args[0]
        while isinstance(answer, (tuple, list)) and answer:
            answer = answer[0]
        node = reader.found.get(answer)
        while isinstance(node, (tuple, list)) and node:
            node = node[0]
        reader.graph.output = node
        if not hasattr(node, "inputs"):
            reader.graph.output = reader.graph.refuse(
                "", "output", "it is no tensor that depends on the input", [reader.graph.input]
            )
        return
    elif n.op == "get_attr":
        live = reader.model
        for name in n.target.split("."):
            live = getattr(live, name)
        reader.found[n] = Constant(live, reader.parameter(live)) if isinstance(live, reader.torch.Tensor) else live
    elif n.op == "call_module" and n.target == "_guards_fn":  # torch.export's checks of the input
        reader.found[n] = None
    elif n.op == "call_module":
        module = traced.get_submodule(n.target)
        args, kwargs = reader.of(n.args), reader.of(dict(n.kwargs))
        reader.found[n] = torch_modules.read(reader, module, n.target, list(args), kwargs, value)
    else:
        reader.found[n] = torch_functions.read(reader, n, value)
    node = reader.found[n]
    if isinstance(node, tuple) and isinstance(value, tuple):
        node, value = node[0], value[0]  # all steps of a recurrent layer, what attention gives
    if hasattr(node, "inputs") and isinstance(value, reader.torch.Tensor) and tuple(value.shape) == node.shape:
        node.value = numpy.array(as_array(value))  # a copy, since a later operation may write into the tensor
    if _writes(traced, n):
        # Whoever reads the tensor after this reads what was written into it.
        reader.found[n.args[0]] = reader.found[n]


def _writes(traced, n):
    """True for an operation that changes its first argument in place."""
    if not n.args or not hasattr(n.args[0], "op"):
        return False
    if n.op == "call_module":
        return bool(getattr(traced.get_submodule(n.target), "inplace", False))
    name = n.target if n.op == "call_method" else getattr(n.target, "__name__", "")
    name = name.partition(".")[0]
    is_named = name.endswith("_") and not name.endswith("__")
    return n.op.startswith("call_") and (
        is_named or name in ("iadd", "imul", "isub", "itruediv") or bool(n.kwargs.get("inplace"))
    )


def _before(n):
    for m in n.graph.nodes:
        if m is n:
            return
        yield m


def _note_unused(reader, traced):
    called = {n.target for n in traced.graph.nodes if n.op == "call_module"} | {
        n.target.rpartition(".")[0] for n in traced.graph.nodes if n.op == "get_attr"
    }
    for name, module in reader.modules.items():
        below = any(name == c or name.startswith(c + ".") for c in called)
        if next(module.parameters(recurse=False), None) is not None and not below:
            reader.graph.unused.append(name)
