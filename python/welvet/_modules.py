"""Modules that are also functions: welvet.train and welvet.evolve."""

from __future__ import annotations

import inspect
import sys

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def make_callable(name: str, function: Callable[..., Any]) -> None:
    """Lets a module be called as a function of the same name that it has: welvet.train(...) is welvet.train.train(...).

    Args:
        name: Name of the module, as `__name__`.
        function: The function.
    """
    module = sys.modules[name]
    module.__class__ = type("CallableModule", (type(module),), {"__call__": staticmethod(function), "__module__": name})
    module.__dict__["__signature__"] = inspect.signature(function)
