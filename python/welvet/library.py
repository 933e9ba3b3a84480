"""What the library says of itself and of this machine."""

import json

from . import _native
from ._native import library


def version():
    """Returns the version of the library."""
    return library.loom_version().decode()


def system_info():
    """Returns a dict: version, processor, instruction sets, cores, memory."""
    return json.loads(_native.blob(library.loom_system_info))


def verify(isa=None, threads=None):
    """Runs the golden set and returns the SHA-256 of its table: equal on every machine. Takes seconds.

    isa: an instruction set by name; None: the best one. threads: None: one per physical core.
    """
    name = _native.utf8(isa, "isa") if isa else None
    return _native.blob(library.loom_verify, name,
                        0 if threads is None else _native.whole(threads, "threads", 1, 256)).decode()
