"""Text to token ids and back."""

from __future__ import annotations

import ctypes

from .. import _native
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._types import Path, Self, Text


class Tokenizer(_native.Owner):
    """Text to token ids and back. LM.tokenizer and Tokenizer.open() give one.

    len() is the size of the vocabulary. It never changes, so any number of threads may use one.
    """

    def __init__(self, handle: _native.Handle) -> None:
        self._handle = handle

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens a tokenizer without the weights of its model.

        Args:
            path: A GGUF file, a Hugging Face folder, an .entity or a tokenizer.json.

        Returns:
            The tokenizer.

        Raises:
            NotFoundError: If there is no such file or folder.
            LoomError: If it holds no tokenizer (Unsupported) or is damaged (CorruptData).
        """
        return cls(_native.make(library.loom_tokenizer_open, _native.utf8(path, "path")))

    def encode(self, text: Text, add_special_tokens: bool = True, parse_special: bool = True) -> list[int]:
        """Returns the token ids of a text.

        Args:
            text: The text, str or bytes.
            add_special_tokens: True adds the tokens that the model expects around a text, as that of its beginning.
            parse_special: True reads control tokens in the text, as `<|im_end|>`, as such; False as ordinary text.

        Returns:
            The ids, a list of int.
        """
        data = _native.data_of(text, "text")
        out = _native.blob(
            library.loom_tokenizer_encode, self._handle.value, data, len(data), add_special_tokens, parse_special
        )
        return list(memoryview(out).cast("i")) if out else []

    def decode(self, ids: Iterable[int], skip_special_tokens: bool = True) -> str:
        """Returns the text of token ids.

        Args:
            ids: The ids.
            skip_special_tokens: True leaves control tokens out.

        Returns:
            The text; bytes that are not UTF-8 become U+FFFD.

        Raises:
            ValueError: If a number does not fit into 32 bits.
        """
        ids = [_native.whole(i, "an id", -(2**31), 2**31 - 1) for i in _native.items(ids, "ids", "a list of token ids")]
        array = (ctypes.c_int32 * len(ids))(*ids)
        out = _native.blob(library.loom_tokenizer_decode, self._handle.value, array, len(ids), skip_special_tokens)
        return out.decode("utf-8", "replace")

    def id_of(self, token: Text) -> int | None:
        """Returns the id of a token.

        Args:
            token: Text of the token as the vocabulary spells it.

        Returns:
            The id; None if the vocabulary has no such token.
        """
        data, out = _native.data_of(token, "token"), ctypes.c_int32()
        try:
            _native.check(library.loom_tokenizer_id(self._handle.value, data, len(data), ctypes.byref(out)))
        except _native.NotFoundError:
            return None
        return out.value

    def token(self, token_id: int) -> str:
        """Returns the text of a token as the vocabulary spells it.

        Args:
            token_id: The id.

        Returns:
            The text; empty for an unknown id.
        """
        token_id = _native.whole(token_id, "an id", -(2**31), 2**31 - 1)
        return _native.blob(library.loom_tokenizer_token, self._handle.value, token_id).decode("utf-8", "replace")

    def __len__(self) -> int:
        size = ctypes.c_uint64()
        _native.check(library.loom_tokenizer_vocab_size(self._handle.value, ctypes.byref(size)))
        return size.value
