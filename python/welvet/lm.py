"""Language models: load one, ask it, stream its answer."""

from __future__ import annotations

import codecs
import ctypes
import dataclasses
import itertools
import threading

from . import _abi, _native, _tensors
from ._native import library
from .hub import find_model
from .tokenizer import Tokenizer

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from .chat import Chat

    from ._types import (Adapters, AnswerOptions, Array, Buffer, Function, Json, Path, Precision, PromptForm, Self, Speculate,
                         StreamOptions, Text, Told, Unpack)

_STOPS = ("", "eos", "stop", "length", "context", "cancelled")
_FORMS = {"auto": _abi.PROMPT_AUTO, "raw": _abi.PROMPT_RAW, "chat": _abi.PROMPT_CHAT}


@dataclasses.dataclass(frozen=True)
class Generation:
    """What a model wrote.

    text: the answer, without stop text and end-of-sequence token.
    ids: its tokens.
    stop_reason: "eos", "stop", "length", "context" or "cancelled".
    hash: SHA-256 of the ids and the bits of the last logits, hexadecimal: equal on every machine.
    prompt_tokens: tokens that were read before.
    prefill_seconds, decode_seconds: time spent on reading the prompt and on writing the answer.
    drafted, accepted, passes: of an answer with `speculate`, drafted tokens, those of them that came true, passes.
    logprobs: of an answer with `logprobs`, a dict per token: id, logprob (natural logarithm, before temperature and
    cuts) and top, the best tokens by the same; else None.
    receipt: what proves the answer on another machine, of LM.generate(..., receipt=True); else None.
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


class LM(_native.Owner):
    """A language model: weights, tokenizer, chat template. Sessions share it.

    model: a GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache.
    dtype: quantises the matrices on load, as "int8"; None: as stored.
    threads: workers of its sessions; None: one per physical core.
    context: longest conversation in tokens; None: what the model was trained for, at most 4096.
    device: where its sessions run, "cpu" (or None), "auto" or a card of gpu_report(), as "gpu". The answers do not
    depend on it.
    precision: "strict" (or None), or "fast": a card need not be exact. Answers are then those of no other device, and
    may be others with its next driver; the same where other classes and train() have it.
    adapters: folders of low-rank adapters as PEFT writes them; all of them count unless a call chooses among them.
    progress: called with the part that is loaded, from 0 to 1; returning False cancels, a CancelledError. True shows a
    bar, where tqdm is installed and the program has a terminal.

    NotFoundError where there is no such model; it says how to fetch a hub id. LoomError with the code Unsupported or
    CorruptData for a file that is no model.
    """

    def __init__(self, model: Path, *, dtype: str | None = None, threads: int | None = None,
                 context: int | None = None, adapters: Sequence[Path] = (),
                 progress: Told | bool | None = None, device: str | None = None, precision: Precision | None = None) -> None:
        self._take(_native.Handle(), find_model(model), threads, context, device, precision)
        path = _native.utf8(self.path, "model")
        self._load(dtype, adapters, progress, library.loom_model_open, path)

    def _load(self, dtype: str | None, adapters: Sequence[Path], progress: Told | bool | None, function: Function,
              *source: object) -> None:
        """Makes the handle by function(*source, options, handle)."""
        if isinstance(adapters, (str, bytes)):
            raise TypeError("adapters must be a list of folders")
        folders = [_native.utf8(folder, "a folder of adapters") for folder in adapters]
        names = (ctypes.c_char_p * len(folders))(*folders)
        options = _abi.ModelOptions(dtype=_native.utf8(dtype, "dtype") if dtype else None, adapters=names,
                                    adapters_count=len(names))
        cancel = _native.make(library.loom_cancel_create)
        options.cancel = cancel.value
        with _native.Progress(progress) as told:
            options.progress = told.callback
            _native.long_call(lambda: self._handle.make(function, *source, ctypes.byref(options)), cancel)

    @classmethod
    def from_bytes(cls, data: Buffer | dict[str, Buffer], *, dtype: str | None = None, threads: int | None = None,
                   context: int | None = None, adapters: Sequence[Path] = (), progress: Told | bool | None = None,
                   device: str | None = None, precision: Precision | None = None) -> Self:
        """Loads a model from memory; other parameters as those of LM.

        data: the bytes of a GGUF file or an .entity; or a dict with the files of a Hugging Face folder, from their names
        ("config.json", "model.safetensors", "tokenizer.json") to their bytes. They are read during the call only.
        An answer of such a model has no receipt: there is no file to name.
        """
        out = cls.__new__(cls)
        out._take(_native.Handle(), "memory", threads, context, device, precision)
        if isinstance(data, dict):
            contents = [_native.content_of(content, f"the file {name}") for name, content in data.items()]
            names = (ctypes.c_char_p * len(contents))(*[_native.utf8(name, "the name of a file") for name in data])
            ends = (ctypes.c_uint64 * len(contents))(*itertools.accumulate(map(len, contents)))
            joined = b"".join(contents)
            out._load(dtype, adapters, progress, library.loom_model_from_files, names, len(names), joined, len(joined),
                      ends, len(ends))
        else:
            content = _native.content_of(data, "data")
            out._load(dtype, adapters, progress, library.loom_model_from_memory, content, len(content))
        return out

    def _take(self, handle: _native.Handle, path: str, threads: int | None, context: int | None,
              device: str | None = None, precision: Precision | None = None) -> None:
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
        """The model's adapters, dicts with name, rank, alpha, matrices and parameters; names are "0", "1", ..."""
        return _native.records(library.loom_model_adapters, self._handle.value)

    @property
    def info(self) -> Json:
        """Format, sizes, context and what is missing, a dict."""
        return _native.record(library.loom_model_info, self._handle.value)

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's Tokenizer."""
        if self._tokenizer is None:
            self._tokenizer = Tokenizer(_native.make(library.loom_model_tokenizer, self._handle.value))
        return self._tokenizer

    def _described(self) -> str:
        info = self.info
        sizes = f"{info['layers']} layers of {info['hidden_size']}, {info['vocab_size']} tokens"
        return f"{self.path}: {info['format']}, {sizes}"

    def render_chat(self, messages: Iterable[Json], add_generation_prompt: bool = True) -> str:
        """Writes messages, a list of {"role", "content"}, as the model's chat template has them."""
        data = _native.to_json(list(messages))
        out = _native.blob(library.loom_model_render_chat, self._handle.value, data, len(data), add_generation_prompt)
        return out.decode("utf-8", "replace")

    def generate(self, prompt: Text, *, receipt: bool = False, **options: Unpack[StreamOptions]) -> Generation:
        """Returns the Generation that answers or continues a prompt; options as those of stream().

        receipt: True adds the answer's receipt, a dict (docs/guide/audit.md); the model's file is hashed for the first.

        >>> lm.generate("Once upon a time", form="raw", max_tokens=50, temperature=0.8, seed=1)  # doctest: +SKIP
        """
        with self.stream(prompt, **options) as stream:
            for _ in stream:
                pass
            return dataclasses.replace(stream.result, receipt=stream.receipt()) if receipt else stream.result

    def logits(self, prompt: Text | Sequence[int], *, adapters: Adapters = None) -> Array:
        """Returns the logits of the token that follows a text or ids, an array [vocabulary]; the text stands as it is.

        `tokenizer.id_of(text)` is the place of a token.
        """
        if isinstance(prompt, (str, bytes, bytearray, memoryview)):
            prompt = self.tokenizer.encode(prompt)
        numbers = [_native.whole(i, "an id", 0, 2**31 - 1) for i in prompt]
        session, cancel = self.session(adapters), _native.make(library.loom_cancel_create)
        array, out, count = (ctypes.c_int32 * len(numbers))(*numbers), _tensors.pointer_to("f"), ctypes.c_size_t()
        _native.long_call(lambda: _native.check(library.loom_session_feed(
            session.value, 0, array, len(numbers), cancel.value, ctypes.byref(out), ctypes.byref(count))), cancel)
        return _tensors.copied(out, count.value, (count.value,))

    def perplexity(self, text: Text, *, window: int = 512, max_windows: int | None = None,
                   adapters: Adapters = None) -> Json:
        """Scores a text: a dict with its perplexity and the mean of each window.

        window: tokens that are read at once. max_windows: None: the whole text.
        """
        data, cancel = _native.data_of(text, "text"), _native.make(library.loom_cancel_create)
        session = self.session(adapters)
        most = 0 if max_windows is None else _native.whole(max_windows, "max_windows", 1, 2**40)
        size = _native.whole(window, "window", 1, 2**24)
        return _native.long_call(lambda: _native.record(
            library.loom_perplexity, session.value, data, len(data), size, most, cancel.value), cancel)

    def session(self, adapters: Adapters = None) -> _native.Handle:
        """Returns the handle of a new session, which keeps the model alive."""
        options = _abi.SessionOptions(thread_count=self._threads, context_tokens=self._context,
                                      device=self._device)
        session = _native.make(library.loom_session_create, self._handle.value, ctypes.byref(options))
        if adapters is not None:
            chosen = [_native.utf8(str(a), "an adapter") for a in adapters]
            _native.check(library.loom_session_choose_adapters(session.value, (ctypes.c_char_p * len(chosen))(*chosen),
                                                               len(chosen), False))
        return session

    def chat(self, system: str | None = None, *, adapters: Adapters = None, **options: Unpack[AnswerOptions]) -> Chat:
        """Returns a Chat with this model; options as those of stream()."""
        from .chat import Chat  # pylint: disable=import-outside-toplevel,cyclic-import

        return Chat(self, system, adapters=adapters, **options)

    def stream(self, prompt: Text, *, form: PromptForm = "auto", adapters: Adapters = None,
               **options: Unpack[AnswerOptions]) -> Stream:
        """Returns a Stream: iterate over it for pieces of text as they settle; its result is a Generation.

        form: "auto" asks a model that has a chat template and lets the others continue the text; "raw", "chat".
        adapters: which of the model's adapters count, as [0]; () is none of them, None all.
        options: max_tokens, temperature, top_k, top_p, min_p, typical_p, repetition_penalty, repetition_window,
        frequency_penalty, presence_penalty, min_tokens, ignore_eos, stop, stop_ids, logit_bias, logprobs, seed,
        speculate, plain_text;
        `help(welvet.lm.generation_options)` says what they mean. ValueError for one that is out of range.
        """
        if form not in _FORMS:
            raise ValueError(f"form is {form!r}: expected one of {', '.join(_FORMS)}")
        if form == "raw" and options.get("plain_text"):
            raise ValueError('plain_text has no effect with form="raw"')
        values, _keeps = generation_options(**options)
        data, session = _native.data_of(prompt, "prompt"), self.session(adapters)
        return Stream(_native.make(library.loom_generator_from_text, session.value, data, len(data), _FORMS[form],
                                   ctypes.byref(values)), values.logprobs != 0)


