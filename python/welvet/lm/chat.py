"""Conversations with a language model."""

from __future__ import annotations

import ctypes
import weakref

from .. import _abi, _native
from .._native import library
from .answers import Answer
from .options import generation_options, takes_options
from .session import Session

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._types import Adapters, Json, Path, Text, Unpack
    from .answers import Generation
    from .base import Model
    from .options import AnswerOptions


@takes_options
class Chat(_native.Owner):
    """A conversation with a language model: messages in, answers out. LM.chat() begins one.

    Every message is written with the chat template of the model. Tokens that the model has read are not read again.

    Args:
        model: The LM.
        system: Message that the conversation begins with; None: none.
        adapters: Adapters of the model that are applied, as [0]; () applies none, None all.
        **options: those of every answer.

    Attributes:
        model: The LM.

    Raises:
        TypeError: If an option has another type.
        ValueError: If an option is out of range.
        LoomError: If the model has no chat template (NoTemplate).

    >>> chat = Chat(LM("model.gguf"), system="You are brief.")  # doctest: +SKIP
    >>> print(chat.say("Who was Ada Lovelace?"))  # doctest: +SKIP
    """

    def __init__(
        self, model: Model, system: str | None = None, *, adapters: Adapters = None, **options: Unpack[AnswerOptions]
    ) -> None:
        self.model = model
        self._answer: weakref.ref[ChatStream] | None = None  # the last one, which may still run
        values, self._keeps = generation_options(**options)
        self._has_logprobs = values.logprobs != 0
        session = Session(model, adapters)
        self._handle = _native.make(
            library.loom_chat_create,
            session._handle.value,
            _native.utf8(system, "system") if system else None,
            ctypes.byref(values),
        )

    def say(self, text: Text) -> Generation:
        """Adds a message of the user and answers it.

        Ctrl-C ends the answer; its text so far joins the conversation, which goes on.

        Args:
            text: The message.

        Returns:
            The answer.

        Raises:
            LoomError: If the message does not fit into the context (ContextFull).
        """
        with self.stream(_native.data_of(text, "text")) as stream:
            for _ in stream:
                pass
            return stream.result

    def stream(self, text: Text | None = None) -> ChatStream:
        """Like say(), as an iterator over pieces of text.

        The answer ends when the iterator is closed or dropped, as by `break`, and when the next one begins. Its text so
        far joins the conversation.

        Args:
            text: The message; None: the answer is to the messages as they stand.

        Returns:
            An iterator over pieces of text; its property `result` is the Generation.

        Raises:
            LoomError: If the message does not fit into the context (ContextFull).
        """
        data = None if text is None else _native.data_of(text, "text")
        self.stop()
        stream = ChatStream(self)
        self._answer = weakref.ref(stream)  # before the answer begins: after Ctrl-C stop() finds it
        if data is None:
            _native.check(library.loom_chat_answer(self._handle.value, 0))
        else:
            _native.check(library.loom_chat_say(self._handle.value, data, len(data), 0))
        return stream

    def stop(self) -> None:
        """Ends the answer that runs; its text so far joins the conversation."""
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
        """The conversation, a list of dicts with role and content. Assigning another list replaces it."""
        return _native.records(library.loom_chat_messages, self._handle.value)

    @messages.setter
    def messages(self, messages: Iterable[Json]) -> None:
        data = _native.to_json(_native.items(messages, "messages", "a list of dicts with role and content"))
        _native.check(library.loom_chat_set_messages(self._handle.value, data, len(data)))

    def rewind(self, count: int) -> None:
        """Drops messages from the end.

        Args:
            count: Number of messages that are kept.

        Raises:
            ValueError: If the conversation has fewer messages.
        """
        _native.check(library.loom_chat_rewind(self._handle.value, _native.whole(count, "count", 0, 2**40)))

    def undo(self) -> str:
        """Drops the last message of the user and what follows it.

        Returns:
            The text of that message.

        Raises:
            IndexError: If the conversation has no message of the user.
        """
        self.stop()
        messages = self.messages
        index = next((i for i in range(len(messages) - 1, -1, -1) if messages[i]["role"] == "user"), None)
        if index is None:
            raise IndexError("the conversation has no message of the user")
        self.rewind(index)
        return str(messages[index]["content"])

    def edit(self, index: int, text: Text) -> None:
        """Replaces the text of a message and drops the messages after it.

        Args:
            index: Place of the message in `messages`.
            text: Its new text.

        Raises:
            ValueError: If there is no such message.
        """
        data = _native.data_of(text, "text")
        _native.check(
            library.loom_chat_edit(self._handle.value, _native.whole(index, "index", 0, 2**40), data, len(data))
        )

    def receipt(self) -> Json:
        """Returns the receipt of the last complete answer, which proves it on another machine (docs/guide/audit.md).

        Returns:
            A dict for json.dump() and replay_receipt().

        Raises:
            LoomError: If there is no complete answer (InvalidState), or the model came from memory.
        """
        return _native.record(library.loom_chat_receipt, self._handle.value)

    def save(self, path: Path) -> None:
        """Writes the conversation with the receipts of its answers into a file, whole or not at all.

        Args:
            path: The file, which is replaced if it holds a conversation.

        Raises:
            ValueError: If the file exists and holds no conversation.
        """
        _native.check(library.loom_chat_save(self._handle.value, _native.utf8(path, "path")))

    def load(self, path: Path) -> None:
        """Replaces the conversation by that of a file.

        Args:
            path: A file of save().

        Raises:
            NotFoundError: If there is no such file.
            LoomError: If the file is not a conversation (CorruptData).
        """
        _native.check(library.loom_chat_load(self._handle.value, _native.utf8(path, "path")))


class ChatStream(Answer):
    """An answer of a chat that is being written: an iterator over pieces of text. Made by Chat.stream()."""

    def __init__(self, chat: Chat) -> None:
        super().__init__(
            library.loom_chat_next,
            library.loom_chat_result,
            library.loom_chat_receipt,
            library.loom_chat_logprobs if chat._has_logprobs else None,
        )
        self._chat, self._handle, self._open = chat, chat._handle, True

    def close(self) -> None:
        """Ends the answer where it is; its text so far joins the conversation."""
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
