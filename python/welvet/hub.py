"""Where a model's name leads: a path, huggingface_hub's cache, a folder of that name."""

from __future__ import annotations

import os
import pathlib

from ._native import NotFoundError

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from ._types import Path


_LONGEST = 200  # bytes of an id
_FILES = (".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth")  # no ends of ids


def _cache() -> pathlib.Path:
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface")
    return pathlib.Path(os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub"))


def find_model(name: Path) -> str:
    """Returns the path of a model: of a file or folder, or of a hub id's newest snapshot in the cache.

    Nothing is downloaded: where there is none, the error says which command fetches it.
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
    raise NotFoundError("NotFound", f"{name}: no such file or folder, and it is not in {_cache()}; "
                                    f"to fetch it: hf download {name}")
