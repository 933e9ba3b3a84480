"""Language models: answers, conversations, sessions, tokenizers, encoders, receipts.

LM, a Model that answers, is the way in: LM.generate() and LM.stream() answer a prompt, LM.chat() begins a Chat,
LM.session() a Session, which reads tokens once and uses them several times. A Generation is an answer; a Stream or
ChatStream is one that is being written, and Answer what both have in common. generation_options() describes the options
of all of them. Tokenizer turns text into token ids, Encoder texts into vectors. replay_receipt() proves an answer by
its receipt, where content_hash() names the model. find_model() looks a hub id up. Transformer is one model for the
whole process, for programs that were written for it.
"""

from .answers import Answer, Generation, Stream
from .base import Model
from .chat import Chat, ChatStream
from .encoder import Encoder
from .hub import find_model
from .model import LM
from .options import generation_options
from .receipts import content_hash, replay_receipt
from .session import Session
from .tokenizer import Tokenizer
from .transformer import Transformer

__all__ = [
    "LM",
    "Answer",
    "Chat",
    "ChatStream",
    "Encoder",
    "Generation",
    "Model",
    "Session",
    "Stream",
    "Tokenizer",
    "Transformer",
    "content_hash",
    "find_model",
    "generation_options",
    "replay_receipt",
]
