"""Names of models: paths, and hub ids in huggingface_hub's cache."""

from __future__ import annotations

import os
import pathlib

from .._native import NotFoundError

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from .._types import Path


_LONGEST = 200  # bytes of an id
_FILES = (".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth")  # no ends of ids


def _cache() -> pathlib.Path:
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    return pathlib.Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))


def find_model(name: Path) -> str:
    """Finds a model by its path or hub id. Nothing is downloaded.

    Args:
        name: Path of a file or folder, or a hub id, as "HuggingFaceTB/SmolLM2-360M-Instruct".

    Returns:
        The path; of a hub id that of its newest snapshot in huggingface_hub's cache.

    Raises:
        NotFoundError: If there is no such model; the message has the command that fetches it.
        TypeError: If the name is not a text or a path.
        ValueError: If the name is empty, or the snapshot has several GGUF files.
    """
    text = os.fspath(name) if isinstance(name, (str, os.PathLike)) else None
    if not isinstance(text, str):
        raise TypeError(f"a model is a path or the id of a hub's model, as a text: not {type(name).__name__}")
    if not text:
        raise ValueError("the name of a model is empty")
    if "\0" in text:
        raise ValueError("the name of a model has a NUL in it")
    path = os.path.expanduser(text)
    if os.path.exists(path):
        return path
    parts = text.split("/")
    is_file = parts[-1].lower().endswith(_FILES)
    if len(parts) > 2 or not all(parts) or text.startswith((".", "~", "-")) or len(text) > _LONGEST or is_file:
        raise NotFoundError("NotFound", f"{name}: no such file or folder")
    folder = _cache() / ("models--" + "--".join(parts))
    revision = folder / "refs" / "main"
    snapshots = [folder / "snapshots" / revision.read_text().strip()] if revision.is_file() else []
    snapshots += sorted((folder / "snapshots").glob("*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for snapshot in snapshots:
        if (snapshot / "config.json").is_file():
            return str(snapshot)
        files = sorted(snapshot.glob("*.gguf"))
        if len(files) > 1:
            raise ValueError(f"{name}: {snapshot} has {len(files)} GGUF files: give the path of one")
        if files:
            return str(files[0])
    raise NotFoundError(
        "NotFound", f"{name}: no such file or folder, and it is not in {_cache()}; to fetch it: hf download {name}"
    )
