"""Transformer: one model for the whole program, in three lines."""

from . import _native
from .hub import find_model
from .lm import LM
from .tokenizer import Tokenizer


class Transformer:
    """The program's language model.

    >>> Transformer.load_model("HuggingFaceTB/SmolLM2-360M-Instruct")  # doctest: +SKIP
    >>> print(Transformer.generate("Once upon a time").text)  # doctest: +SKIP
    """

    _model = None
    _tokenizer = None

    @classmethod
    def load_model(cls, model, **options):
        """Loads a model, a path or a hub id, in place of the one before; options as those of LM. Returns the LM."""
        cls._model = LM(model, **options)
        return cls._model

    @classmethod
    def load_tokenizer(cls, model):
        """Loads a tokenizer alone. A model brings its own, so this is needed only to encode without a model."""
        cls._tokenizer = Tokenizer.open(find_model(model))
        return cls._tokenizer

    @classmethod
    def generate(cls, prompt, max_tokens=None, **options):
        """Returns the Generation that answers or continues a prompt."""
        return cls._loaded().generate(prompt, max_tokens=max_tokens, **options)

    @classmethod
    def generate_stream(cls, prompt, max_tokens=None, **options):
        """Yields the answer piece by piece."""
        return cls._loaded().stream(prompt, max_tokens=max_tokens, **options)

    @classmethod
    def _loaded(cls):
        if cls._model is None:
            raise _native.LoomError("InvalidState", "no model is loaded: call Transformer.load_model(path or hub id)")
        return cls._model
