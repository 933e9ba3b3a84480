"""Proofs of results: what they were computed from, and the replay on another machine."""

from __future__ import annotations

import json

from . import _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from ._types import Json, Path


def replay_receipt(receipt: Json | Path, *, model: Path | None = None, folder: Path | None = None,
                   device: str | None = None) -> Json:
    """Computes what a receipt names again and compares; returns a dict with equal and difference (the first, or None).

    receipt: a dict, or a file that `loom generate --receipt` or json.dump() wrote.
    model: where the model is now; None: where the receipt says. folder: where its relative paths start.
    device: "cpu" or a card of gpu_report(), the bits are the same on each; None: that of the receipt where this machine
    has it.
    NotFoundError where a file is missing.

    >>> answer = lm.generate("What is gravity?", receipt=True)  # doctest: +SKIP
    >>> welvet.replay_receipt(answer.receipt)["equal"]  # doctest: +SKIP
    True
    """
    if isinstance(receipt, dict):
        data = json.dumps(receipt).encode()
    else:
        with open(receipt, "rb") as file:
            data = file.read()
    where = [_native.utf8(path, name) if path is not None else None
             for path, name in ((model, "model"), (folder, "folder"))]
    cancel = _native.make(library.loom_cancel_create)
    return _native.long_call(lambda: _native.record(library.loom_replay_receipt, data, len(data), *where,
                                                    _native.device_name(device), cancel.value), cancel)


def content_hash(path: Path) -> str:
    """The SHA-256 that receipts name a file or a model's folder by; of an .entity its root hash."""
    return _native.blob(library.loom_content_hash, _native.utf8(path, "path")).decode()
