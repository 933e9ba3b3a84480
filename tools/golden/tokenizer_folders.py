"""Folders of tokenizer files, texts, and what transformers' AutoTokenizer 5.24.0 makes of them.

    python tools/golden/tokenizer_folders.py > tests/golden/tokenizers/folders.json

A case names its tokenizer.json ("base", with the members of "part" put over it) and holds the other files of the folder.
"outcomes" has, for each text, the ids with the tokens of the post-processor and their text with and without special tokens.
"""
import json
import os
import pathlib
import random
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
import transformers
from transformers import AutoTokenizer

assert transformers.__version__ == "5.24.0", transformers.__version__

MARK = "\u2581"


def added(id, content, **flags):
    return {"id": id, "content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}


def replace(old, new):
    return {"type": "Replace", "pattern": {"String": old}, "content": new}


def file(model, tokens, **parts):
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": tokens, "normalizer": None, "pre_tokenizer": None,
            "post_processor": None, "decoder": None, **parts, "model": model}


def numbered(tokens):
    return {token: i for i, token in enumerate(tokens)}


def sentence_piece():
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{i:02X}>" for i in range(256)), MARK, *"aehloxy.,!?'nst", MARK + "a", MARK + "h", MARK + "he", "el",
              MARK + MARK, "lo", MARK + "x"]
    merges = [[MARK, "a"], [MARK, "h"], [MARK + "h", "e"], ["e", "l"], ["l", "o"], [MARK, MARK], [MARK, "x"]]
    model = {"type": "BPE", "dropout": None, "unk_token": "<unk>", "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": True,
             "byte_fallback": True, "ignore_merges": False, "vocab": numbered(pieces), "merges": merges}
    ids = [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")]
    template = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "<s>", "type_id": 1}},
                         {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}}
    return file(model, ids, normalizer={"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": MARK}, replace(" ", MARK)]},
                decoder={"type": "Sequence", "decoders": [replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                                                          {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}, post_processor=template)


def byte_level(pre_tokenizer, normalizer=None, tokens=("<|endoftext|>",), **parts):
    from tokenizers.pre_tokenizers import ByteLevel
    words = [*tokens, *sorted(ByteLevel.alphabet()), "\u0120a", "\u0120h", "he", "\u0120he", "12", "\u0120x", "\u00c3\u00a9"]
    merges = [["\u0120", "a"], ["\u0120", "h"], ["h", "e"], ["\u0120h", "e"], ["1", "2"], ["\u0120", "x"], ["\u00c3", "\u00a9"]]
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "", "fuse_unk": False,
             "byte_fallback": False, "ignore_merges": False, "vocab": numbered(words), "merges": merges}
    return file(model, [added(i, token) for i, token in enumerate(tokens)], normalizer=normalizer, pre_tokenizer=pre_tokenizer, decoder=LEVEL, **parts)


LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
QWEN2 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
SPLIT = {"type": "Split", "pattern": {"Regex": QWEN2}, "behavior": "Isolated", "invert": False}
SPLIT_THEN_BYTES = {"type": "Sequence", "pretokenizers": [SPLIT, {**LEVEL, "use_regex": False}]}
DIGITS_THEN_BYTES = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, LEVEL]}


def bert():
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "hello", "he", "##llo", "is", "n", "'", "t", ".", "e", "##e", "\u4e2d", "\u4e2d\u6587", "caf",
             "\u00e9", "##\u00e9", "Hello", "!", "a"]
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": numbered(words)}
    around = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                                                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}], "pair": [{"Sequence": {"id": "A", "type_id": 0}}],
              "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}, "[SEP]": {"id": "[SEP]", "ids": [3], "tokens": ["[SEP]"]}}}
    normalizer = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return file(model, [added(i, words[i]) for i in range(5)], normalizer=normalizer, pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=around,
                decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})


def unigram(first, unk, space):
    pieces = [*first, MARK, "a", "b", "h", "e", MARK + "a", MARK + "he", "llo", ".", "!", "A", "is", MARK + "is"]
    around = {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
              "pair": [{"Sequence": {"id": "A", "type_id": 0}}], "special_tokens": {"</s>": {"id": "</s>", "ids": [first.index("</s>")], "tokens": ["</s>"]}}}
    return file({"type": "Unigram", "unk_id": unk, "vocab": [[p, -1.0 - i / 8] for i, p in enumerate(pieces)], "byte_fallback": False},
                [added(i, p) for i, p in enumerate(first)], pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, space]},
                decoder=space, post_processor=around)


