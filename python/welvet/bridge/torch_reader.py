"""PyTorch: a module is traced by torch.fx, and by torch.export where its code asks for more than sizes; layers of
torch.nn are read as they are."""

import dataclasses
import sys
import warnings

import numpy

from . import torch_functions, torch_modules, torch_settings, torch_trace
from .graph import Graph, choose_output, coarsest, is_close, to_model
from .torch_values import Constant, Refused
from .weights import Parameter

SEVERAL_INPUTS = True


def is_model(model):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(model, torch.nn.Module)


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
        self.computed = {}  # tensors that the model computes before each call, by identity: (tensor, name, its place)
        self.depends = set()  # nodes of the trace whose tensors depend on the input
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
        if tensor.is_complex():
            raise Refused("complex weights")
        if id(tensor) in self.computed:
            return self._computed(tensor)

        def write(array):
            with torch.no_grad():
                tensor.copy_(torch.from_numpy(numpy.array(array)).to(tensor.dtype))

        return Parameter(
            (tensor.data_ptr(), tuple(tensor.shape), tensor.stride()),
            lambda: as_array(tensor),
            write,
            self.names.get(id(tensor), "a tensor"),
        )

    def _computed(self, tensor):
        """A weight that the model computes before each call; `computed` keeps it, so that its identity stays its own.

        It is written where it has a place (module, attribute) that takes it.
        """
        torch = self.torch
        _, name, place = self.computed[id(tensor)]
        if place is None:
            return Parameter(("computed", id(tensor)), lambda: as_array(tensor), None, name)

        def write(array):
            with torch.no_grad():
                setattr(*place, torch.from_numpy(numpy.array(array)).to(tensor.dtype))

        def current():
            with torch.no_grad():
                return as_array(getattr(*place))

        return Parameter(("computed", id(tensor)), current, write, name)

    def weight(self, module, name, path):
        """The weight of a layer, by the name of the attribute; None where the layer has none."""
        tensor = getattr(module, name)
        if tensor is not None and id(tensor) not in self.names and id(tensor) not in self.computed:
            where = f"{path}.{name}" if path else name
            self.computed[id(tensor)] = (tensor, where, None)
            self.graph.notes.append(f"{where}: is read as what a hook computes; it cannot be written back")
        return tensor

    def constant(self, value, arguments):
        """A Constant of what an operation of constants gave; a view of a parameter stays one."""
        given = [a for a in arguments if isinstance(a, Constant)]
        for a in given:
            if a.parameter is not None and _is_view(value, a.value):
                return Constant(value, self.parameter(value))
        learnt = any(a.is_learnt or (a.parameter is not None and a.value.requires_grad) for a in given)
        return Constant(value, None, learnt)

    def of(self, argument):
        """The values of the arguments of a call, in the same tuples, lists and dicts."""
        return self.torch.fx.node.map_aggregate(
            argument, lambda a: self.found[a] if isinstance(a, self.torch.fx.Node) else a
        )


def _is_view(value, base):
    """True if writing into the tensor `value` writes into `base`, each number once."""
    if value.untyped_storage().data_ptr() != base.untyped_storage().data_ptr() or value.dtype != base.dtype:
        return False
    return all(step != 0 or n == 1 for n, step in zip(value.shape, value.stride()))


def as_array(tensor):
    """The values without a copy where NumPy has the type."""
    tensor = tensor.detach().cpu()
    known = ("torch.float16", "torch.float32", "torch.float64")
    return (tensor.float() if tensor.is_floating_point() and str(tensor.dtype) not in known else tensor).numpy()


def read(model, sample, output=None):
    """output: which of the model's outputs is read: a number, a name, or "a.0" for one inside of another."""
    import torch

    outer, model = model, torch_settings.inner(model)
    floats = [p for p in model.parameters() if p.is_floating_point()]
    tensors = []
    for part in getattr(sample, "parts", [sample]):
        tensor = torch.from_numpy(numpy.array(part))  # a copy: a layer may write into its input
        tensors.append(tensor.to(floats[0].dtype) if tensor.is_floating_point() and floats else tensor)
    was = {name: m.training for name, m in model.named_modules()}
    model.eval()
    reader = Reader(model, sample)
    try:
        with torch.no_grad(), torch_settings.Hooks(reader) as hooks:
            _read(reader, tensors, output, hooks)
    finally:
        for name, m in model.named_modules():
            m.training = was[name]
    reader.graph.model = outer
    return reader.graph


