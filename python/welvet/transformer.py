"""Transformer: one model for the whole program, in three lines."""

from __future__ import annotations

from . import _native
from .hub import find_model
from .lm import LM, Generation, Stream
from .tokenizer import Tokenizer

TYPE_CHECKING = False  # type checkers take it as true; importing typing for it would take long
if TYPE_CHECKING:
    from ._types import LoadOptions, Path, PieceOptions, Text, Unpack


class Transformer:
    """The program's language model.

    >>> Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
    >>> print(Transformer.generate("Once upon a time").text)  # doctest: +SKIP
    """

    _model: LM | None = None
    _tokenizer: Tokenizer | None = None

    @classmethod
    def load_model(cls, model: Path, **options: Unpack[LoadOptions]) -> LM:
        """Loads a model, a path or a hub id, in place of the one before; options as those of LM. Returns the LM."""
        cls._model = LM(model, **options)
        return cls._model

    @classmethod
    def load_tokenizer(cls, model: Path) -> Tokenizer:
        """Loads a tokenizer alone. A model brings its own, so this is needed only to encode without a model."""
        cls._tokenizer = Tokenizer.open(find_model(model))
        return cls._tokenizer

    @classmethod
    def generate(cls, prompt: Text, max_tokens: int | None = None, **options: Unpack[PieceOptions]) -> Generation:
        """Returns the Generation that answers or continues a prompt."""
        return cls._loaded().generate(prompt, max_tokens=max_tokens, **options)

    @classmethod
    def generate_stream(cls, prompt: Text, max_tokens: int | None = None, **options: Unpack[PieceOptions]) -> Stream:
        """Yields the answer piece by piece."""
        return cls._loaded().stream(prompt, max_tokens=max_tokens, **options)

    @classmethod
    def _loaded(cls) -> LM:
        if cls._model is None:
            raise _native.LoomError("InvalidState", "no model is loaded: call Transformer.load_model(path or hub id)")
        return cls._model
