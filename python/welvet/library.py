"""The library and this machine: versions, processors, graphics cards, the golden set."""

from __future__ import annotations

from . import _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from ._types import Json


def version() -> str:
    """Returns the version of the library.

    Returns:
        The version, as "0.1.0".
    """
    text: bytes = library.loom_version()
    return text.decode()


def system_info() -> Json:
    """Describes this machine.

    Returns:
        A dict: version, processor, isas (instruction sets), cores, memory in bytes.
    """
    return _native.record(library.loom_system_info)


def gpu_report() -> Json:
    """Lists the graphics cards that the parameter `device` of other functions can name.

    The device "auto" is a card if that is expected to take less time than the processor.

    Returns:
        A dict with adapters, a list of dicts with device ("gpu:0"), name, driver, backend, kind, limits and tier:
        "strict-float", or "fast" for a card whose arithmetic needs precision="fast".

    Raises:
        LoomError: If no card is available (IoError).
    """
    _native.device_name("gpu")
    return _native.record(library.loom_gpu_report)


def verify(isa: str | None = None, threads: int | None = None) -> str:
    """Runs the golden set, which takes seconds. Its hash is equal on every machine.

    Args:
        isa: Instruction set, as "avx2"; None: the best one of this processor.
        threads: Workers, 1 to 256; None: one per physical core.

    Returns:
        The SHA-256 of the table of results, hexadecimal.

    Raises:
        ValueError: If this processor lacks the instruction set.
    """
    return _native.blob(library.loom_verify, _native.compute(threads, isa)).decode()
