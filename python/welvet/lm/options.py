"""Options of an answer: the keyword parameters of everything that generates text.

generation_options() is their only list, and its docstring their only description: the decorator takes_options() gives
both to a function that passes `**options` on. To add an option: a parameter of generation_options() with its lines in
`Args:`, the field that it fills, and its type in Sampling.
"""

from __future__ import annotations

import ctypes
import functools

from .. import _abi, _native
from .._parameters import takes
from .base import Model

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Literal, TypedDict, TypeVar, Union

    from typing_extensions import TypeAlias

    from .._types import Json, Text

    T = TypeVar("T", bound=Callable[..., Any])
    Prompt: TypeAlias = Union[Text, Sequence[int], Sequence[Json]]
    PromptForm: TypeAlias = Literal["auto", "raw", "chat"]
    Speculate: TypeAlias = Union[Literal["ngram"], Model, None]

    class Sampling(TypedDict, total=False):
        """How the tokens of an answer are chosen."""

        temperature: float
        top_k: int
        top_p: float
        min_p: float
        typical_p: float
        repetition_penalty: float
        repetition_window: int
        frequency_penalty: float
        presence_penalty: float
        min_tokens: int
        ignore_eos: bool
        stop: str | Sequence[str] | None
        stop_ids: Sequence[int]
        logit_bias: Mapping[int, float] | None
        logprobs: int
        seed: int
        speculate: Speculate
        plain_text: bool
        chat_template: str | None
        tools: Sequence[Json] | None
        template_variables: Json | None
        date: object
        continue_final_message: bool
        schema: Json | str | None
        grammar: str | None
        regex: str | None
        choices: Sequence[str] | None

    class AnswerOptions(Sampling, total=False):
        """Options of an answer."""

        max_tokens: int | None


def _names_unknown(function: T) -> T:
    """Decorates a function of keyword options: an unknown one is an error that says where it belongs."""
    subject: Any = function
    known = subject.__kwdefaults__

    @functools.wraps(function)
    def checked(**options: object) -> object:
        for name in options:
            if name == "system":
                raise TypeError("system is an option of chat(); in a prompt it is a message with the role system")
            if name not in known:
                raise TypeError(f"{name} is no option of an answer; see welvet.LM.generate")
        return function(**options)

    decorated: Any = checked
    typed: T = decorated
    return typed


