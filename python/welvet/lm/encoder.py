"""Texts to vectors."""

from __future__ import annotations

import ctypes

from .. import _abi, _native, _tensors
from .._native import library
from .hub import find_model
from .tokenizer import Tokenizer

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Array, Json, Path, Precision, Self


class Encoder(_native.Owner):
    """A model that turns texts into vectors, as sentence-transformers do: a BERT and a pooling of its vectors.

    Args:
        model: Folder of such a model, or a hub id that is in huggingface_hub's cache.
        dtype: Numeric type that the matrices are quantised to on load, as "int8"; None: float32.
        threads: Workers, 1 to 256; None: one per physical core. The vectors do not depend on it.
        device: "cpu" (or None), "auto", or a card of gpu_report(), as "gpu". The vectors do not depend on it.
        precision: "strict" (or None), or "fast": a graphics card need not be exact.
        prompt: Text that is put before every text; "" puts none; None: the prompt with the name `prompt_name`.
        prompt_name: A prompt of config_sentence_transformers.json, as "query"; None: the default one, if any.
        download: Whether a hub id that is not in the cache is fetched first, by the program loom (`loom pull`).

    Raises:
        NotFoundError: If there is no such model; the message has the command that fetches a hub id.
        LoomError: If the folder is not an encoder (Unsupported) or damaged (CorruptData).

    >>> encoder = Encoder("sentence-transformers/all-MiniLM-L6-v2")  # doctest: +SKIP
    >>> encoder.embed(["It rains.", "The sun shines."]).shape  # doctest: +SKIP
    (2, 384)
    """

    def __init__(
        self,
        model: Path,
        *,
        dtype: str | None = None,
        threads: int | None = None,
        device: str | None = None,
        precision: Precision | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        download: bool = False,
    ) -> None:
        def given(text: str | None, what: str) -> bytes | None:
            return None if text is None else _native.utf8(text, what)

        options = _abi.EncoderOptions(
            dtype=_native.utf8(dtype, "dtype") if dtype else None,
            compute=_native.compute(threads, None, device, precision),
            prompt=given(prompt, "prompt"),
            prompt_name=given(prompt_name, "prompt_name"),
        )
        found = find_model(model, download=_native.truth(download, "download"))
        self._take(_native.make(library.loom_encoder_open, _native.utf8(found, "model"), ctypes.byref(options)))

    @classmethod
    def _of(cls, handle: _native.Handle) -> Self:
        out = cls.__new__(cls)
        out._take(handle)
        return out

    def _take(self, handle: _native.Handle) -> None:
        self._handle, self._turns = handle, _native.Turns()
        self._tokenizer: Tokenizer | None = None

    @property
    def info(self) -> Json:
        """A dict: dimensions, max_tokens (longer texts are cut), layers, pooling, threads."""
        with self._turns:
            return _native.record(library.loom_encoder_info, self._handle.value)

    def _described(self) -> str:
        info = self.info
        return f"{info['dimensions']} dimensions, {info['layers']} layers, at most {info['max_tokens']} tokens"

    @property
    def tokenizer(self) -> Tokenizer:
        """The Tokenizer of the encoder."""
        if self._tokenizer is None:
            self._tokenizer = Tokenizer(_native.make(library.loom_encoder_tokenizer, self._handle.value))
        return self._tokenizer

    def receipt(self) -> Json:
        """Returns the receipt of the last texts, which proves their vectors on another machine (docs/guide/audit.md).

        Returns:
            A dict for json.dump() and replay_receipt().

        Raises:
            LoomError: If nothing was encoded before (InvalidState).
        """
        with self._turns:
            return _native.record(library.loom_encoder_receipt, self._handle.value)

    def embed(self, texts: str | Sequence[str]) -> Array:
        """Returns the vectors of texts. A text's vector has the same bits alone and among others.

        Args:
            texts: A text, or a list of texts.

        Returns:
            An array [texts, dimensions]; of a single text [dimensions].
        """
        given = [
            _native.utf8(t, "a text")
            for t in ([texts] if isinstance(texts, str) else _native.items(texts, "texts", "a text or a list of texts"))
        ]
        pointers = (ctypes.c_char_p * len(given))(*given)
        vectors = _abi.Tensor()
        tokens, texts_count = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_size_t()
        cancel = _native.make(library.loom_cancel_create)

        def run() -> None:
            _native.check(
                library.loom_encoder_embed(
                    self._handle.value,
                    pointers,
                    len(given),
                    cancel.value,
                    ctypes.byref(vectors),
                    ctypes.byref(tokens),
                    ctypes.byref(texts_count),
                )
            )

        with self._turns:  # the vectors last until the next call
            _native.long_call(run, cancel)
            extents = tuple(vectors.shape[: vectors.shape_count])
            return _tensors.array_of(vectors, extents[1:] if isinstance(texts, str) else extents)
