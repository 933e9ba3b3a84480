"""Names of models: paths, and hub ids in huggingface_hub's cache, to which `loom pull` fetches."""

from __future__ import annotations

import os
import pathlib
import sys

from .._native import LoomError, NotFoundError

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from .._types import Path


_LONGEST = 200  # bytes of an id
_FILES = (".gguf", ".entity", ".safetensors", ".json", ".onnx", ".bin", ".pt", ".pth")  # no ends of ids


def _cache() -> pathlib.Path:
    home = os.environ.get("HF_HOME") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "huggingface"
    )
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    return pathlib.Path(os.path.expanduser(cache))


def _program() -> str:
    """Returns the path of the program loom: the one that LOOM_PROGRAM names, beside the library, or in PATH."""
    import shutil

    named = os.environ.get("LOOM_PROGRAM")
    beside = pathlib.Path(os.environ.get("WELVET_LIBRARY") or __file__).resolve().parent
    for folder in (beside, beside / "bin", pathlib.Path(__file__).resolve().parents[1]):
        if not named and os.access(folder / "loom", os.X_OK) and (folder / "loom").is_file():
            return str(folder / "loom")
    found = shutil.which(named or "loom")
    if found is None:
        raise LoomError(
            "Unsupported",
            "download=True needs the program loom in PATH (or its path in LOOM_PROGRAM): build it with ./run; "
            "or fetch the model with: hf download",
        )
    return found


def _pull(name: str) -> str:
    """Fetches a model by `loom pull`, with its progress on a terminal, and returns its path."""
    import subprocess  # takes long, and most programs download nothing

    shown = sys.stderr is not None and sys.stderr.isatty()
    command = [_program(), "pull", name] + ([] if shown else ["--quiet"])
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=None if shown else subprocess.PIPE, check=False)
    if done.returncode == 0:
        return os.fsdecode(done.stdout).strip()
    if done.returncode in (130, -2):
        raise KeyboardInterrupt
    text = (done.stderr or b"").decode("utf-8", "replace").strip()
    line = text.splitlines()[-1] if text else f"{name}: loom pull ended with status {done.returncode}"
    line = line[6:] if line.startswith("loom: ") else line
    if "status 404" in line or "status 401" in line or "no such" in line:
        raise NotFoundError("NotFound", line)
    raise LoomError("InvalidArgument" if done.returncode == 2 else "IoError", line)


def _chosen(snapshot: pathlib.Path, name: str, choice: str) -> str | None:
    """Returns the file of a snapshot that is named by its path or by a quantisation."""
    import re

    if (snapshot / choice).is_file():
        return str(snapshot / choice)
    if not re.match(r"(?i)(i?q|tq|b?f|fp|mxfp|i)\d", choice):
        return None
    end = re.compile(r"(?i)(^|[-._])" + re.escape(choice) + r"\.gguf$")
    files = [path for path in sorted([*snapshot.glob("*.gguf"), *snapshot.glob("*/*.gguf")]) if end.search(path.name)]
    if len(files) > 1:
        raise ValueError(f"{name}: {files[0]} and {files[1]} are of that quantisation: give the path of one")
    return str(files[0]) if files else None


def find_model(name: Path, *, download: bool = False) -> str:
    """Finds a model by its path or hub id.

    Args:
        name: Path of a file or folder, or a hub id, as "HuggingFaceTB/SmolLM2-360M-Instruct", with a GGUF file or its
            quantisation after a colon, as "bartowski/SmolLM2-360M-Instruct-GGUF:Q4_K_M".
        download: Whether a hub id that is not in the cache is fetched, by the program loom (`loom pull`). Otherwise
            nothing is downloaded.

    Returns:
        The path; of a hub id that of its newest snapshot in huggingface_hub's cache.

    Raises:
        NotFoundError: If there is no such model; the message has the command that fetches it.
        LoomError: If the download fails (IoError), or there is no program that downloads (Unsupported).
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
    text, colon, choice = text.partition(":")
    parts = text.split("/")
    is_file = parts[-1].lower().endswith(_FILES)
    if (
        len(parts) > 2
        or not all(parts)
        or text.startswith((".", "~", "-"))
        or len(text) > _LONGEST
        or is_file
        or (colon and (len(parts) < 2 or not choice))
    ):
        raise NotFoundError("NotFound", f"{name}: no such file or folder")
    folder = _cache() / ("models--" + "--".join(parts))
    revision = folder / "refs" / "main"
    snapshots = [folder / "snapshots" / revision.read_text().strip()] if revision.is_file() else []
    snapshots += sorted((folder / "snapshots").glob("*"), key=lambda p: p.stat().st_mtime, reverse=True)
    for snapshot in snapshots:
        if choice:
            chosen = _chosen(snapshot, str(name), choice)
            if chosen:
                return chosen
            continue
        if (snapshot / "config.json").is_file():
            return str(snapshot)
        files = sorted(snapshot.glob("*.gguf"))
        if len(files) > 1:
            raise ValueError(f"{name}: {snapshot} has {len(files)} GGUF files: give the path of one")
        if files:
            return str(files[0])
    if download:
        return _pull(str(name))
    raise NotFoundError(
        "NotFound", f"{name}: no such file or folder, and it is not in {_cache()}; to fetch it: loom pull {name}"
    )
