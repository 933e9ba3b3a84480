"""Answers of language models: finished ones and those that are being written."""

from __future__ import annotations

import codecs
import ctypes
import dataclasses
import threading

from .. import _abi, _native
from .._native import library

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from .._types import Function, Json, Self


@dataclasses.dataclass(frozen=True)
class Generation:
    """An answer of a model; str() gives its text.

    Attributes:
        text: The answer, without stop text and end-of-sequence token.
        ids: Its tokens.
        stop_reason: "eos", "stop", "length", "context" or "cancelled".
        hash: SHA-256 of the ids and of the bits of the last logits, hexadecimal: equal on every machine.
        prompt_tokens: Number of tokens that were read before.
        prefill_seconds: Time of reading the prompt, in seconds.
        decode_seconds: Time of writing the answer, in seconds.
        drafted: With `speculate`, number of drafted tokens.
        accepted: With `speculate`, number of drafted tokens that the model confirmed.
        passes: With `speculate`, number of passes of the model.
        receipt: With `receipt=True`, a dict that proves the answer on another machine; else None.
        logprobs: With `logprobs`, a dict per token: id, logprob (natural logarithm, before temperature and cuts) and
            top, the best tokens with the same two keys; else None.
    """

    text: str
    ids: list[int]
    stop_reason: str
    hash: str
    prompt_tokens: int
    prefill_seconds: float
    decode_seconds: float
    drafted: int = 0
    accepted: int = 0
    passes: int = 0
    receipt: Json | None = None
    logprobs: list[Json] | None = None

    def __str__(self) -> str:
        return self.text


class Answer(_native.Owner):
    """An answer that is being written: an iterator over pieces of text, also for `async for`."""

    def __init__(self, advance: Function, result: Function, receipt: Function, logprobs: Function | None) -> None:
        self._next, self._result, self._receipt, self._logprobs = advance, result, receipt, logprobs
        self._step = _abi.Step()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._lock = threading.Lock()  # a step's text lasts until the next call
        self._shown = True

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        with self._lock:
            while self._step.stop == _abi.STOP_NOT_YET or not self._shown:
                if self._shown:
                    self._step.text_size, self._shown = 0, False
                    _native.check(self._next(self._handle.value, 0, ctypes.byref(self._step)))
                # An exception before the next line, as that of Ctrl-C, leaves the text to the next call.
                data = ctypes.string_at(self._step.text, self._step.text_size) if self._step.text_size else b""
                piece, self._shown = self._decoder.decode(data, self._step.stop != _abi.STOP_NOT_YET), True
                if piece:
                    return piece
            raise StopIteration

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        import asyncio  # pylint: disable=import-outside-toplevel

        piece = await asyncio.get_running_loop().run_in_executor(None, next, self, None)
        if piece is None:
            raise StopAsyncIteration
        return piece

    @property
    def prompt_tokens(self) -> int:
        """Number of tokens of the prompt that have been read."""
        return int(self._step.prompt_tokens)

    @property
    def result(self) -> Generation:
        """The Generation so far, or the whole one after the last piece."""
        out = _abi.Generation()
        with self._lock:
            _native.check(self._result(self._handle.value, ctypes.byref(out)))
            best = None if self._logprobs is None else _native.records(self._logprobs, self._handle.value)
            return Generation(
                text=ctypes.string_at(out.text, out.text_size).decode("utf-8", "replace"),
                ids=out.ids[: out.ids_count],
                stop_reason=library.loom_stop_name(out.stop).decode(),
                hash=bytes(out.hash).hex(),
                prompt_tokens=out.prompt_tokens,
                prefill_seconds=out.prefill_seconds,
                decode_seconds=out.decode_seconds,
                drafted=out.drafted,
                accepted=out.accepted,
                passes=out.passes,
                logprobs=best,
            )

    def receipt(self) -> Json:
        """Returns the receipt of a complete answer, which proves it on another machine (docs/guide/audit.md).

        Returns:
            A dict for json.dump() and replay_receipt().

        Raises:
            LoomError: If the answer has not ended or was cancelled (InvalidState), or the model came from memory.
        """
        with self._lock:
            return _native.record(self._receipt, self._handle.value)


class Stream(Answer):
    """An answer to a prompt that is being written: an iterator over pieces of text, also for `async for`.

    Made by LM.stream() and Session.stream(). It ends when it is closed; as a context manager it closes itself.
    """

    def __init__(self, handle: _native.Handle, has_logprobs: bool = False) -> None:
        super().__init__(
            library.loom_generator_next,
            library.loom_generator_result,
            library.loom_generator_receipt,
            library.loom_generator_logprobs if has_logprobs else None,
        )
        self._handle = handle

    def close(self) -> None:
        """Ends the answer where it is."""
        with self._lock:
            super().close()

    def finish(self, receipt: bool = False) -> Generation:
        """Writes the rest of the answer.

        Args:
            receipt: True adds the answer's receipt, see LM.generate().

        Returns:
            The whole answer.
        """
        for _ in self:
            pass
        result = self.result
        return dataclasses.replace(result, receipt=self.receipt()) if receipt else result
