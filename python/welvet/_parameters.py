"""Functions that pass keyword options on show the parameters of the function that takes them."""

from __future__ import annotations

import inspect

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T", bound=Callable[..., Any])


def takes(source: Callable[..., Any]) -> Callable[[T], T]:
    """Returns a decorator for a function, or a class, that passes `**options` on to another one.

    The signature that inspect reports gets the keyword parameters of the source in place of `**options`; so does the
    line `**options: ...` of the section `Args:` in the docstring.

    Args:
        source: The function or class that takes the options and describes them.

    Returns:
        The decorator; it changes its argument and returns it.
    """
    options = [p for p in inspect.signature(source).parameters.values() if p.kind is p.KEYWORD_ONLY]
    described = _entries(inspect.cleandoc(source.__doc__ or ""))

    def decorate(target: T) -> T:
        subject: Any = target
        function = subject.__init__ if isinstance(target, type) else subject
        own = inspect.signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [p for p in options if p.name not in own.parameters]
        function.__signature__ = own.replace(parameters=kept + more)
        if target.__doc__ and source.__doc__:  # there is none with -OO
            lines = inspect.cleandoc(target.__doc__).split("\n")
            target.__doc__ = "\n".join(
                "\n".join(described[p.name] for p in more) if line.startswith("    **options:") else line
                for line in lines
            )
        return target

    return decorate


def _entries(docstring: str) -> dict[str, str]:
    """The entries of the section Args by the parameters' names, each with its indentation."""
    out: dict[str, str] = {}
    name = ""
    for line in docstring.partition("\nArgs:\n")[2].split("\n"):
        if line and not line.startswith("    "):
            break
        if line.startswith("     "):
            out[name] += "\n" + line
        elif line:
            name = line.partition(":")[0].strip()
            out[name] = line
    return out
