"""Small tokenizer.json files, a text each, and what the tokenizers package 0.23.3 makes of them.

    python tools/golden/tokenizer_parts.py > tests/golden/tokenizers/parts.json

ids are null where the package fails on the text.
"""
import json
import sys

import tokenizers
from tokenizers import Tokenizer

assert tokenizers.__version__ == "0.23.3", tokenizers.__version__

WORDS = {"[UNK]": 0, "hello": 1, "world": 2, "he": 3, "##llo": 4, "a": 5, "b": 6, "ab": 7, " ": 8, "x": 9}
BPE = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
       "byte_fallback": False, "ignore_merges": False, "vocab": WORDS, "merges": []}
SPACES = {"type": "WhitespaceSplit"}


def added(content, **flags):
    return {"id": 0, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}


def unigram(*pieces, unk=0, **more):
    return {"type": "Unigram", "unk_id": unk, "vocab": [[p, -1.0 - i] for i, p in enumerate(pieces)], "byte_fallback": False, **more}


def file(model, tokens=(), **parts):
    known = model["vocab"] if isinstance(model["vocab"], dict) else {p: i for i, (p, _) in enumerate(model["vocab"])}
    ids = iter(range(len(known), len(known) + 20))
    return {"version": "1.0", "truncation": None, "padding": None, "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None, **parts,
            "added_tokens": [{**t, "id": known[t["content"]] if t["content"] in known else next(ids)} for t in tokens], "model": model}


LEVEL = {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"}
PIECE = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": WORDS}
STRIPPING = [added("<s>", rstrip=True), added("  ", lstrip=True)]
CTC = {"type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}
SOUNDS = {"type": "WordLevel", "vocab": {t: i for i, t in enumerate(["<pad>", "h", "|", "e", "'", "m", ".", "n't", "a|b", "x<pad>y", "?"])}, "unk_token": "?"}
HEARD = "h h <pad> h | | e <pad> ' m | . | n't a|b a|b x<pad>y ? <pad> <pad>"
SCRIPTS = {"type": "UnicodeScripts"}
LETTERS = {"type": "WordLevel", "unk_token": "?", "vocab": {t: i for i, t in enumerate(
    ["?", "hello", "hello ", "\u043c\u0438\u0440", "\u6f22\u3072\u30ab\u30fc", "1", "!1 ", "a", "\u3002"])}}
CASES = [
    ("CTC", file(SOUNDS, pre_tokenizer=SPACES, decoder=CTC), HEARD),
    ("CTC without cleanup", file(SOUNDS, pre_tokenizer=SPACES, decoder={**CTC, "cleanup": False}), HEARD),
    ("CTC of another padding", file(SOUNDS, pre_tokenizer=SPACES, decoder={**CTC, "pad_token": "h"}), HEARD),
    ("CTC without padding", file(SOUNDS, pre_tokenizer=SPACES, decoder={**CTC, "pad_token": ""}), HEARD),
    ("CTC of another delimiter", file(SOUNDS, pre_tokenizer=SPACES, decoder={**CTC, "word_delimiter_token": "e"}), HEARD),
    ("CTC without a delimiter", file(SOUNDS, pre_tokenizer=SPACES, decoder={**CTC, "word_delimiter_token": ""}), HEARD),
    ("CTC, then another step", file(SOUNDS, pre_tokenizer=SPACES, decoder={"type": "Sequence", "decoders": [
        CTC, {"type": "Strip", "content": "h", "start": 1, "stop": 0}, CTC]}), HEARD),
    ("CTC of one text", file(SOUNDS, pre_tokenizer=SPACES, decoder={"type": "Sequence", "decoders": [{"type": "Fuse"}, CTC]}), "h e h"),
    ("UnicodeScripts", file(LETTERS, pre_tokenizer=SCRIPTS), "hello \u043c\u0438\u0440\u6f22\u3072\u30ab\u30fca!1 \u3002a"),
    ("UnicodeScripts after spaces", file(LETTERS, pre_tokenizer=SCRIPTS), "  hello1"),
    ("UnicodeScripts of spaces", file(LETTERS, pre_tokenizer=SCRIPTS), "   "),
    ("UnicodeScripts of words", file(LETTERS, pre_tokenizer={"type": "Sequence", "pretokenizers": [SPACES, SCRIPTS]}), " hello a1 \u043c\u0438\u0440"),
    ("WordLevel", file(LEVEL, pre_tokenizer=SPACES), "hello world nope  ab"),
    ("WordLevel without unk", file({**LEVEL, "unk_token": "missing"}, pre_tokenizer=SPACES), "hello world"),
    ("WordLevel that needs its missing unk", file({**LEVEL, "unk_token": "missing"}, pre_tokenizer=SPACES), "hello nope"),
    ("WordPiece without unk", file({**PIECE, "unk_token": "missing"}, pre_tokenizer=SPACES), "hello hello"),
    ("WordPiece that needs its missing unk", file({**PIECE, "unk_token": "missing"}, pre_tokenizer=SPACES), "hello nope"),
    ("BPE without unk", file({**BPE, "unk_token": "missing"}), "ab"),
    ("BPE that needs its missing unk", file({**BPE, "unk_token": "missing"}), "abc"),
    ("BPE of merges with a version line", file({**BPE, "merges": ["#version: 0.2", "a b"]}), "ab a"),
    ("BPE with dropout 0", file({**BPE, "dropout": 0.0, "merges": [["a", "b"]]}), "ab a"),
    ("FixedLength", file(LEVEL, pre_tokenizer={"type": "FixedLength", "length": 2}), "abhea\u00e9b"),
    ("FixedLength of longer words", file(LEVEL, pre_tokenizer={"type": "FixedLength", "length": 5}), "helloworldab"),
    ("white space of two tokens", file({**BPE}, STRIPPING), "<s>  x"),
    ("white space of two tokens, apart", file({**BPE}, STRIPPING), "a  <s>  <s>  x"),
    ("an added token of the vocabulary", file({**BPE}, [added("ab", special=False)]), "xabx"),
    ("a special token that normalisation changes", file({**BPE}, [added("AB", normalized=True)], normalizer={"type": "Lowercase"}), "x AB x"),
    ("a special token that normalisation keeps", file({**BPE}, [added("<e>", normalized=True)], normalizer={"type": "Lowercase"}), "x <e> x"),
    ("unigram beside its unk token's text", file(unigram("<unk>", "a", "b")), "ab<unk>xa"),
    ("unigram with a piece for unk", file(unigram("a", "c", "b", unk=1)), "acxcb"),
    ("unigram of joined pieces that are a token", file(unigram("<unk>", "a", "xx")), "axxa"),
]


def row(title, spec, text):
    try:
        tokenizer = Tokenizer.from_str(json.dumps(spec))
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        return {"title": title, "tokenizer": spec, "text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True)}
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        print(f"{title}: {error}", file=sys.stderr)
        return {"title": title, "tokenizer": spec, "text": text, "ids": None}


json.dump([row(*case) for case in CASES], sys.stdout, ensure_ascii=False, indent=1)
print()