def generation_options(*, max_tokens: int | None = None, temperature: float = 0.0, top_k: int = 0, top_p: float = 1.0,
                       min_p: float = 0.0, typical_p: float = 1.0, repetition_penalty: float = 1.0,
                       repetition_window: int = 64, frequency_penalty: float = 0.0, presence_penalty: float = 0.0,
                       min_tokens: int = 0, ignore_eos: bool = False, stop: str | Sequence[str] | None = (),
                        stop_ids: Sequence[int] = (), logit_bias: Mapping[int, float] | None = None, logprobs: int = 0,
                        seed: int = 0, speculate: Speculate = None,
                        plain_text: bool = False) -> tuple[_abi.GenerationOptions, object]:
    """Returns the options of an answer as the library takes them, and what keeps them alive.

    max_tokens: most tokens of the answer; None: 128; 0: the prompt is read and nothing is drawn. min_tokens: it does
    not end before so many.
    stop: a text or several that end it, which the answer leaves out; None: none. stop_ids: tokens that end it beside
    the model's own. ignore_eos: tokens that end it are banned.
    logit_bias: from ids to numbers that are added to their logits before each draw; -inf: never drawn.
    logprobs: so many of the best tokens of each draw go into Generation.logprobs; 0: none.
    temperature: 0 takes the most likely token each time; above 0 tokens are drawn, and the same seed draws the same.
    top_k: among so many; 0: among all. top_p, typical_p: among those that make up so much probability, above 0 to 1.
    min_p: among those at least so likely as this part of the likeliest one.
    repetition_penalty: above 1 makes tokens of the last repetition_window ones (-1: of all) less likely, as do
    frequency_penalty by how often they stood there and presence_penalty if they did.
    speculate: drafts several tokens at once, for the same answer in less time: "ngram" from what followed the same
    tokens before, an LM that is smaller and has the same tokens by what it would write.
    plain_text: control tokens in questions and messages, as <|im_end|>, are read as text: for texts of strangers. Those
    that the chat template writes stay.
    """
    stops = [_native.utf8(s, "stop") for s in ([stop] if isinstance(stop, str) else stop or ())]
    for name, value in (("top_p", top_p), ("typical_p", typical_p), ("repetition_penalty", repetition_penalty),
                        ("repetition_window", repetition_window)):
        if value == 0:  # which means the default in C
            raise ValueError(f"{name} is 0: it must not be")
    if speculate is not None and speculate != "ngram" and not isinstance(speculate, LM):
        raise ValueError(f"speculate is {speculate!r}: expected 'ngram', an LM or None")
    largest, texts = 2**63 - 1, (ctypes.c_char_p * len(stops))(*stops)
    biased = [(_native.whole(i, "an id of logit_bias", 0, 2**31 - 1), _native.real(bias, "a logit_bias"))
              for i, bias in (logit_bias or {}).items()]
    bias_ids = (ctypes.c_int32 * len(biased))(*[i for i, _ in biased])
    biases = (ctypes.c_float * len(biased))(*[bias for _, bias in biased])
    ends = (ctypes.c_int32 * len(stop_ids))(*[_native.whole(i, "a stop_id", 0, 2**31 - 1) for i in stop_ids])
    most = None if max_tokens is None else _native.whole(max_tokens, "max_tokens", 0, largest)
    values = _abi.GenerationOptions(
        max_tokens=most or 0, prompt_only=most == 0,
        min_tokens=_native.whole(min_tokens, "min_tokens", 0, largest),
        seed=_native.whole(seed, "seed", 0, 2**64 - 1), temperature=_native.real(temperature, "temperature"),
        top_k=_native.whole(top_k, "top_k", 0, 2**31 - 1), top_p=_native.real(top_p, "top_p"),
        min_p=_native.real(min_p, "min_p"), typical_p=_native.real(typical_p, "typical_p"),
        repetition_penalty=_native.real(repetition_penalty, "repetition_penalty"),
        repetition_window=_native.whole(repetition_window, "repetition_window", -1, 2**31 - 1),
        frequency_penalty=_native.real(frequency_penalty, "frequency_penalty"),
        presence_penalty=_native.real(presence_penalty, "presence_penalty"), ignore_eos=ignore_eos, stop=texts,
        stop_count=len(stops), speculate=speculate is not None,
        draft_model=speculate._handle.value if isinstance(speculate, LM) else 0, bias_ids=bias_ids,
        bias_ids_count=len(bias_ids), biases=biases, biases_count=len(biases), stop_ids=ends, stop_ids_count=len(ends),
        logprobs=_native.whole(logprobs, "logprobs", 0, 2**31 - 1), plain_text=plain_text)
    return values, (texts, speculate, bias_ids, biases, ends)