def is_leaf(module):
    """True for what is read as one layer: the modules of torch.nn, but for chains of them."""
    torch = sys.modules["torch"]
    return type(module).__module__.startswith(("torch.nn", "torch.ao.nn")) and not isinstance(
        module, (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
    )


def _read(reader, tensors, output, hooks):
    import torch

    graph, model = reader.graph, reader.model
    name = type(model).__name__
    if isinstance(model, torch.jit.ScriptModule):
        graph.refuse("", name, "a scripted module has no code of Python to follow; give the module it was made of")
        return
    wrong = _wrong_count(model, len(tensors))
    if wrong:
        graph.refuse("", name, wrong)
        return
    expected = to_model(graph, name, tensors, lambda: model(*[t.clone() for t in tensors]))
    if graph.unsupported:
        return
    torch_settings.check(reader)
    if is_leaf(model):
        model = reader.model = torch.nn.Sequential(model)  # a layer alone
        reader.modules = dict(model.named_modules())
    traced = _traced(reader, tensors, expected)
    if traced is None:
        return
    values = _run(reader, traced, tensors)
    hooks.refuse_changes(is_leaf, traced.is_exported)
    _choose(reader, name, traced, values, expected, output)
    if not traced.is_exported:
        _note_unused(reader, traced)


def _traced(reader, tensors, expected):
    """The operations of the model; None where they cannot be followed, which is refused."""
    from torch import fx

    try:
        traced = torch_trace.trace(reader.model, tensors, is_leaf)
    except Exception as error:
        return _exported(reader, tensors, error)
    given = fx.Interpreter(traced).run(*[t.clone() for t in tensors])
    wanted = {path: as_array(v) for path, v, _ in _tensors(reader, expected, expected)}
    found = {path: as_array(v) for path, v, _ in _tensors(reader, given, given)}
    if wanted.keys() == found.keys() and all(is_close(wanted[path], found[path]) for path in wanted):
        return traced
    return _exported(reader, tensors, "it asks what its tensors are")


def _wrong_count(model, count):
    """The fault in the number of inputs; None where it fits."""
    import inspect

    parameters = list(inspect.signature(model.forward).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p.name for p in places if p.default is p.empty]
    if len(needed) <= count <= len(places):
        return None
    names = ", ".join(needed or [p.name for p in places])
    return (
        f"it takes {len(needed) or len(places)} inputs ({names}), {count} {'is' if count == 1 else 'are'} given: "
        "several are a tuple"
    )


def _run(reader, traced, tensors):
    """Reads each operation as it runs for the sample; returns the values of the trace's output."""
    from torch import fx

    class Run(fx.Interpreter):
        def run_node(self, n):
            reader.values[n] = super().run_node(n)
            _node(reader, traced, n)
            return reader.values[n]

    return Run(traced).run(*[t.clone() for t in tensors])


def _exported(reader, tensors, error):
    """The operations of a model whose code torch.fx cannot follow, as they run for this sample; None: neither can
    torch.export."""
    import torch

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program = torch.export.export(reader.model, tuple(t.clone() for t in tensors))
        traced = program.module()
    except Exception as second:
        what = type(reader.model).__name__
        reader.graph.refuse("", what, f"torch.fx cannot trace it ({_line(error)}), nor torch.export ({_line(second)})")
        return None
    constants = {**program.state_dict, **program.constants}
    live = dict(reader.model.named_parameters(remove_duplicate=False)) | dict(
        reader.model.named_buffers(remove_duplicate=False)
    )
    traced.is_exported = True
    traced.tensors = {name: live.get(name, value) for name, value in constants.items()}
    return traced


def _line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _node(reader, traced, n):
    """One node of the trace: its reading goes to reader.found."""
    value = reader.values[n]
    if n.op == "placeholder":
        place = sum(m.op == "placeholder" for m in _before(n))
        reader.found[n] = reader.graph.inputs[place] if place < len(reader.graph.inputs) else None
    elif n.op == "output":
        return
    elif n.op == "get_attr":
        live = traced.tensors[n.target] if n.target in traced.tensors else _attribute(traced, n.target)
        if isinstance(live, reader.torch.Tensor):
            is_known = id(live) in reader.names or id(live) in reader.computed
            live = Constant(live, reader.parameter(live) if is_known else None)
        reader.found[n] = live
    elif n.op == "call_module" and n.target == "_guards_fn":  # torch.export's checks of the input
        reader.found[n] = None
    elif n.op == "call_module":
        module = traced.get_submodule(n.target)
        args, kwargs = reader.of(n.args), reader.of(dict(n.kwargs))
        path = torch_trace.path_of(n.target)
        reader.found[n] = torch_modules.read(reader, module, path, list(args), kwargs, value)
    else:
        reader.found[n] = torch_functions.read(reader, n, value)
    _remember(reader, traced, n, value)


def _attribute(owner, target):
    for name in target.split("."):
        owner = getattr(owner, name)
    return owner


def _remember(reader, traced, n, value):
    node = reader.found[n]
    depends = any(m in reader.depends for m in n.all_input_nodes) and _has_tensor(reader, value)
    if n.op == "placeholder" or (depends and not isinstance(node, Constant)):
        reader.depends.add(n)
    if isinstance(node, tuple) and isinstance(value, tuple) and node and value:
        node, value = node[0], value[0]  # all steps of a recurrent layer, what attention gives
    if hasattr(node, "inputs") and isinstance(value, reader.torch.Tensor) and tuple(value.shape) == node.shape:
        node.value = numpy.array(as_array(value))  # a copy, since a later operation may write into the tensor
    if _writes(traced, n):
        # Whoever reads the tensor after this reads what was written into it.
        reader.found[n.args[0]] = reader.found[n]


def _has_tensor(reader, value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return any(_has_tensor(reader, v) for v in value)
    return isinstance(value, reader.torch.Tensor)


def _choose(reader, kind, traced, values, expected, output):
    """The output that is read, and whether the trace gives what the model gave."""
    graph = reader.graph
    answer = next(n for n in traced.graph.nodes if n.op == "output").args[0]
    found = traced.graph.process_outputs(reader.of(answer))  # torch.export's are in one row
    named = {path: (value, node) for path, value, node in _tensors(reader, values, found)}
    name = choose_output(graph, kind, {path: tuple(value.shape) for path, (value, _) in named.items()}, output)
    if name is None:
        return
    value, found = named[name]
    wanted = {path: tensor for path, tensor, _ in _tensors(reader, expected, expected)}
    if not hasattr(found, "inputs"):
        why = getattr(found, "why", "it does not depend on the input")
        graph.output = graph.refuse("", f"output {name}" if name else "output", why, [graph.input])
        return
    graph.output = found
    tensors = [v for v in reader.values.values() if isinstance(v, reader.torch.Tensor)]
    graph.element = coarsest({str(v.dtype).rpartition(".")[2] for v in tensors})
    if name not in wanted or not is_close(as_array(wanted[name]), as_array(value), graph.element):
        why = "its operations give another answer than the model: numbers drawn at random, or code that no trace shows"
        graph.refuse("", kind, why, [graph.input])


def _tensors(reader, values, found, path=""):
    """(path, tensor, what it became) of all tensors in what a model returns."""
    if isinstance(values, reader.torch.Tensor):
        return [(path, values, found)]
    if isinstance(values, dict):
        items = [(name, values[name], found[name]) for name in values]
    elif isinstance(values, (tuple, list)):
        items = list(zip(getattr(values, "_fields", range(len(values))), values, found))
    elif dataclasses.is_dataclass(values):
        items = [(f.name, getattr(values, f.name), getattr(found, f.name)) for f in dataclasses.fields(values)]
    else:
        return []
    return [t for name, v, f in items for t in _tensors(reader, v, f, f"{path}.{name}" if path else str(name))]


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
    path_of = torch_trace.path_of
    called = {path_of(n.target) for n in traced.graph.nodes if n.op == "call_module"} | {
        path_of(n.target).rpartition(".")[0] for n in traced.graph.nodes if n.op == "get_attr"
    }
    for name, module in reader.modules.items():
        below = any(name == c or name.startswith(c + ".") for c in called)
        if next(module.parameters(recurse=False), None) is not None and not below:
            reader.graph.unused.append(name)