@_names_unknown
def generation_options(
    *,
    max_tokens: int | None = None,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    typical_p: float = 1.0,
    repetition_penalty: float = 1.0,
    repetition_window: int = 64,
    frequency_penalty: float = 0.0,
    presence_penalty: float = 0.0,
    min_tokens: int = 0,
    ignore_eos: bool = False,
    stop: str | Sequence[str] | None = (),
    stop_ids: Sequence[int] = (),
    logit_bias: Mapping[int, float] | None = None,
    logprobs: int = 0,
    seed: int = 0,
    speculate: Speculate = None,
    plain_text: bool = False,
    chat_template: str | None = None,
    tools: Sequence[Json] | None = None,
    template_variables: Json | None = None,
    date: object = None,
    continue_final_message: bool = False,
    schema: Json | str | None = None,
    grammar: str | None = None,
    regex: str | None = None,
    choices: Sequence[str] | None = None,
) -> tuple[_abi.GenerationOptions, object]:
    """Converts the options of an answer to the structure of the C library.

    Args:
        max_tokens: Most tokens of the answer; None: 128; 0: the prompt is read and no token is drawn.
        temperature: 0 takes the most likely token each time; above 0 tokens are drawn, and equal seeds draw equal
            tokens.
        top_k: Draws among this number of the most likely tokens; 0: among all.
        top_p: Draws among the most likely tokens that together have this probability, above 0 to 1.
        min_p: Draws among tokens with at least this part of the probability of the most likely one, 0 to 1.
        typical_p: Draws among the tokens of typical probability that together have this probability, above 0 to 1.
        repetition_penalty: Above 1 makes the tokens of the last `repetition_window` ones less likely.
        repetition_window: Tokens that the three penalties look back on; -1: all.
        frequency_penalty: Subtracted from a token's logit for each time that it occurred in the window.
        presence_penalty: Subtracted from a token's logit if it occurred in the window.
        min_tokens: The answer does not end before this number of tokens.
        ignore_eos: True bans the tokens that end an answer.
        stop: A text, or a list of texts, that ends the answer and is not part of it; None: no text.
        stop_ids: A list of token ids that end the answer, in addition to the model's own.
        logit_bias: A dict from token id to a number that is added to its logit before each draw; -inf bans the token.
        logprobs: Number of the best tokens of each draw that Generation.logprobs holds; 0: none.
        seed: Seed of the draws, 0 to 2**64 - 1.
        speculate: Drafts several tokens at once, for the same answer in less time: "ngram" drafts the tokens that
            followed the same tokens before; a smaller LM with the same tokens drafts by its own answer. None: no
            drafts.
        plain_text: True reads control tokens in prompts and messages, as `<|im_end|>`, as ordinary text: for texts of
            strangers. The control tokens of the chat template itself keep their meaning.
        chat_template: Used instead of the model's default: the name of another one, as "tool_use" or "chatml", or its
            text.
        tools: A list of functions, dicts, that the chat template describes to the model; None: no functions.
        template_variables: A dict of variables that the chat template reads, as {"enable_thinking": False}.
        date: A datetime.date or "YYYY-MM-DD", for chat templates that write the day; None: they write none.
        continue_final_message: True continues the last message of a list instead of answering it.
        schema: A JSON Schema, a dict or a text: the answer is JSON that satisfies it. An answer that max_tokens cuts is
            the beginning of such a text, with this option and the next three, of which one can be set.
        grammar: A grammar in llama.cpp's GBNF, which the answer satisfies.
        regex: A regular expression that matches the whole answer.
        choices: A list of texts, of which the answer is one.

    Returns:
        The structure, and the objects that its pointers need alive.

    Raises:
        TypeError: If an option is unknown, or has another type; the message names the type that it takes.
        ValueError: If an option is out of range or has no effect beside the others, and if a schema, grammar or regular
            expression has a mistake or something that is not supported; the message names it and its place.
    """
    stops = [
        _native.utf8(s, "stop")
        for s in ([stop] if isinstance(stop, str) else _native.items(stop or (), "stop", "a text or a list of texts"))
    ]
    for name, value in (
        ("top_p", top_p),
        ("typical_p", typical_p),
        ("repetition_penalty", repetition_penalty),
        ("repetition_window", repetition_window),
    ):
        if value == 0:  # which means the default in C
            raise ValueError(f"{name} is 0: it must not be")
    if speculate is not None and speculate != "ngram" and not isinstance(speculate, Model):
        raise ValueError(f"speculate is {speculate!r}: expected 'ngram', an LM or None")
    if sum(given is not None for given in (schema, grammar, regex, choices)) > 1:
        raise ValueError("more than one of schema, grammar, regex and choices is set: expected at most one")
    named = (
        None
        if choices is None
        else [_native.utf8(c, "choices") for c in _native.items(choices, "choices", "a list of texts")]
    )
    if named is not None and not named:
        raise ValueError("choices is empty: expected at least one text")
    ways = (ctypes.c_char_p * len(named or ()))(*(named or ()))
    largest, texts = 2**63 - 1, (ctypes.c_char_p * len(stops))(*stops)
    biased = [
        (_native.whole(i, "an id of logit_bias", 0, 2**31 - 1), _native.real(bias, "a logit_bias"))
        for i, bias in _native.mapping(logit_bias or {}, "logit_bias", "a dict from token id to number").items()
    ]
    bias_ids = (ctypes.c_int32 * len(biased))(*[i for i, _ in biased])
    biases = (ctypes.c_float * len(biased))(*[bias for _, bias in biased])
    ids = [
        _native.whole(i, "a stop_id", 0, 2**31 - 1) for i in _native.items(stop_ids, "stop_ids", "a list of token ids")
    ]
    ends = (ctypes.c_int32 * len(ids))(*ids)
    most = None if max_tokens is None else _native.whole(max_tokens, "max_tokens", 0, largest)
    values = _abi.GenerationOptions(
        max_tokens=most or 0,
        prompt_only=most == 0,
        min_tokens=_native.whole(min_tokens, "min_tokens", 0, largest),
        seed=_native.whole(seed, "seed", 0, 2**64 - 1),
        temperature=_native.real(temperature, "temperature"),
        top_k=_native.whole(top_k, "top_k", 0, 2**31 - 1),
        top_p=_native.real(top_p, "top_p"),
        min_p=_native.real(min_p, "min_p"),
        typical_p=_native.real(typical_p, "typical_p"),
        repetition_penalty=_native.real(repetition_penalty, "repetition_penalty"),
        repetition_window=_native.whole(repetition_window, "repetition_window", -1, 2**31 - 1),
        frequency_penalty=_native.real(frequency_penalty, "frequency_penalty"),
        presence_penalty=_native.real(presence_penalty, "presence_penalty"),
        ignore_eos=_native.truth(ignore_eos, "ignore_eos"),
        stop=texts,
        stop_count=len(stops),
        speculate=speculate is not None,
        draft_model=speculate._handle.value if isinstance(speculate, Model) else 0,
        bias_ids=bias_ids,
        bias_ids_count=len(bias_ids),
        biases=biases,
        biases_count=len(biases),
        stop_ids=ends,
        stop_ids_count=len(ends),
        logprobs=_native.whole(logprobs, "logprobs", 0, 2**31 - 1),
        plain_text=_native.truth(plain_text, "plain_text"),
        chat_template=None if chat_template is None else _native.utf8(chat_template, "chat_template"),
        tools=None if tools is None else _native.to_json(_native.items(tools, "tools", "a list of dicts")),
        template_variables=None
        if template_variables is None
        else _native.to_json(_native.mapping(template_variables, "template_variables", "a dict from name to value")),
        date=None if date is None else _native.utf8(_day(date), "date", "a datetime.date or a text, as 2026-11-28"),
        continue_final_message=_native.truth(continue_final_message, "continue_final_message"),
        schema=None
        if schema is None
        else _native.utf8(schema, "schema")
        if isinstance(schema, str)
        else _native.to_json(schema),
        grammar=None if grammar is None else _native.utf8(grammar, "grammar"),
        regex=None if regex is None else _native.utf8(regex, "regex"),
        choices=ways,
        choices_count=len(ways),
    )
    return values, (texts, speculate, bias_ids, biases, ends, ways)


