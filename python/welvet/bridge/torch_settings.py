"""Causes that change the answer of a module of PyTorch besides its layers: hooks, parametrizations, wrappers."""

import sys

from . import settings

# Modules that only call another one, and the attribute that it is.
_WRAPPERS = {"DataParallel": "module", "DistributedDataParallel": "module", "OptimizedModule": "_orig_mod"}
_COMPUTING = ("WeightNorm", "SpectralNorm")  # hooks of torch.nn.utils that compute a weight before each call


def inner(model):
    """The module that a wrapper calls."""
    while type(model).__name__ in _WRAPPERS and type(model).__module__.startswith("torch."):
        model = getattr(model, _WRAPPERS[type(model).__name__])
    return model


def layer_class(module):
    """The class whose rule reads a module: below the one that torch.nn.utils.parametrize puts over it."""
    cls = type(module)
    return cls.__mro__[1] if cls.__module__ == "torch.nn.utils.parametrize" and len(cls.__mro__) > 1 else cls


def check(reader):
    """Refuses settings of layers that are not read and have another value than the default."""
    for path, module in reader.modules.items():
        cls = layer_class(module)
        if not cls.__module__.startswith("torch.nn.") or cls.__name__ not in settings.TORCH:
            continue
        table = settings.TORCH[cls.__name__]
        refused, training = settings.changed(table, cls, lambda name, m=module: getattr(m, name))
        for name, value in refused:
            reader.graph.refuse(path, cls.__name__, f"{name}={value!r}", [reader.graph.input])
        for name in training:
            reader.graph.notes.append(f"{path or cls.__name__}: {name} is left out; it counts in training alone")


class Hooks:
    """While it lasts, weights that are computed have one value, and hooks that change something are noticed."""

    def __init__(self, reader):
        self._reader, self._modules = reader, dict(reader.modules)
        self._wrapped = []
        self._changed = {}  # kinds of hooks by the path of their module

    def __enter__(self):
        parametrize = sys.modules.get("torch.nn.utils.parametrize")
        self._cache = None if parametrize is None else parametrize.cached()
        if self._cache is not None:
            self._cache.__enter__()
        for path, module in self._reader.modules.items():
            for place, kind in (("_forward_pre_hooks", "pre-hook"), ("_forward_hooks", "forward hook")):
                self._hear(path, module, getattr(module, place), kind)
            if module._backward_hooks or getattr(module, "_backward_pre_hooks", None):
                self._note(path, "a backward hook is left out; it counts in training alone")
            for name, tensor in module.named_parameters(recurse=False):
                if tensor._backward_hooks:
                    self._note(path, f"a hook of {name} is left out; it counts in training alone")
            if parametrize is not None and parametrize.is_parametrized(module):
                for name in module.parametrizations:
                    self._computed(path, module, name)
        return self

    def __exit__(self, *exception):
        for hooks, key, hook in self._wrapped:
            hooks[key] = hook
        if self._cache is not None:
            self._cache.__exit__(*exception)

    def _note(self, path, what):
        self._reader.graph.notes.append(f"{path or 'the model'}: {what}")

    def _hear(self, path, module, hooks, kind):
        for key, hook in list(hooks.items()):
            if type(hook).__name__ in _COMPUTING or hasattr(hook, "_tensor_name"):  # of pruning, the second
                continue

            def heard(*args, hook=hook, **kwargs):
                result = hook(*args, **kwargs)
                if result is not None:
                    self._changed[path] = kind
                return result

            hooks[key] = heard
            self._wrapped.append((hooks, key, hook))

    def _computed(self, path, module, name):
        """A weight that parametrizations compute is read as what they give."""
        parts = module.parametrizations[name]
        kinds = ", ".join(type(p).__name__.strip("_") for p in parts)
        value = getattr(module, name)
        is_norm = len(parts) == 1 and type(parts[0]).__name__ == "_WeightNorm"
        where = f"{path}.{name}" if path else name
        self._reader.computed[id(value)] = (value, where, (module, name) if is_norm else None)
        self._note(path, f"{name} is read as what {kinds} gives; the network trains that, not what it is computed of")

    def refuse_changes(self, is_leaf, is_exported):
        """Refuses hooks that gave another answer to layers which are read as they are."""
        modules = self._modules
        for path, kind in self._changed.items():
            parts = path.split(".")
            ahead = ["", *(".".join(parts[: i + 1]) for i in range(len(parts)))]
            if not is_exported and any(is_leaf(modules[name]) for name in ahead):
                why = f"a {kind} changes what it gives: write that into a forward(), or remove the hook"
                self._reader.graph.refuse(path, type(modules[path]).__name__, why, [self._reader.graph.input])
