"""Language models: load one, ask it, stream its answer."""

from __future__ import annotations

import ctypes

from .. import _native
from .._native import library
from .._parameters import takes
from .base import Model
from .chat import Chat
from .options import encoded_prompt, generation_options, takes_options
from .session import Session

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Adapters, Array, Json, Text, Unpack
    from .answers import Generation, Stream
    from .options import AnswerOptions, Prompt, PromptForm
    from .session import SessionOptions


class LM(Model):
    """A language model: weights, tokenizer, chat template.

    Any number of threads may use one model. Each generate(), stream() and chat() has a session of its own.

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

    >>> lm = LM("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
    >>> print(lm.generate("What is the capital of France?"))  # doctest: +SKIP
    """

    @takes_options
    def prompt(
        self, prompt: Text | Sequence[Json], *, form: PromptForm = "auto", **options: Unpack[AnswerOptions]
    ) -> Json:
        """Returns the tokens that generate() would read.

        Args:
            prompt: A text, or a list of dicts with role and content.
            form: Form of a text, see stream().
            **options: see generation_options().

        Returns:
            A dict with prompt (a text), ids, prompt_tokens, and dropped_bytes, the bytes without a token.

        Raises:
            TypeError: If an option has another type.
            ValueError: If an option is out of range.
            LoomError: If the model has no chat template and one is needed (NoTemplate).
        """
        values, _keeps = generation_options(**options)
        encoded = encoded_prompt(prompt, form, options)
        if encoded is None:
            raise TypeError(
                f"prompt must be a text or a list of dicts with role and content, not {type(prompt).__name__}"
            )
        data, kind = encoded
        return _native.record(
            library.loom_model_prompt, self._handle.value, data, len(data), kind, ctypes.byref(values)
        )

    @takes_options
    def generate(
        self,
        prompt: Prompt,
        *,
        form: PromptForm = "auto",
        adapters: Adapters = None,
        receipt: bool = False,
        **options: Unpack[AnswerOptions],
    ) -> Generation:
        """Answers or continues a prompt.

        Args:
            prompt: A text, str or bytes; a conversation, a list of dicts with role and content, which the chat template
                writes; or a list of token ids, which are read as they are.
            form: Form of a text, see stream().
            adapters: Adapters of the model that are applied, see stream().
            receipt: True adds the answer's receipt, a dict (docs/guide/audit.md); the file of the model is hashed once.
            **options: see generation_options().

        Returns:
            The answer; str() gives its text.

        Raises:
            TypeError: If an option has another type.
            ValueError: If an option is out of range.
            LoomError: If the model has no chat template and `form` is "chat" (NoTemplate).

        >>> lm.generate("Once upon a time", form="raw", max_tokens=50, temperature=0.8, seed=1)  # doctest: +SKIP
        """
        return self.session(adapters).generate(prompt, form=form, receipt=receipt, **options)

    @takes_options
    def stream(
        self, prompt: Prompt, *, form: PromptForm = "auto", adapters: Adapters = None, **options: Unpack[AnswerOptions]
    ) -> Stream:
        """Answers or continues a prompt, piece by piece.

        Args:
            prompt: A text, str or bytes; a conversation, a list of dicts with role and content, which the chat template
                writes; or a list of token ids, which are read as they are.
            form: Form of a text: "chat" writes it as a message with the chat template of the model, "raw" takes it as
                it is, "auto" is "chat" if the model has a chat template.
            adapters: Adapters of the model that are applied, as [0]; () applies none, None all.
            **options: see generation_options().

        Returns:
            An iterator over pieces of text; its property `result` is the Generation.

        Raises:
            TypeError: If an option has another type.
            ValueError: If an option is out of range.
            LoomError: If the model has no chat template and `form` is "chat" (NoTemplate).
        """
        return self.session(adapters).stream(prompt, form=form, **options)

    @takes_options
    def chat(self, system: str | None = None, *, adapters: Adapters = None, **options: Unpack[AnswerOptions]) -> Chat:
        """Begins a conversation.

        Args:
            system: Message that the conversation begins with; None: none.
            adapters: Adapters of the model that are applied, see stream().
            **options: see generation_options().

        Returns:
            The conversation, without an answer.

        Raises:
            LoomError: If the model has no chat template (NoTemplate).
        """
        return Chat(self, system, adapters=adapters, **options)

    @takes(Session)
    def session(self, adapters: Adapters = None, **options: Unpack[SessionOptions]) -> Session:
        """Returns a new Session, for prompts that are read once and used several times.

        Args:
            adapters: Adapters of the model that are applied, as [0]; () applies none, None all.
            **options: those of Session.

        Returns:
            A session with empty sequences.

        Raises:
            NotFoundError: If the model has no such adapter.
            ValueError: If an option is out of range.
        """
        return Session(self, adapters, **options)

    def logits(self, prompt: Text | Sequence[int], *, adapters: Adapters = None) -> Array:
        """Returns the logits of the token that follows a prompt.

        Args:
            prompt: A text, which is encoded without a chat template, or a list of token ids.
            adapters: Adapters of the model that are applied, see stream().

        Returns:
            The logits, an array [vocabulary]; `tokenizer.id_of(token)` is the place of a token.
        """
        return self.session(adapters).feed(prompt)

    def perplexity(
        self, text: Text, *, window: int = 512, max_windows: int | None = None, adapters: Adapters = None
    ) -> Json:
        """Scores a text.

        Args:
            text: The text, which is encoded without a chat template.
            window: Number of tokens that are read at once.
            max_windows: Most windows that are read; None: the whole text.
            adapters: Adapters of the model that are applied, see stream().

        Returns:
            A dict with the perplexity and the mean negative log-likelihood of each window.
        """
        return self.session(adapters).perplexity(text, window=window, max_windows=max_windows)