takes_options = takes(generation_options)


def _day(date: object) -> Any:
    return str(date) if hasattr(date, "isoformat") else date


_FORMS = {"auto": _abi.PROMPT_AUTO, "raw": _abi.PROMPT_RAW, "chat": _abi.PROMPT_CHAT}


# Options of a chat template, which token ids do not pass.
_OF_TEMPLATES = ("plain_text", "chat_template", "tools", "template_variables", "date", "continue_final_message")


def encoded_prompt(prompt: Prompt, form: PromptForm, options: AnswerOptions) -> tuple[bytes, int] | None:
    """Returns a text or a conversation as bytes for the C library, and the number of its form; None for token ids."""
    if form not in _FORMS:
        raise ValueError(f"form is {form!r}: expected one of {', '.join(_FORMS)}")
    if isinstance(prompt, (str, bytes, bytearray, memoryview)):
        return _native.data_of(prompt, "prompt"), _FORMS[form]
    if isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], dict):
        if form == "raw":
            raise ValueError('form is "raw" with a list of messages: expected "chat" or "auto"')
        return _native.to_json(list(prompt)), _abi.PROMPT_MESSAGES
    for name, value in (("form", form == "chat"), *((name, options.get(name)) for name in _OF_TEMPLATES)):
        if value:
            raise ValueError(f"{name} has no effect on token ids, which are read as they are")
    return None
