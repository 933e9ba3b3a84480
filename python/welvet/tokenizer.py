"""Text to token ids and back."""

from __future__ import annotations

import ctypes

from . import _native
from ._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._types import Path, Self, Text


class Tokenizer(_native.Owner):
    """A model's tokenizer, of LM.tokenizer or Tokenizer.open(). Immutable: any number of threads may use one.

    len() is the size of the vocabulary.
    """

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    @classmethod
    def open(cls, path: Path) -> Self:
        """Reads the tokenizer of a GGUF file, a Hugging Face folder, an .entity or a tokenizer.json, by its path."""
        return cls(_native.make(library.loom_tokenizer_open, _native.utf8(path, "path")))

    def encode(self, text: Text, add_special_tokens: bool = True, parse_special: bool = True) -> list[int]:
        """Returns the ids of a text (str or bytes), a list of int.

        add_special_tokens: those that the model wants around a text, as one for its beginning.
        parse_special: a marker in the text, as "<|im_end|>", is the marker; False: it is ordinary text.
        """
        data = _native.data_of(text, "text")
        out = _native.blob(library.loom_tokenizer_encode, self._handle.value, data, len(data), add_special_tokens,
                           parse_special)
        return list(memoryview(out).cast("i")) if out else []

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Returns the text of ids; bytes that are no UTF-8 become U+FFFD. skip_special_tokens: markers are left out."""
        ids = [_native.whole(i, "an id", -2**31, 2**31 - 1) for i in ids]
        array = (ctypes.c_int32 * len(ids))(*ids)
        out = _native.blob(library.loom_tokenizer_decode, self._handle.value, array, len(ids), skip_special_tokens)
        return out.decode("utf-8", "replace")

    def id_of(self, token: Text) -> int | None:
        """Returns the id of a token by its text as the vocabulary spells it; None when it has none."""
        data, out = _native.data_of(token, "token"), ctypes.c_int32()
        try:
            _native.check(library.loom_tokenizer_id(self._handle.value, data, len(data), ctypes.byref(out)))
        except _native.NotFoundError:
            return None
        return out.value

    def token(self, token_id: int) -> str:
        """Returns the text of one id as the vocabulary spells it; empty for an unknown id."""
        token_id = _native.whole(token_id, "an id", -2**31, 2**31 - 1)
        return _native.blob(library.loom_tokenizer_token, self._handle.value, token_id).decode("utf-8", "replace")

    def __len__(self) -> int:
        size = ctypes.c_uint64()
        _native.check(library.loom_tokenizer_vocab_size(self._handle.value, ctypes.byref(size)))
        return size.value
