"""Proofs of results: what they were computed from, and the replay on another machine."""

from __future__ import annotations

import json

from .. import _native
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from .._types import Json, Path


def replay_receipt(
    receipt: Json | Path, *, model: Path | None = None, folder: Path | None = None, device: str | None = None
) -> Json:
    """Computes the result that a receipt names again, and compares it bit by bit.

    Args:
        receipt: A dict, or a file that `loom generate --receipt` or json.dump() wrote.
        model: Path of the model on this machine; None: the path in the receipt.
        folder: Folder that relative paths of the receipt start from; None: the current one.
        device: "cpu" or a card of gpu_report(), with the same bits; None: that of the receipt if this machine has it.

    Returns:
        A dict with equal (a bool) and difference (the first one, a text, or None).

    Raises:
        NotFoundError: If a file is missing.
        LoomError: If the receipt is damaged (CorruptData).

    >>> answer = lm.generate("What is gravity?", receipt=True)  # doctest: +SKIP
    >>> welvet.replay_receipt(answer.receipt)["equal"]  # doctest: +SKIP
    True
    """
    if isinstance(receipt, dict):
        data = json.dumps(receipt).encode()
    else:
        _native.utf8(receipt, "receipt")
        with open(receipt, "rb") as file:
            data = file.read()
    where = [
        _native.utf8(path, name) if path is not None else None for path, name in ((model, "model"), (folder, "folder"))
    ]
    cancel = _native.make(library.loom_cancel_create)
    return _native.long_call(
        lambda: _native.record(
            library.loom_receipt_replay, data, len(data), *where, _native.device_name(device), cancel.value
        ),
        cancel,
    )


def content_hash(path: Path) -> str:
    """Returns the SHA-256 by which receipts name a file or the folder of a model.

    Args:
        path: The file or folder.

    Returns:
        The hash, hexadecimal; of an .entity its root hash.

    Raises:
        NotFoundError: If there is no such file or folder.
    """
    return _native.blob(library.loom_file_hash, _native.utf8(path, "path")).decode()
