"""Sessions of language models: sequences of tokens that a model has read."""

from __future__ import annotations

import ctypes
import os

from .. import _abi, _native, _tensors
from .._native import library
from .answers import Stream
from .base import Model
from .options import encoded_prompt, generation_options, takes_options

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, TypedDict

    from .._types import Adapters, Array, Json, Path, Precision, Text, Unpack
    from .answers import Generation
    from .options import AnswerOptions, Prompt, PromptForm

    class SessionOptions(TypedDict, total=False):
        """Options of a session of a language model."""

        sequences: int
        context: int | None
        kv_dtype: str | None
        int8_activations: bool
        isa: str | None
        threads: int | None
        device: str | None
        precision: Precision | None


_KIND = slice(64, 72)  # the name of the first section of an .entity


class Session(_native.Owner):
    """Sequences of tokens that a language model has read, with their caches. LM.session() makes one.

    Sessions share the weights of their model and keep them alive. The logits of a sequence have the same bits whether
    its tokens were fed at once, in parts, alone or beside other sequences. generate(), stream() and perplexity() work
    in sequence 0. One thread at a time may use a session.

    Args:
        model: The LM.
        adapters: Adapters of the model that are applied, as [0]; () applies none, None all.
        sequences: Number of sequences that it holds at once.
        context: Longest sequence in tokens; None: that of the model.
        kv_dtype: Numeric type of keys and values: "float32" (or None), "bfloat16", "int8".
        int8_activations: True computes with activations of 8 bits instead of 16: faster, less exact.
        isa: Instruction set, as "avx2"; None: the best one of this processor. No result depends on it.
        threads: Workers, 1 to 256; None: those of the model. No result depends on it.
        device: "cpu", "auto", or a card of gpu_report(), as "gpu"; None: that of the model.
        precision: "strict" or "fast" of `device`; None: that of the model.

    Attributes:
        model: The LM.

    Raises:
        NotFoundError: If the model has no such adapter.
        ValueError: If an argument is out of range.

    >>> with lm.session() as session:  # doctest: +SKIP
    ...     session.feed("The capital of France is")
    ...     session.save("france.session")
    ...     print(session.generate(" the city of", form="raw", max_tokens=4))
    """

    def __init__(
        self,
        model: Model,
        adapters: Adapters = None,
        *,
        sequences: int = 1,
        context: int | None = None,
        kv_dtype: str | None = None,
        int8_activations: bool = False,
        isa: str | None = None,
        threads: int | None = None,
        device: str | None = None,
        precision: Precision | None = None,
    ) -> None:
        _native.instance(model, Model, "model", "an LM")
        compute = _native.compute((model._threads or None) if threads is None else threads, isa, device, precision)
        if device is None and precision is None:
            compute.contents.device = model._device
        options = _abi.SessionOptions(
            compute=compute,
            sequences=_native.whole(sequences, "sequences", 1, 2**31),
            context_tokens=model._context if context is None else _native.whole(context, "context", 1, 2**24),
            kv_dtype=_native.utf8(kv_dtype, "kv_dtype") if kv_dtype else None,
            int8_activations=_native.truth(int8_activations, "int8_activations"),
        )
        self.model = model
        self._turns = _native.Turns()  # logits and tokens last until the next call
        self._handle = _native.make(library.loom_session_create, model._handle.value, ctypes.byref(options))
        if adapters is not None:
            self.choose_adapters(adapters)

    def _ids(self, prompt: Prompt) -> ctypes.Array[ctypes.c_int32]:
        numbers: Any = prompt
        if isinstance(prompt, (str, bytes, bytearray, memoryview)):
            numbers = self.model.tokenizer.encode(prompt)
        ids = [
            _native.whole(i, "an id", 0, 2**31 - 1)
            for i in _native.items(numbers, "prompt", "a text or a list of token ids")
        ]
        return (ctypes.c_int32 * len(ids))(*ids)

    def feed(self, prompt: Text | Sequence[int], sequence: int = 0) -> Array:
        """Appends tokens to a sequence and returns the logits of the token that follows.

        Args:
            prompt: A text, which is encoded without a chat template, or a list of token ids.
            sequence: Number of the sequence, from 0.

        Returns:
            The logits, an array [vocabulary].

        Raises:
            ValueError: If an id is not in the vocabulary, or there is no such sequence.
            LoomError: If the context is full (ContextFull). After an error the sequence is as before.
        """
        ids, place = self._ids(prompt), _sequence(sequence)
        cancel, out, count = _native.make(library.loom_cancel_create), _tensors.pointer_to("f"), ctypes.c_size_t()

        def run() -> None:
            _native.check(
                library.loom_session_feed(
                    self._handle.value, place, ids, len(ids), cancel.value, ctypes.byref(out), ctypes.byref(count)
                )
            )

        with self._turns:
            _native.long_call(run, cancel)
            return _tensors.copied(out, count.value, (count.value,))

    def logits(self, prompt: Text | Sequence[int], sequence: int = 0) -> Array:
        """Returns the logits that feed() would return, and leaves the sequence as it was.

        Args:
            prompt: A text or a list of token ids, as those of feed().
            sequence: Number of the sequence, from 0.

        Returns:
            The logits, an array [vocabulary].

        Raises:
            ValueError: If an id is not in the vocabulary, or there is no such sequence.
            LoomError: If the context is full (ContextFull).
        """
        length = len(self.tokens(sequence))
        out = self.feed(prompt, sequence)
        self.rewind(length, sequence)
        return out

    def tokens(self, sequence: int = 0) -> list[int]:
        """Returns the token ids of a sequence.

        Args:
            sequence: Number of the sequence, from 0.

        Returns:
            The ids, a list of int.
        """
        ids, count = ctypes.POINTER(ctypes.c_int32)(), ctypes.c_size_t()
        with self._turns:
            _native.check(
                library.loom_session_tokens(
                    self._handle.value, _sequence(sequence), ctypes.byref(ids), ctypes.byref(count)
                )
            )
            return ids[: count.value]

    def rewind(self, length: int, sequence: int = 0) -> None:
        """Drops the tokens of a sequence after the first ones.

        Args:
            length: Number of tokens to keep.
            sequence: Number of the sequence, from 0.

        Raises:
            ValueError: If the sequence has fewer tokens, or they have left a sliding window.
        """
        _native.check(
            library.loom_session_rewind(
                self._handle.value, _sequence(sequence), _native.whole(length, "length", 0, 2**40)
            )
        )

    def reset(self, sequence: int | None = None) -> None:
        """Empties a sequence.

        Args:
            sequence: Number of the sequence, from 0; None: all sequences.
        """
        for each in range(self.info["sequences"]) if sequence is None else (sequence,):
            self.rewind(0, each)

    def fork(self, source: int, target: int) -> None:
        """Copies a sequence onto another one.

        Args:
            source: Number of the sequence that is read.
            target: Number of the sequence that becomes equal to it.
        """
        _native.check(library.loom_session_fork(self._handle.value, _sequence(source), _sequence(target)))

    def snapshot(self, sequence: int = 0) -> bytes:
        """Returns the tokens of a sequence with their keys and values.

        Args:
            sequence: Number of the sequence, from 0.

        Returns:
            Bytes for restore(), on any machine.
        """
        return _native.blob(library.loom_session_snapshot, self._handle.value, _sequence(sequence))

    def restore(self, snapshot: Text, sequence: int = 0) -> None:
        """Replaces a sequence by a snapshot.

        Args:
            snapshot: Bytes of snapshot().
            sequence: Number of the sequence that is replaced, from 0.

        Raises:
            ValueError: If the snapshot is of another model.
            LoomError: If the bytes are damaged (CorruptData).
        """
        data = _native.data_of(snapshot, "snapshot")
        _native.check(library.loom_session_restore(self._handle.value, _sequence(sequence), data, len(data)))

    def save(self, path: Path, sequence: int = 0, *, overwrite: bool = False) -> None:
        """Writes the snapshot of a sequence into a file, whole or not at all.

        Args:
            path: The file, which is replaced if it holds a snapshot.
            sequence: Number of the sequence, from 0.
            overwrite: True replaces a file of another kind, too.

        Raises:
            ValueError: If the file exists and holds no snapshot.
        """
        name, data = os.fspath(path), self.snapshot(sequence)
        if not _native.truth(overwrite, "overwrite") and os.path.isfile(name):
            with open(name, "rb") as old:
                begins = old.read(_KIND.stop)
            if begins and (begins[:8], begins[_KIND]) != (data[:8], data[_KIND]):
                raise ValueError(f"{name}: exists and is no snapshot; not overwritten without overwrite=True")
        unfinished = f"{name}.{os.urandom(8).hex()}.part"
        out = open(unfinished, "xb")  # pylint: disable=consider-using-with  # it gets the mode of any new file
        try:
            with out:
                out.write(data)
            os.replace(unfinished, name)
        except BaseException:
            os.unlink(unfinished)
            raise

    def load(self, path: Path, sequence: int = 0) -> None:
        """Replaces a sequence by the snapshot in a file.

        Args:
            path: A file of save().
            sequence: Number of the sequence that is replaced, from 0.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If the snapshot is of another model.
            LoomError: If the file is damaged (CorruptData).
        """
        with open(path, "rb") as file:
            self.restore(file.read(), sequence)

    def choose_adapters(self, adapters: Adapters) -> None:
        """Chooses which adapters of the model this session applies, and empties all sequences.

        Args:
            adapters: Numbers or names of the adapters, as [0]; () applies none, None all.

        Raises:
            NotFoundError: If the model has no such adapter.
        """
        chosen = (
            []
            if adapters is None
            else [
                _native.utf8(str(a), "an adapter")
                for a in _native.items(adapters, "adapters", "a list of numbers or names")
            ]
        )
        _native.check(
            library.loom_session_choose_adapters(
                self._handle.value, (ctypes.c_char_p * len(chosen))(*chosen), len(chosen), adapters is None
            )
        )

    @takes_options
    def generate(
        self, prompt: Prompt, *, form: PromptForm = "auto", receipt: bool = False, **options: Unpack[AnswerOptions]
    ) -> Generation:
        """Continues sequence 0 with a prompt and an answer to it.

        The sequence then holds the prompt and the answer, but for the token that was drawn last.

        Args:
            prompt: A text; a conversation, a list of dicts with role and content; or a list of token ids, which are
                read as they are.
            form: Form of a text, see stream().
            receipt: True adds the answer's receipt, see LM.generate().
            **options: see generation_options().

        Returns:
            The answer.

        Raises:
            TypeError: If an option has another type.
            ValueError: If an option is out of range.
            LoomError: If the model has no chat template and `form` is "chat" (NoTemplate).
        """
        with self.stream(prompt, form=form, **options) as stream:
            return stream.finish(receipt)

    @takes_options
    def stream(self, prompt: Prompt, *, form: PromptForm = "auto", **options: Unpack[AnswerOptions]) -> Stream:
        """Continues sequence 0 with a prompt and an answer to it, piece by piece.

        Args:
            prompt: A text; a conversation, a list of dicts with role and content, which the chat template writes; or a
                list of token ids, which are read as they are.
            form: Form of a text: "chat" writes it as a message with the chat template of the model, "raw" takes it as
                it is, "auto" is "chat" if the model has a chat template.
            **options: see generation_options().

        Returns:
            An iterator over pieces of text; its property `result` is the Generation.

        Raises:
            TypeError: If an option has another type.
            ValueError: If an option is out of range.
            LoomError: If the model has no chat template and `form` is "chat" (NoTemplate).
        """
        values, _keeps = generation_options(**options)
        encoded = encoded_prompt(prompt, form, options)
        if encoded is None:
            ids = self._ids(prompt)
            handle = _native.make(
                library.loom_generator_create, self._handle.value, ids, len(ids), ctypes.byref(values)
            )
        else:
            data, kind = encoded
            handle = _native.make(
                library.loom_generator_from_text, self._handle.value, data, len(data), kind, ctypes.byref(values)
            )
        return Stream(handle, values.logprobs != 0)

    def perplexity(self, text: Text, *, window: int = 512, max_windows: int | None = None) -> Json:
        """Scores a text in sequence 0, which is emptied before.

        Args:
            text: The text, which is encoded without a chat template.
            window: Number of tokens that are read at once.
            max_windows: Most windows that are read; None: the whole text.

        Returns:
            A dict with the perplexity and the mean negative log-likelihood of each window.
        """
        data, cancel = _native.data_of(text, "text"), _native.make(library.loom_cancel_create)
        most = 0 if max_windows is None else _native.whole(max_windows, "max_windows", 1, 2**40)
        size = _native.whole(window, "window", 1, 2**24)
        return _native.long_call(
            lambda: _native.record(
                library.loom_session_perplexity, self._handle.value, data, len(data), size, most, cancel.value
            ),
            cancel,
        )

    @property
    def info(self) -> Json:
        """A dict: isa, threads, activations, context_tokens, sequences, adapters, scratch_bytes, token_bytes."""
        return _native.record(library.loom_session_info, self._handle.value)

    def _described(self) -> str:
        count = len(self.tokens())
        return f"of {self.model.path}: {count} {'token' if count == 1 else 'tokens'}"


def _sequence(number: int) -> int:
    return _native.whole(number, "sequence", 0, 2**40)
