"""Values of a trace of PyTorch that are no nodes of the graph, and activations by their names."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .weights import Parameter


class Constant:
    """A tensor of the trace that does not depend on the input.

    parameter: the Parameter whose memory it is. is_learnt: it is computed of parameters that PyTorch trains.
    """

    def __init__(self, value: Any, parameter: Parameter | None = None, is_learnt: bool = False) -> None:
        self.value, self.parameter, self.is_learnt = value, parameter, is_learnt


class Opaque:
    """A result of an operation besides the tensor that Loom computes; nothing may read it."""

    def __init__(self, why: str) -> None:
        self.why = why


class Refused(Exception):
    """A setting of a layer that Loom has not; the reader notes it."""


def states(kind: str, steps: Sequence[Any], bidirectional: bool) -> tuple[Any, Any]:
    """The results of a recurrent module: all steps, and the states."""
    last = LastState(steps, 2 if bidirectional else 1)
    cell = Opaque("it reads the cell state c_n, which Loom does not give; h_n is the last output")
    return (steps[-1], (last, cell)) if kind == "LSTM" else (steps[-1], last)


class LastState:
    """h_n of a recurrent module, [layers * directions, B, H].

    steps: the outputs of each layer, [B, T, directions * H].
    """

    why = "it is the whole state h_n; take one layer's, as h_n[-1]"

    def __init__(self, steps: Sequence[Any], directions: int) -> None:
        self.steps, self.directions, self.count = steps, directions, len(steps) * directions

    def at(self, graph: Any, index: int, path: str) -> Any:
        """h_n[index]: of one direction the last step, of the other one the first."""
        layer, direction = divmod(index % self.count, self.directions)
        x = self.steps[layer]
        if self.directions == 1:
            return graph.last_step(x, path)
        half = x.shape[2] // 2
        return graph.pick(graph.part(x, 2, direction * half, half, path=path), 1, 0 if direction else -1, path)


def is_zero(state: Any) -> bool:
    states = state if isinstance(state, (tuple, list)) else (state,)
    return all(hasattr(s, "value") and not hasattr(s, "inputs") and not bool((s.value != 0).any()) for s in states)


def plain(value: Any) -> Any:
    """A constant of one element as a number."""
    if hasattr(value, "value") and not hasattr(value, "inputs") and getattr(value.value, "numel", lambda: 0)() == 1:
        return value.value.item()
    return value


# Activations of Loom by the names of functions and modules.
ACTIVATIONS = {
    "relu": "relu",
    "relu6": "relu6",
    "silu": "silu",
    "mish": "mish",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "leaky_relu": "leakyrelu",
    "leakyrelu": "leakyrelu",
    "elu": "elu",
    "selu": "selu",
    "softplus": "softplus",
    "softsign": "softsign",
    "hardsigmoid": "hard_sigmoid",
    "hardswish": "hard_swish",
    "hardtanh": "hard_tanh",
    "gelu": "gelu_exact",
}


def activation_of(call: Any, function: Any) -> tuple[str, dict[str, Any]]:
    """Name and keys of an activation that is a function or a module."""
    is_module = hasattr(function, "named_parameters")
    name = (type(function).__name__ if is_module else getattr(function, "__name__", "")).lower()
    call.want(name in ACTIVATIONS, f"the activation {name or function}")
    return named_activation(call, ACTIVATIONS[name], lambda key, default: getattr(function, key, default))


def named_activation(call: Any, name: str, setting: Callable[[str, Any], Any]) -> tuple[str, dict[str, Any]]:
    """Name and keys of an activation whose settings are read by setting(key, default)."""
    keys: dict[str, Any] = {}
    if name == "leakyrelu":
        keys["leaky_slope"] = float(setting("negative_slope", 0.01))
    elif name == "elu":
        keys["elu_alpha"] = float(setting("alpha", 1.0))
    elif name == "gelu_exact" and setting("approximate", "none") == "tanh":
        name = "gelu"
    elif name == "softplus":
        call.want(setting("beta", 1) == 1 and setting("threshold", 20) == 20, "softplus with beta or threshold")
    elif name == "hard_tanh":
        call.want(
            setting("min_val", -1.0) == -1 and setting("max_val", 1.0) == 1,
            "hardtanh with another min_val than -1 or another max_val than 1",
        )
    return name, keys