METASPACE = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
GEMMA = sentence_piece()
GEMMA.update(normalizer=replace(" ", MARK), pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
             decoder={"type": "Sequence", "decoders": [replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"}]})
BASES = {
    "llama": sentence_piece(),
    "gemma": GEMMA,
    "gpt2": byte_level(LEVEL),
    "gpt2 with digits": byte_level(DIGITS_THEN_BYTES),
    "roberta": byte_level(LEVEL, tokens=("<s>", "<pad>", "</s>", "<unk>", "<mask>"), post_processor={"type": "RobertaProcessing", "sep": ["</s>", 2],
                          "cls": ["<s>", 0], "trim_offsets": True, "add_prefix_space": False}),
    "qwen2": byte_level(SPLIT_THEN_BYTES, {"type": "NFC"}),
    "bert": bert(),
    "t5": unigram(["<pad>", "</s>", "<unk>"], 2, METASPACE),
    "xlm-roberta": unigram(["<s>", "<pad>", "</s>", "<unk>"], 3, METASPACE),
}
OF_CLASS = {"llama": "LlamaTokenizer", "gemma": "GemmaTokenizer", "gpt2": "GPT2Tokenizer", "roberta": "RobertaTokenizer", "qwen2": "Qwen2Tokenizer",
            "bert": "BertTokenizer", "t5": "T5Tokenizer", "xlm-roberta": "XLMRobertaTokenizer"}
TEXTS = {"bert": ["hello is n't .", "H\u00e9llo \u4e2d\u6587 caf\u00e9 [MASK]", "a[SEP]hello!"],
         "other": ["hello x", " hello  a<s>a </s> he x", "x<|endoftext|> he 12 ain't . \u00e9 e\u0301", "<new>a <NEW> <new2> he<extra_id_0>b", ""]}


def read(case):
    base = {**BASES[case["base"]], **case.get("part", {})}
    with tempfile.TemporaryDirectory() as folder:
        for name, content in {"tokenizer.json": base, "config.json": case["config.json"], **case["files"]}.items():
            pathlib.Path(folder, name).write_text(json.dumps(content), encoding="utf-8")
        return AutoTokenizer.from_pretrained(folder)


def outcome(case):
    try:
        tokenizer = read(case)
        out = []
        for text in TEXTS.get(case["base"], TEXTS["other"]):
            ids = tokenizer.encode(text)
            out.append({"text": text, "ids": ids, "decoded": tokenizer.decode(ids, skip_special_tokens=True), "shown": tokenizer.decode(ids)})
        return {"outcomes": out, "special": tokenizer.special_tokens_map}
    except Exception as error:
        print(case["title"], type(error).__name__, str(error)[:150], file=sys.stderr)
        return {"outcomes": None}


def flags(content, **more):
    return {"__type": "AddedToken", "content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, **more}


def decoder_entry(content, **more):
    return {"content": content, "lstrip": False, "normalized": False, "rstrip": False, "single_word": False, "special": True, **more}


# Settings, each tried with every class and with none.
SETTINGS = {
    "nothing": {},
    "add_prefix_space": {"add_prefix_space": True},
    "no add_prefix_space": {"add_prefix_space": False},
    "legacy": {"legacy": True},
    "no legacy": {"legacy": False},
    "add_bos_token": {"add_bos_token": True},
    "no add_bos_token": {"add_bos_token": False},
    "add_eos_token": {"add_eos_token": True},
    "add both": {"add_bos_token": True, "add_eos_token": True, "bos_token": "<s>", "eos_token": "</s>"},
    "add_bos_token without one": {"add_bos_token": True, "bos_token": None},
    "clean_up_tokenization_spaces": {"clean_up_tokenization_spaces": True},
    "clean_up for all": {"clean_up_tokenization_spaces": True, "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": True},
    "split_special_tokens": {"split_special_tokens": True},
    "no do_lower_case": {"do_lower_case": False},
    "strip_accents": {"strip_accents": True, "do_lower_case": False},
    "no strip_accents": {"strip_accents": False},
    "no tokenize_chinese_chars": {"tokenize_chinese_chars": False},
    "other unk_token": {"unk_token": "a"},
    "new pad_token": {"pad_token": "<new>"},
    "new pad_token with flags": {"pad_token": flags("<new>", rstrip=True, lstrip=True)},
    "own token": {"image_token": "<new>"},
    "additional_special_tokens": {"additional_special_tokens": ["<new>", "he", flags("<new2>", rstrip=True)]},
    "extra_special_tokens list": {"extra_special_tokens": ["<new>"]},
    "extra_special_tokens object": {"extra_special_tokens": {"image_token": "<new>"}},
    "model_specific_special_tokens": {"model_specific_special_tokens": {"image_token": "<new>"}},
    "added_tokens_decoder": {"added_tokens_decoder": {"900": decoder_entry("<new>", special=False), "901": decoder_entry("<new2>", rstrip=True)}},
    "added_tokens_decoder with flags": {"added_tokens_decoder": {"901": decoder_entry("<new2>", lstrip=True), "5": decoder_entry("he", single_word=True, special=False),
                                                                 "900": decoder_entry("<NEW>", normalized=True, special=False)}},
    "added_tokens_decoder of known tokens": {"added_tokens_decoder": {"0": decoder_entry("<unk>", rstrip=True), "1": decoder_entry("<s>", rstrip=True, special=False),
                                                                     "2": decoder_entry("</s>", lstrip=True)}},
    "added_tokens_decoder of pad_token": {"added_tokens_decoder": {"900": decoder_entry("<new>", special=False, lstrip=True)}, "pad_token": "<new>"},
    "extra_ids": {"extra_ids": 1},
    "harmless keys": {"model_max_length": 7, "padding_side": "left", "truncation_side": "left", "errors": "strict", "sp_model_kwargs": {"enable_sampling": True},
                      "spaces_between_special_tokens": False, "use_default_system_prompt": True, "remove_space": True, "keep_accents": True,
                      "trim_offsets": False, "never_split": ["he"], "do_basic_tokenize": False, "fix_mistral_regex": True, "max_length": 3, "stride": 1,
                      "truncation_strategy": "longest_first", "pad_token_type_id": 3, "pad_to_multiple_of": 8, "wordpieces_prefix": "@@", "max_len": 4,
                      "model_input_names": ["input_ids"], "processor_class": "P", "name_or_path": "x", "from_slow": True, "use_fast": False,
                      "tokenizer_file": "x", "special_tokens_map_file": "y", "padding": "max_length", "truncation": True},
}


# Of these, each drawn folder has some.
DRAWN_MAP = {"pad_token": "<new>", "bos_token": {"content": "he", "lstrip": True, "normalized": True, "rstrip": False, "single_word": False}, "unk_token": "a",
             "additional_special_tokens": ["<new2>"], "eos_token": None, "extra_special_tokens": ["x"]}
DRAWN_TOKENS = {"<new2>": 900, "<NEW>": 901, "he": 902, "<s>": 5}


def main():
    random.seed(36)
    cases = []

    def add(title, base, model_type, files, **more):
        case = {"title": title, "base": base, "config.json": {"model_type": model_type}, "files": files, **more}
        if model_type is None:
            case["config.json"] = {}
        case.update(outcome(case))
        cases.append(case)

    for base, name in OF_CLASS.items():
        model_type = "bert" if base == "bert" else "llama"
        for title, setting in SETTINGS.items():
            add(f"{name}: {title}", base, model_type, {"tokenizer_config.json": {"tokenizer_class": name, **setting}})
    for base in ("llama", "gpt2", "t5"):
        for title, setting in SETTINGS.items():
            add(f"no class, {base}: {title}", base, "llama", {"tokenizer_config.json": setting})
    for base in ("gpt2", "llama"):
        tokens_map = {"pad_token": {"content": "<new>", "lstrip": True, "normalized": False, "rstrip": False, "single_word": False},
                      "bos_token": "he", "additional_special_tokens": ["<new2>"]}
        for name in (None, OF_CLASS[base]):
            config = {"tokenizer_config.json": {"tokenizer_class": name}} if name else {}
            add(f"special_tokens_map.json, {name}", base, "llama", {**config, "special_tokens_map.json": tokens_map})
            add(f"added_tokens.json, {name}", base, "llama", {**config, "added_tokens.json": {"<new>": 900, "<new2>": 901}})
            add(f"all files, {name}", base, "llama", {**config, "special_tokens_map.json": tokens_map, "added_tokens.json": {"<new2>": 900, "<NEW>": 901}})
            decoder = {"tokenizer_config.json": {**config.get("tokenizer_config.json", {}), "added_tokens_decoder": {"0": decoder_entry("<new2>")}}}
            add(f"all files beside added_tokens_decoder, {name}", base, "llama", {**decoder, "special_tokens_map.json": tokens_map, "added_tokens.json": {"<NEW>": 901}})
    # Which class counts.
    for model_type in ("llama", "mistral", "qwen2", "qwen3", "bitnet", "bert", None):
        for name in (None, "LlamaTokenizer", "LlamaTokenizerFast", "Qwen2Tokenizer", "PreTrainedTokenizerFast", "GPT2TokenizerFast", "TokenizersBackend", "NoSuchTokenizer"):
            for base in ("llama", "qwen2", "gpt2"):
                config = {"tokenizer_class": name} if name else {}
                case = {"title": "", "base": base, "config.json": {"model_type": model_type} if model_type else {}, "files": {"tokenizer_config.json": config}}
                try:  # a class that builds another kind of tokenizer than the file's would drop steps of the file
                    if type(read(case)).__name__ not in (OF_CLASS[base], "TokenizersBackend"):
                        continue
                except Exception:
                    continue
                add(f"{model_type}, {name}, {base}", base, model_type, {"tokenizer_config.json": {**config, "add_prefix_space": True}})
    for name in ("GPT2Tokenizer", "LlamaTokenizer"):
        base = "gpt2" if name[0] == "G" else "llama"
        case = {"title": f"class of config.json, {name}", "base": base, "config.json": {"model_type": "llama", "tokenizer_class": name},
                "files": {"tokenizer_config.json": {"add_prefix_space": False}}}
        cases.append({**case, **outcome(case)})
    # Forms of a tokenizer.json that a class makes again.
    metaspace = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "first", "split": False}
    for title, part in {"Metaspace": {"normalizer": None, "pre_tokenizer": metaspace}, "no prefix": {"normalizer": replace(" ", MARK)},
                        "no post_processor": {"post_processor": None}}.items():
        for setting in ({}, {"legacy": True}, {"add_prefix_space": False}):
            add(f"LlamaTokenizer of {title}, {setting}", "llama", "llama", {"tokenizer_config.json": {"tokenizer_class": "LlamaTokenizer", **setting}}, part=part)
    cased = {"type": "BertNormalizer", "clean_text": False, "handle_chinese_chars": False, "strip_accents": False, "lowercase": False}
    for setting in ({}, {"tokenizer_class": "BertTokenizer"}, {"tokenizer_class": "BertTokenizerFast", "do_lower_case": False}, {"tokenizer_class": "PreTrainedTokenizerFast"}):
        add(f"cased BERT, {setting}", "bert", "bert", {"tokenizer_config.json": setting}, part={"normalizer": cased})
    for i in range(80):
        base, drawn = random.choice(list(OF_CLASS)), {}
        for title in random.sample(list(SETTINGS), 3):
            drawn.update(json.loads(json.dumps(SETTINGS[title])))
        if random.random() < 0.7:
            drawn["tokenizer_class"] = OF_CLASS[base]
        files = {"tokenizer_config.json": drawn}
        if random.random() < 0.5:
            files["special_tokens_map.json"] = {key: value for key, value in DRAWN_MAP.items() if random.random() < 0.5}
        if random.random() < 0.5:
            files["added_tokens.json"] = {key: value for key, value in DRAWN_TOKENS.items() if random.random() < 0.6}
        add(f"drawn {i}", base, "bert" if base == "bert" else "llama", files)
    json.dump({"bases": BASES, "cases": cases}, sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()


main()
