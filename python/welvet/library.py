"""What the library says of itself and of this machine."""

from __future__ import annotations


from . import _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from ._types import Json


def version() -> str:
    """Returns the version of the library."""
    text: bytes = library.loom_version()
    return text.decode()


def system_info() -> Json:
    """Returns a dict: version, processor, instruction sets ("isas"), cores, memory in bytes."""
    return _native.record(library.loom_system_info)


def gpu_report() -> Json:
    """Returns a dict with the graphics cards that `device` can name: "adapters", each with device ("gpu:0"), name,
    driver, backend, kind and limits. The device "auto" is a card where that is expected to take less time.
    "tier" is what the card's arithmetic allows: strict-float, or fast, with precision="fast" alone.

    LoomError with the code IoError where there is none.
    """
    _native.device_name("gpu")
    return _native.record(library.loom_gpu_report)


def verify(isa: str | None = None, threads: int | None = None) -> str:
    """Runs the golden set and returns the SHA-256 of its table: equal on every machine. Takes seconds.

    isa: an instruction set by name; None: the best one. threads: None: one per physical core.
    """
    name = _native.utf8(isa, "isa") if isa else None
    return _native.blob(library.loom_verify, name,
                        0 if threads is None else _native.whole(threads, "threads", 1, 256)).decode()
