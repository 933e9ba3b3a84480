"""Conversations with a language model."""

from __future__ import annotations

import ctypes
import weakref

from . import _abi, _native
from ._native import library
from .lm import Answer, Generation, generation_options

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable
    from .lm import LM

    from ._types import Adapters, AnswerOptions, Json, Path, Text, Unpack


class Chat(_native.Owner):
    """A conversation: messages in, answers out. What the model has read is not read again.

    model: an LM. system: a message that the conversation begins with. adapters: as those of LM.stream().
    options: of every answer, as those of LM.stream() but for form: a chat always writes with the chat template.

    >>> chat = Chat(LM("model.gguf"), system="You are brief.")  # doctest: +SKIP
    >>> print(chat.say("Who was Ada Lovelace?"))  # doctest: +SKIP
    """

    def __init__(self, model: LM, system: str | None = None, *, adapters: Adapters = None,
                 **options: Unpack[AnswerOptions]) -> None:
        self.model = model
        self._answer: weakref.ref[ChatStream] | None = None  # the last one, which may still run
        values, self._keeps = generation_options(**options)
        self._has_logprobs = values.logprobs != 0
        session = model.session(adapters)
        self._handle = _native.make(library.loom_chat_create, session.value,
                                    _native.utf8(system, "system") if system else None, ctypes.byref(values))

    def say(self, text: Text) -> Generation:
        """Adds a message of the user and returns the Generation that answers it.

        Ctrl-C ends the answer; what it has said so far joins the conversation, which goes on.
        """
        with self.stream(text) as stream:
            for _ in stream:
                pass
            return stream.result

    def stream(self, text: Text | None = None) -> ChatStream:
        """Like say(), as an iterator over pieces; without a text an answer to the messages as they stand.

        The answer ends when the iterator is closed or dropped, as by `break`, and when the next one begins. What it has
        said so far joins the conversation.
        """
        data = None if text is None else _native.data_of(text, "text")
        self.stop()
        stream = ChatStream(self)
        self._answer = weakref.ref(stream)  # before the answer begins: Ctrl-C after it finds the answer here
        if data is None:
            _native.check(library.loom_chat_answer(self._handle.value, 0))
        else:
            _native.check(library.loom_chat_say(self._handle.value, data, len(data), 0))
        return stream

    def stop(self) -> None:
        """Ends an answer that runs; what it has said so far joins the conversation."""
        stream = None if self._answer is None else self._answer()
        self._answer = None
        if stream is not None:
            stream.close()
        else:
            _native.check(library.loom_chat_stop(self._handle.value))

    def _described(self) -> str:
        count = len(self.messages)
        return f"{count} {'message' if count == 1 else 'messages'}, {self.model!r}"

    @property
    def messages(self) -> list[Json]:
        """The conversation, a list of dicts with role and content. Assigning another one replaces it."""
        return _native.records(library.loom_chat_messages, self._handle.value)

    @messages.setter
    def messages(self, messages: Iterable[Json]) -> None:
        data = _native.to_json(list(messages))
        _native.check(library.loom_chat_set_messages(self._handle.value, data, len(data)))

    def rewind(self, count: int) -> None:
        """Keeps the first so many messages."""
        _native.check(library.loom_chat_rewind(self._handle.value, _native.whole(count, "count", 0, 2**40)))

    def edit(self, index: int, text: Text) -> None:
        """Gives a message another text and forgets what follows."""
        data = _native.data_of(text, "text")
        _native.check(library.loom_chat_edit(self._handle.value, _native.whole(index, "index", 0, 2**40), data,
                                             len(data)))

    def receipt(self) -> Json:
        """The receipt of the last complete answer, a dict: what proves it on another machine (docs/guide/audit.md)."""
        return _native.record(library.loom_chat_receipt, self._handle.value)

    def save(self, path: Path) -> None:
        """Writes the conversation with the receipts of its answers into a file, whole or not at all."""
        _native.check(library.loom_chat_save(self._handle.value, _native.utf8(path, "path")))

    def load(self, path: Path) -> None:
        """Reads a conversation from a file."""
        _native.check(library.loom_chat_load(self._handle.value, _native.utf8(path, "path")))


class ChatStream(Answer):
    """An answer of a chat that is being written: an iterator over pieces of text."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(library.loom_chat_next, library.loom_chat_result, library.loom_chat_receipt,
                         library.loom_chat_logprobs if chat._has_logprobs else None)
        self._chat, self._handle, self._open = chat, chat._handle, True

    def close(self) -> None:
        """Ends the answer here; what it has said so far joins the conversation."""
        with self._lock:
            if not self._open:
                return
            self._open = False
            if self._step.stop == _abi.STOP_NOT_YET and not self._chat._handle.is_closed:
                _native.check(library.loom_chat_stop(self._chat._handle.value))
            self._handle = _native.Handle()  # not the chat's, which goes on
            self._handle.close()

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()