class Answer(_native.Owner):
    """An answer that is being written: an iterator over pieces of text, also `async for`."""

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
        """Tokens of the prompt that have been read."""
        return int(self._step.prompt_tokens)

    @property
    def result(self) -> Generation:
        """The Generation so far, or whole."""
        out = _abi.Generation()
        with self._lock:
            _native.check(self._result(self._handle.value, ctypes.byref(out)))
            best = None if self._logprobs is None else _native.records(self._logprobs, self._handle.value)
            return Generation(
                text=ctypes.string_at(out.text, out.text_size).decode("utf-8", "replace"),
                ids=out.ids[:out.ids_count], stop_reason=_STOPS[out.stop], hash=bytes(out.hash).hex(),
                prompt_tokens=out.prompt_tokens, prefill_seconds=out.prefill_seconds,
                decode_seconds=out.decode_seconds, drafted=out.drafted, accepted=out.accepted, passes=out.passes,
                logprobs=best)

    def receipt(self) -> Json:
        """The receipt of a complete answer, a dict: what proves it on another machine (docs/guide/audit.md)."""
        with self._lock:
            return _native.record(self._receipt, self._handle.value)


class Stream(Answer):
    """An answer to a prompt."""

    def __init__(self, handle: _native.Handle, has_logprobs: bool = False) -> None:
        super().__init__(library.loom_generator_next, library.loom_generator_result, library.loom_generator_receipt,
                         library.loom_generator_logprobs if has_logprobs else None)
        self._handle = handle

    def close(self) -> None:
        """Ends the answer here."""
        with self._lock:
            super().close()
