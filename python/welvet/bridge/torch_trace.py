"""Traces a module of PyTorch by torch.fx. Sizes, types and devices of tensors are those of the sample, so loops over
steps and branches on shapes can be followed."""

import functools

# Questions that a tensor of the trace answers with the sample's values; everything else is recorded as an operation.
_ATTRIBUTES = frozenset(("device", "dtype", "is_cuda", "is_quantized", "is_sparse", "layout", "ndim", "shape"))
_METHODS = frozenset(
    (
        "dim",
        "element_size",
        "is_complex",
        "is_contiguous",
        "is_floating_point",
        "ndimension",
        "nelement",
        "numel",
        "size",
        "stride",
    )
)
_WHOLE = "model"  # the name of the traced module inside of the one that calls it


def path_of(target):
    """The path of a submodule in the model, from a target of the trace."""
    return target.removeprefix(_WHOLE).removeprefix(".")


@functools.cache
def _classes():
    """The tracer and the module that calls the model; made when PyTorch is first used."""
    import torch
    from torch import fx

    class Known(fx.Proxy):
        """A proxy that knows the value of its node for the sample."""

        @property  # type: ignore[misc]
        def __class__(self):  # isinstance(x, torch.Tensor) holds for a tensor of the trace
            value = self.tracer.value_of(self.node)
            return type(value) if isinstance(value, torch.Tensor) else Known

        def __getattr__(self, name):
            value = self.tracer.value_of(self.node)
            if isinstance(value, torch.Tensor) and name in _ATTRIBUTES | _METHODS:
                return getattr(value, name)
            return super().__getattr__(name)

        def __len__(self):
            return len(self.tracer.value_of(self.node))

    class Tracer(fx.Tracer):
        """Runs each operation for the sample as it is recorded."""

        def __init__(self, tensors, is_leaf):
            super().__init__()
            self._tensors, self._is_leaf = list(tensors), is_leaf
            self._values, self._is_running = {}, False

        def is_leaf_module(self, m, module_qualified_name):
            return self._is_leaf(m) and "forward" not in vars(m)

        def call_module(self, m, forward, args, kwargs):
            return forward(*args, **kwargs) if self._is_running else super().call_module(m, forward, args, kwargs)

        def getattr(self, attr, attr_val, parameter_proxy_cache):
            return attr_val if self._is_running else super().getattr(attr, attr_val, parameter_proxy_cache)

        def create_args_for_root(self, root_fn, is_module, concrete_args=None):
            inputs = [self.create_proxy("placeholder", f"input_{i}", (), {}) for i in range(len(self._tensors))]
            return root_fn, [self.root, *inputs]

        def create_arg(self, a):
            return a.node if type(a) is Known else super().create_arg(a)

        def proxy(self, node):
            return Known(node, self)

        def iter(self, obj):
            value = self.value_of(obj.node)
            if isinstance(value, (torch.Tensor, tuple, list)):
                return (obj[i] for i in range(len(value)))
            return super().iter(obj)

        def create_node(self, *args, **kwargs):
            node = super().create_node(*args, **kwargs)
            if node.op != "output":
                self.value_of(node)  # now, since a later operation may write into a tensor that it reads
            return node

        def value_of(self, node):
            """The value of a node for the sample."""
            if node not in self._values:
                self._values[node] = self._run(node)
            return self._values[node]

        def _run(self, node):
            if node.op == "placeholder":
                return self._tensors.pop(0)
            args, kwargs = fx.node.map_arg((node.args, node.kwargs), self.value_of)
            before, self._is_running = self._is_running, True
            try:
                if node.op == "get_attr":
                    return functools.reduce(getattr, node.target.split("."), self.root)
                if node.op == "call_method":
                    return getattr(args[0], node.target)(*args[1:], **kwargs)
                function = self.root.get_submodule(node.target) if node.op == "call_module" else node.target
                return function(*args, **kwargs)
            finally:
                self._is_running = before

    class Whole(torch.nn.Module):
        """Calls a model as a program does: with its hooks, and a forward() that belongs to the instance."""

        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, *inputs):
            return self.model(*inputs)

    return Tracer, Whole


def trace(model, tensors, is_leaf):
    """Returns the model's trace, a GraphModule whose targets path_of() shortens.

    is_leaf: whether a module is recorded as one operation. Raises what the tracer or the model's code raises.
    """
    from torch import fx

    tracer_class, whole = _classes()
    root = whole(model)
    traced = fx.GraphModule(root, tracer_class([t.clone() for t in tensors], is_leaf).trace(root))
    traced.is_exported, traced.tensors = False, {}
    return traced
