"""Language models as files: opening one, its facts, its tokenizer, its sessions."""

from __future__ import annotations

import ctypes
import itertools

from .. import _abi, _native
from .._native import library
from .hub import find_model
from .tokenizer import Tokenizer

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .._types import Buffer, Function, Json, Path, Precision, Self, Told


class Model(_native.Owner):
    """Base class of LM: an open language model, with weights, tokenizer and chat template.

    Args:
        model: A GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache.
        dtype: Numeric type that the matrices are quantised to on load, as "int8"; None: as stored.
        threads: Workers of each session, 1 to 256; None: one per physical core. No result depends on it.
        context: Longest sequence in tokens; None: that of the model's training, at most 4096.
        adapters: Folders of low-rank adapters as PEFT writes them; all are applied unless a call chooses among them.
        progress: Function that is called with the part that is loaded, from 0 to 1; returning False cancels. True shows
            a bar, if tqdm is installed and stderr is a terminal.
        device: Device of the sessions: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". No result depends
            on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact; its results then depend on the card
            and its driver.
        download: Whether a hub id that is not in the cache is fetched first, by the program loom (`loom pull`).

    Raises:
        NotFoundError: If there is no such model; the message has the command that fetches a hub id.
        CancelledError: If `progress` returned False.
        LoomError: If the file is not a language model (Unsupported) or damaged (CorruptData).
    """

    def __init__(
        self,
        model: Path,
        *,
        dtype: str | None = None,
        threads: int | None = None,
        context: int | None = None,
        adapters: Sequence[Path] = (),
        progress: Told | bool | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        download: bool = False,
    ) -> None:
        found = find_model(model, download=_native.truth(download, "download"))
        self._take(_native.Handle(), found, threads, context, device, precision)
        path = _native.utf8(self.path, "model")
        self._load(dtype, adapters, progress, library.loom_model_open, path)

    def _load(
        self,
        dtype: str | None,
        adapters: Sequence[Path],
        progress: Told | bool | None,
        function: Function,
        *source: object,
    ) -> None:
        """Makes the handle by function(*source, options, handle)."""
        folders = [
            _native.utf8(folder, "a folder of adapters")
            for folder in _native.items(adapters, "adapters", "a list of folders")
        ]
        names = (ctypes.c_char_p * len(folders))(*folders)
        options = _abi.ModelOptions(
            dtype=_native.utf8(dtype, "dtype") if dtype else None, adapters=names, adapters_count=len(names)
        )
        cancel = _native.make(library.loom_cancel_create)
        options.cancel = cancel.value
        with _native.Progress(progress) as told:
            options.progress = told.callback
            _native.long_call(lambda: self._handle.make(function, *source, ctypes.byref(options)), cancel)

    @classmethod
    def from_bytes(
        cls,
        data: Buffer | dict[str, Buffer],
        *,
        dtype: str | None = None,
        threads: int | None = None,
        context: int | None = None,
        adapters: Sequence[Path] = (),
        progress: Told | bool | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> Self:
        """Loads a model from memory. Its answers have no receipt, since no file can be named.

        Args:
            data: The bytes of a GGUF file or an .entity; or a dict from file names of a Hugging Face folder
                ("config.json", "model.safetensors", "tokenizer.json") to their bytes. They are read during the call
                only.
            dtype: As of the class, like the parameters that follow.
            threads: Workers of each session.
            context: Longest sequence in tokens.
            adapters: Folders of low-rank adapters.
            progress: Function that is called with the part that is loaded, or True for a bar.
            device: Device of the sessions.
            precision: "strict" or "fast".

        Returns:
            The model.

        Raises:
            LoomError: If the bytes are not a language model (Unsupported) or damaged (CorruptData).
        """
        out = cls.__new__(cls)
        out._take(_native.Handle(), "memory", threads, context, device, precision)
        if isinstance(data, dict):
            contents = [_native.content_of(content, f"the file {name}") for name, content in data.items()]
            names = (ctypes.c_char_p * len(contents))(*[_native.utf8(name, "the name of a file") for name in data])
            ends = (ctypes.c_uint64 * len(contents))(*itertools.accumulate(map(len, contents)))
            joined = b"".join(contents)
            out._load(
                dtype,
                adapters,
                progress,
                library.loom_model_from_files,
                names,
                len(names),
                joined,
                len(joined),
                ends,
                len(ends),
            )
        else:
            content = _native.content_of(data, "data")
            out._load(dtype, adapters, progress, library.loom_model_from_memory, content, len(content))
        return out

    def _take(
        self,
        handle: _native.Handle,
        path: str,
        threads: int | None,
        context: int | None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        self._handle, self.path = handle, path
        self._threads = 0 if threads is None else _native.whole(threads, "threads", 1, 256)
        self._context = 0 if context is None else _native.whole(context, "context", 1, 2**24)
        self._device = _native.device_name(device, precision)
        self._tokenizer: Tokenizer | None = None

    @classmethod
    def _of(cls, handle: _native.Handle, path: str, threads: int | None = None) -> Self:
        out = cls.__new__(cls)
        out._take(handle, path, threads, None)
        return out

    @property
    def adapters(self) -> list[Json]:
        """The adapters, a list of dicts with name ("0", "1", ...), rank, alpha, matrices and parameters."""
        return _native.records(library.loom_model_adapters, self._handle.value)

    @property
    def info(self) -> Json:
        """A dict: format, sizes, context, and the names of features that are missing."""
        return _native.record(library.loom_model_info, self._handle.value)

    @property
    def tokenizer(self) -> Tokenizer:
        """The Tokenizer of the model."""
        if self._tokenizer is None:
            self._tokenizer = Tokenizer(_native.make(library.loom_model_tokenizer, self._handle.value))
        return self._tokenizer

    def _described(self) -> str:
        info = self.info
        sizes = f"{info['layers']} layers of {info['hidden_size']}, {info['vocab_size']} tokens"
        return f"{self.path}: {info['format']}, {sizes}"

    def render_chat(self, messages: Iterable[Json], add_generation_prompt: bool = True) -> str:
        """Writes messages as the model's chat template has them.

        Args:
            messages: A list of dicts with role and content.
            add_generation_prompt: True ends the text where the answer of the model begins.

        Returns:
            The text of the prompt.

        Raises:
            ValueError: If a message lacks a key or the template refuses it.
            LoomError: If the model has no chat template (NoTemplate).
        """
        data = _native.to_json(_native.items(messages, "messages", "a list of dicts with role and content"))
        out = _native.blob(library.loom_model_render_chat, self._handle.value, data, len(data), add_generation_prompt)
        return out.decode("utf-8", "replace")
