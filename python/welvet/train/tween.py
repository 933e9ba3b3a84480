"""Target propagation in single calls; Trainer with the key `tween` does whole steps."""

from __future__ import annotations

import ctypes

from .. import _abi, _native, _tensors
from .._native import library
from ..nn.network import handle_of, kind_of

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from typing import Any

    from .._types import Array, Json, Numbers, Precision, Shape
    from ..nn.network import Network


class Tween(_native.Owner):
    """Training of a network by targets instead of gradients.

    step() does a whole step after forward(). backward(), budgets() and apply() do it in three parts. The targets are
    values in the shape of the output, and the loss is the mean square error. Trainer(network, shape, tween={...}) does
    the same with classes, with other losses and with schedules.

    Args:
        network: The network, which learns in place.
        shape: Shape of the input of a batch, samples first.
        config: A dict with options of docs/guide/tween.md; None: none.
        threads: Workers, 1 to 256; None: one per physical core. No result depends on it.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.
        **more: Further options, as mode="layerwise", which replace those of `config`.

    Attributes:
        network: The network.

    Raises:
        ValueError: If an option is unknown or out of range, or the shape does not fit.

    >>> from welvet import Network
    >>> net = Network({"layers": [{"type": "dense", "in_features": 2, "out_features": 1}]})
    >>> tween = Tween(net, (4, 2), mode="layerwise", momentum=0)
    >>> inputs, targets = [[0, 0], [0, 1], [1, 0], [1, 1]], [[0], [1], [1], [2]]
    >>> gaps = []
    >>> for _ in range(50):
    ...     output = tween.forward(inputs)
    ...     tween.step(targets, learning_rate=0.1)
    ...     gaps.append(tween.info["output_gap"])
    >>> gaps[-1] < gaps[0]
    True
    """

    def __init__(
        self,
        network: Network,
        shape: Shape,
        config: Json | None = None,
        *,
        threads: int | None = None,
        isa: str | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        **more: Any,
    ) -> None:
        network_handle = handle_of(network)
        data, extents = _native.config_of(config, more), _tensors.shape_of(shape, "shape")
        options = _native.compute(threads, isa, device, precision)
        self.network, self._kind = network, kind_of(network)
        self._handle = _native.make(
            library.loom_tween_create, network_handle, data, len(data), extents, len(extents), options
        )

    def forward(self, x: Numbers) -> Array:
        """Runs the network, the first part of a step.

        Args:
            x: Numbers [samples, ...].

        Returns:
            The output, an array.

        Raises:
            ValueError: If the shape is another one.
        """
        data, output = _tensors.given(x, "x", self._kind), _abi.Tensor()
        _native.check(library.loom_tween_forward(self._handle.value, ctypes.byref(data.tensor()), ctypes.byref(output)))
        return _tensors.array_of(output)

    def step(self, target: Numbers, learning_rate: float) -> None:
        """Does the rest of a step after forward(): gaps, budgets, updates.

        Args:
            target: Target of the output, in its shape.
            learning_rate: Size of the step.

        Raises:
            ValueError: If the target has another size.
            LoomError: If there was no forward() before (InvalidState).
        """
        data = _tensors.given(target, "target", self._kind)
        _native.check(
            library.loom_tween_step(
                self._handle.value, ctypes.byref(data.tensor()), _native.real(learning_rate, "learning_rate")
            )
        )

    def backward(self, target: Numbers) -> None:
        """Gives every cell its target, the first of three parts of step().

        Args:
            target: Target of the output, in its shape.

        Raises:
            LoomError: If there was no forward() before (InvalidState).
        """
        data = _tensors.given(target, "target", self._kind)
        _native.check(library.loom_tween_backward(self._handle.value, ctypes.byref(data.tensor())))

    def budgets(self) -> None:
        """Measures how well each cell agrees with its target, the second of three parts of step()."""
        _native.check(library.loom_tween_budgets(self._handle.value))

    def apply(self, learning_rate: float) -> None:
        """Moves the weights towards the targets, the last of three parts of step().

        Args:
            learning_rate: Size of the step.
        """
        _native.check(library.loom_tween_apply(self._handle.value, _native.real(learning_rate, "learning_rate")))

    @property
    def info(self) -> Json:
        """A dict: the gap of the output; for each use of a layer its gap, budget and size of the update."""
        return _native.record(library.loom_tween_info, self._handle.value)
