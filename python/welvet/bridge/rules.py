"""Tables of rules: which function reads a layer or an operation of a framework, by its name."""

from __future__ import annotations

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Rules:
    """Functions by names. As a decorator, `@rules("Linear", "Dense")` adds the function that follows."""

    def __init__(self) -> None:
        self._by_name: dict[str, Callable[..., Any]] = {}

    def __call__(self, *names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            self._by_name.update(dict.fromkeys(names, function))
            return function

        return add

    def of(self, name: str) -> Callable[..., Any] | None:
        """The function of a name; None where there is none."""
        return self._by_name.get(name)
