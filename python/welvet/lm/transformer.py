"""One model for the whole process, for programs that were written for it. New programs use LM."""

from __future__ import annotations

from .. import _native
from .._parameters import takes
from .hub import find_model
from .model import LM
from .options import takes_options
from .tokenizer import Tokenizer

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from .._types import Adapters, LoadOptions, Path, Text, Unpack
    from .answers import Generation, Stream
    from .options import PromptForm, Sampling


class Transformer:
    """The language model of the process, by class methods: for programs that were written for them.

    It is an LM that the class keeps. New programs use LM, of which there may be several.

    >>> Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
    >>> print(Transformer.generate("Once upon a time").text)  # doctest: +SKIP
    """

    _model: LM | None = None

    @classmethod
    @takes(LM)
    def load_model(cls, model: Path, **options: Unpack[LoadOptions]) -> LM:
        """Loads a model in place of the one before.

        Args:
            model: A GGUF file, a Hugging Face folder, an .entity, or a hub id that is in huggingface_hub's cache.
            **options: those of LM.

        Returns:
            The model.

        Raises:
            NotFoundError: If there is no such model; the message has the command that fetches a hub id.
        """
        cls._model = LM(model, **options)
        return cls._model

    @classmethod
    def load_tokenizer(cls, model: Path) -> Tokenizer:
        """Loads a tokenizer alone. A model brings its own, so only encoding without a model needs this.

        Args:
            model: Path or hub id of the model.

        Returns:
            The tokenizer.

        Raises:
            NotFoundError: If there is no such model.
        """
        return Tokenizer.open(find_model(model))

    @classmethod
    @takes_options
    def generate(
        cls,
        prompt: Text,
        max_tokens: int | None = None,
        *,
        form: PromptForm = "auto",
        adapters: Adapters = None,
        **options: Unpack[Sampling],
    ) -> Generation:
        """Answers or continues a prompt, as LM.generate().

        Args:
            prompt: A text, str or bytes.
            max_tokens: Most tokens of the answer; None: 128.
            form: Form of a text, see LM.stream().
            adapters: Adapters of the model that are applied, see LM.stream().
            **options: see generation_options().

        Returns:
            The answer; its `text` is the text.

        Raises:
            LoomError: If no model is loaded (InvalidState).
        """
        return cls._loaded().generate(prompt, form=form, adapters=adapters, max_tokens=max_tokens, **options)

    @classmethod
    @takes_options
    def generate_stream(
        cls,
        prompt: Text,
        max_tokens: int | None = None,
        *,
        form: PromptForm = "auto",
        adapters: Adapters = None,
        **options: Unpack[Sampling],
    ) -> Stream:
        """Answers or continues a prompt piece by piece, as LM.stream().

        Args:
            prompt: A text, str or bytes.
            max_tokens: Most tokens of the answer; None: 128.
            form: Form of a text, see LM.stream().
            adapters: Adapters of the model that are applied, see LM.stream().
            **options: see generation_options().

        Returns:
            An iterator over pieces of text.

        Raises:
            LoomError: If no model is loaded (InvalidState).
        """
        return cls._loaded().stream(prompt, form=form, adapters=adapters, max_tokens=max_tokens, **options)

    @classmethod
    def _loaded(cls) -> LM:
        if cls._model is None:
            raise _native.LoomError("InvalidState", "no model is loaded: call Transformer.load_model(path or hub id)")
        return cls._model
