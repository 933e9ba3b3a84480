#!/usr/bin/env python3
"""Writes tests/golden/tokenizers/: token ids of the tokenizers package, as hashes, and the small tokenizers they are made with.

Usage: tools/golden/tokenizer_ids.py DATA [--dump NAME FILE]
DATA holds text/ (botchan.txt, chatterbot/), tokenizers/<name>/tokenizer.json, vocabs/ and
llm/SmolLM2-135M-Instruct.Q4_1.gguf. Made with tokenizers 0.23.3, gguf 0.19.0 and Python 3.11.
src/text/tokenizer/corpus.h generates the same strings: change both together.
--dump writes one JSON line per string ({"text", "ids", "plain", "decoded", "decoded_all"}) to look at a difference.
"""
import glob
import json
import os
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
OUT = os.path.join(ROOT, "tests", "golden", "tokenizers")
CHUNK = 100
MASK = (1 << 64) - 1

# Code points that every Unicode version since 6.0 knows: the package mixes several versions.
RANGES = [
    (0x20, 0x7E), (0x01, 0x1F), (0xA0, 0x17F), (0x180, 0x24F), (0x300, 0x36F), (0x391, 0x3A1), (0x3A3, 0x3FF), (0x400, 0x45F), (0x531, 0x556),
    (0x5D0, 0x5EA), (0x621, 0x64A), (0x64B, 0x652), (0x660, 0x669), (0x904, 0x939), (0x93E, 0x94D), (0x966, 0x96F), (0xE01, 0xE3A), (0xE40, 0xE5B),
    (0x10D0, 0x10F0), (0x1100, 0x1112), (0x1161, 0x1175), (0x11A8, 0x11C2), (0x1780, 0x17B3), (0x1E00, 0x1EFF), (0x2000, 0x200A), (0x200B, 0x200F),
    (0x2010, 0x2027), (0x2028, 0x2029), (0x2030, 0x205E), (0x2070, 0x2070), (0x2074, 0x208E), (0x20A0, 0x20B5), (0x2100, 0x214F), (0x2160, 0x2188),
    (0x2190, 0x22FF), (0x2460, 0x24FF), (0x2500, 0x25FF), (0x2600, 0x26FF), (0x3000, 0x3003), (0x3041, 0x3096), (0x30A1, 0x30FA), (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3), (0xF900, 0xFA2D), (0xFB00, 0xFB06), (0xFE0F, 0xFE0F), (0xFEFF, 0xFEFF), (0xFF01, 0xFF5E), (0xFFFD, 0xFFFD),
    (0x1D400, 0x1D454), (0x1F1E6, 0x1F1FF), (0x1F300, 0x1F320), (0x1F600, 0x1F640), (0x1F3FB, 0x1F3FB), (0x20000, 0x2A6D6), (0x85, 0x85), (0x7F, 0x7F),
]
WORDS = [
    "I'm", "we'll", "DON'T", "they'Ve", "it's", "'S", "'\u017f", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "3", "33", "333", "3333", "1,234.56", "0x1F",
    "Hello", "world", "ABC", "abcDEF", "naïve", "Ünïcödé", "e\u0301", "\u0041\u030a", "ﬁ", "Ⅷ", "½", "٣٤", "你好", "世界", "東京", "한국어", "สวัสดี", "नमस्ते",
    "Привет", "שלום", "مرحبا", "🙂", "👩‍👩‍👧", "🏳️‍🌈", "🇩🇪", "=====", "...", "!?", "```", "//", "<>", "</s>", "<s>", "<|im_start|>", "<|im_end|>",
    "<|endoftext|>", "<|eot_id|>", "<bos>", "<unk>", "[MASK]", "[CLS]", "<mask>", "<think>", "<0x0A>", "▁", "Ġ", "##ing", "\u00a0", "\u3000", "\u200b",
    "__", "a_b", "x=1;", "{}", "(the)", "$9.99", "50%", "#tag", "@me", "http://a.b/c?d=e&f", "İstanbul", "straße", "ΣΑΣ", "\x00", "\x1c",
]


# The letters of deepseek-llm's tokenizer.json: those that have case.
DEEPSEEK_LETTERS = [
    (0x41, 0x5A), (0x61, 0x7A), (0xB5, 0xB5), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x1BA), (0x1BC, 0x1BF), (0x1C4, 0x293), (0x295, 0x2AF),
    (0x370, 0x373), (0x376, 0x376), (0x377, 0x377), (0x37B, 0x37D), (0x37F, 0x37F), (0x386, 0x386), (0x388, 0x38A), (0x38C, 0x38C), (0x38E, 0x3A1),
    (0x3A3, 0x3F5), (0x3F7, 0x481), (0x48A, 0x52F), (0x531, 0x556), (0x10A0, 0x10C5), (0x13A0, 0x13F5), (0x13F8, 0x13FD), (0x1C90, 0x1CBA),
    (0x1CBD, 0x1CBF), (0x1D00, 0x1D2B), (0x1D6B, 0x1D77), (0x1D79, 0x1D9A), (0x1E00, 0x1F15), (0x1F18, 0x1F1D), (0x1F20, 0x1F45), (0x1F48, 0x1F4D),
    (0x1F50, 0x1F57), (0x1F59, 0x1F59), (0x1F5B, 0x1F5B), (0x1F5D, 0x1F5D), (0x1F5F, 0x1F7D), (0x1F80, 0x1FB4), (0x1FB6, 0x1FBC), (0x1FBE, 0x1FBE),
    (0x1FC2, 0x1FC4), (0x1FC6, 0x1FCC), (0x1FD0, 0x1FD3), (0x1FD6, 0x1FDB), (0x1FE0, 0x1FEC), (0x1FF2, 0x1FF4), (0x1FF6, 0x1FFC), (0x2102, 0x2102),
    (0x2107, 0x2107), (0x210A, 0x2113), (0x2115, 0x2115), (0x2119, 0x211D), (0x2124, 0x2124), (0x2126, 0x2126), (0x2128, 0x2128), (0x212A, 0x212D),
    (0x212F, 0x2134), (0x2139, 0x2139), (0x213C, 0x213F), (0x2145, 0x2149), (0x214E, 0x214E), (0x2183, 0x2183), (0x2184, 0x2184), (0x2C00, 0x2C7B),
    (0x2C7E, 0x2CE4), (0x2CEB, 0x2CEE), (0x2CF2, 0x2CF2), (0x2CF3, 0x2CF3), (0xA640, 0xA66D), (0xA680, 0xA69B), (0xA722, 0xA76F), (0xA771, 0xA787),
    (0xA78B, 0xA78E), (0xAB70, 0xABBF), (0xFB00, 0xFB06), (0xFB13, 0xFB17), (0xFF21, 0xFF3A), (0xFF41, 0xFF5A), (0x10400, 0x1044F),
    (0x104B0, 0x104D3), (0x104D8, 0x104FB), (0x10C80, 0x10CB2), (0x10CC0, 0x10CF2), (0x118A0, 0x118DF), (0x1E900, 0x1E943),
]


class Random:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() % n


def lines_of(data):
    """Lines of the real texts, in the order of their names."""
    lines = open(f"{data}/text/botchan.txt", encoding="utf-8", newline="").read().split("\n")
    for path in sorted(glob.glob(f"{data}/text/chatterbot/*/*.yml")):
        lines += open(path, encoding="utf-8", newline="").read().split("\n")
    return lines


def corpus(lines, count):
    for i in range(count):
        r = Random(i)
        kind = i % 4
        if kind == 0:  # a real line
            yield lines[r.below(len(lines))]
        elif kind == 1:  # words, joined or not
            text = ""
            for _ in range(1 + r.below(12)):
                text += WORDS[r.below(len(WORDS))]
                if r.below(2):
                    text += " "
            yield text
        elif kind == 2:  # runs of one script
            text = ""
            for _ in range(1 + r.below(6)):
                low, high = RANGES[r.below(len(RANGES))]
                for _ in range(1 + r.below(8)):
                    text += chr(low + r.below(high - low + 1))
            yield text
        else:  # anything after anything, in real text
            text = lines[r.below(len(lines))][:40]
            for _ in range(r.below(10)):
                low, high = RANGES[r.below(len(RANGES))]
                text += chr(low + r.below(high - low + 1)) + WORDS[r.below(len(WORDS))]
            yield text


def fnv(h, data):
    for b in data:
        h = ((h ^ b) * 0x100000001B3) & MASK
    return h


def ids_bytes(ids):
    return b"".join(i.to_bytes(4, "little") for i in ids) + b"\xff\xff\xff\xff"


def rows(tok, texts):
    """Per chunk: ids with and without special tokens, both decodes of the former."""
    start = 0xCBF29CE484222325
    for at in range(0, len(texts), CHUNK):
        h = [start] * 4
        for text in texts[at:at + CHUNK]:
            ids = tok.encode(text).ids
            plain = tok.encode(text, add_special_tokens=False).ids
            h[0] = fnv(h[0], ids_bytes(ids))
            h[1] = fnv(h[1], ids_bytes(plain))
            h[2] = fnv(h[2], tok.decode(ids, skip_special_tokens=True).encode() + b"\xff")
            h[3] = fnv(h[3], tok.decode(ids, skip_special_tokens=False).encode() + b"\xff")
        yield " ".join("%016x" % x for x in h)


def dump(tok, texts, path):
    with open(path, "w") as f:
        for text in texts:
            ids = tok.encode(text).ids
            f.write(json.dumps({"text": text, "ids": ids, "plain": tok.encode(text, add_special_tokens=False).ids,
                                "decoded": tok.decode(ids), "decoded_all": tok.decode(ids, skip_special_tokens=False)}) + "\n")


def small_tokenizers(lines):
    """One tokenizer per group of components; vocabularies of some hundred tokens."""
    text = [x for i, x in enumerate(lines) if i % 7 == 0]
    alphabet = pre_tokenizers.ByteLevel.alphabet()

    def bpe(vocab, **kw):
        tok = Tokenizer(models.BPE(**{k: v for k, v in kw.items() if k not in ("special",)}))
        return tok, trainers.BpeTrainer(vocab_size=vocab, show_progress=False, special_tokens=kw.get("special", []), limit_alphabet=200,
                                        **({"end_of_word_suffix": kw["end_of_word_suffix"]} if kw.get("end_of_word_suffix") else {}),
                                        **({"continuing_subword_prefix": kw["continuing_subword_prefix"]} if kw.get("continuing_subword_prefix") else {}))

    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20))
    tok.normalizer = normalizers.BertNormalizer()
    tok.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tok.decoder = decoders.WordPiece()
    tok.train_from_iterator(text, trainers.WordPieceTrainer(vocab_size=700, show_progress=False, limit_alphabet=250, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    tok.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "small_bert", tok

    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer = normalizers.BertNormalizer(lowercase=False, strip_accents=True, handle_chinese_chars=False, clean_text=False)
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Whitespace(), pre_tokenizers.Digits(individual_digits=False)])
    tok.decoder = decoders.WordPiece(cleanup=False)
    tok.train_from_iterator(text, trainers.WordPieceTrainer(vocab_size=500, show_progress=False, limit_alphabet=200, special_tokens=["[UNK]", "[SEP]"]))
    tok.post_processor = processors.TemplateProcessing(single="$A [SEP]", special_tokens=[("[SEP]", 1)])
    yield "small_wordpiece", tok

    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(text, trainers.BpeTrainer(vocab_size=600, show_progress=False, initial_alphabet=alphabet, special_tokens=["<s>", "</s>", "<unk>"]))
    tok.add_special_tokens([AddedToken("<mask>", lstrip=True, special=True), AddedToken("[MASK]", rstrip=True, special=True)])
    tok.add_tokens([AddedToken("world", single_word=True), AddedToken("<|im", normalized=True), AddedToken("<|im_start|>", lstrip=True, rstrip=True), AddedToken("AB", normalized=False)])
    tok.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    yield "small_roberta", tok

    tok, trainer = bpe(500, unk_token="<unk>", end_of_word_suffix="</w>", special=["<unk>"])
    tok.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Strip()])
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("merged_with_previous")])
    tok.decoder = decoders.BPEDecoder()
    tok.train_from_iterator(text, trainer)
    tok.add_tokens([AddedToken("Hello", normalized=True), AddedToken("ÜNÏ", normalized=True)])
    yield "small_suffix", tok

    tok, trainer = bpe(500, unk_token="<unk>", continuing_subword_prefix="##", fuse_unk=True, special=["<unk>"])
    tok.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex("\\s+"), " "), normalizers.Replace("ab", "ba")])
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.CharDelimiterSplit(" "), pre_tokenizers.Punctuation("removed")])
    tok.train_from_iterator(text, trainer)
    yield "small_prefix", tok

    tok, trainer = bpe(500, unk_token="<unk>", byte_fallback=True, fuse_unk=True, special=["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)])
    tok.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tok.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    tok.train_from_iterator([x[:60] for x in text], trainer)
    tok.post_processor = processors.Sequence([processors.ByteLevel(), processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])])
    # Trained as special so that they exist; markers in real files are only <unk>, <s> and </s>.
    spec = json.loads(tok.to_str())
    spec["added_tokens"] = [t for t in spec["added_tokens"] if not t["content"].startswith("<0x")]
    yield "small_fallback", Tokenizer.from_str(json.dumps(spec))

    for name, scheme, fallback in (("small_unigram", "always", False), ("small_unigram_first", "first", True)):
        special = ["<pad>", "</s>", "<unk>"] + ([f"<0x{b:02X}>" for b in range(256)] if fallback else [])
        tok = Tokenizer(models.Unigram())
        tok.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
        tok.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=not fallback)
        tok.decoder = decoders.Metaspace(prepend_scheme=scheme)
        tok.train_from_iterator([x[:200] for x in lines[:3000]], trainers.UnigramTrainer(vocab_size=400 + len(special), show_progress=False, special_tokens=special, unk_token="<unk>", max_piece_length=8))
        spec = json.loads(tok.to_str())
        spec["model"]["byte_fallback"] = fallback
        spec["added_tokens"] = [t for t in spec["added_tokens"] if not t["content"].startswith("<0x")]
        yield name, Tokenizer.from_str(json.dumps(spec))

    patterns = [("isolated", "\\p{Lu}\\p{Ll}*|\\d+(?=\\p{L})", False), ("merged_with_next", "[^\\w\\s&&[^_]]+", False), ("contiguous", "(?i:th|he)|[aeiou]", False),
                ("removed", "[\\u3000-\\u30ff]", False), ("merged_with_previous", "(?<=e)\\S", True)]
    tok = Tokenizer(models.BPE())
    tok.normalizer = normalizers.NFC()
    tok.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), b, invert=i) for b, p, i in patterns] + [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator(text, trainers.BpeTrainer(vocab_size=500, show_progress=False, initial_alphabet=alphabet))
    yield "small_splits", tok


def from_gguf(path, steps):
    """The vocabulary of a GGUF file with the pre-tokenizer of the model's own tokenizer.json."""
    from gguf import GGUFReader
    fields = GGUFReader(path).fields
    tokens, types, merges = (fields["tokenizer.ggml." + k].contents() for k in ("tokens", "token_type", "merges"))
    tok = Tokenizer(models.BPE({t: i for i, t in enumerate(tokens)}, [tuple(m.split(" ")) for m in merges]))
    tok.pre_tokenizer = pre_tokenizers.Sequence(steps)
    tok.decoder = decoders.ByteLevel()
    tok.add_special_tokens([AddedToken(t, normalized=False, special=True) for t, k in zip(tokens, types) if k == 3])
    tok.add_tokens([AddedToken(t, normalized=False) for t, k in zip(tokens, types) if k == 4])
    if "tokenizer.ggml.add_bos_token" in fields and fields["tokenizer.ggml.add_bos_token"].contents():
        bos = fields["tokenizer.ggml.bos_token_id"].contents()
        tok.post_processor = processors.TemplateProcessing(single=f"{tokens[bos]}:0 $A:0", special_tokens=[(tokens[bos], bos)])
    return tok


def gguf_tokenizers(data):
    def split(pattern):
        return pre_tokenizers.Split(Regex(pattern), "isolated")

    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    scripts = split("[一-龥ࠀ-一가-\ud7ff]+")
    letters = "".join(chr(a) + ("-" + chr(b) if b != a else "") for a, b in DEEPSEEK_LETTERS)
    yield "smollm2", from_gguf(f"{data}/llm/SmolLM2-135M-Instruct.Q4_1.gguf", [digits, byte_level])
    yield "falcon", from_gguf(f"{data}/vocabs/falcon.gguf", [
        pre_tokenizers.Punctuation("contiguous"), byte_level, pre_tokenizers.Digits(individual_digits=False), split("[0-9][0-9][0-9]")])
    yield "deepseek-llm", from_gguf(f"{data}/vocabs/deepseek-llm.gguf", [
        split("[\r\n]"), split("\\s?[" + letters + "]+"), split("\\s?[!-/:-~！-／：-～‘-‟\u3000-。]+"), split("\\s+$"), scripts, digits, bytes_alone])
    yield "deepseek-coder", from_gguf(f"{data}/vocabs/deepseek-coder.gguf", [
        split("[\r\n]"), split("\\s?\\p{L}+"), split("\\s?\\p{P}+"), scripts, digits, bytes_alone])


def main():
    assert tokenizers.__version__ == "0.23.3", tokenizers.__version__
    data = sys.argv[1]
    lines = lines_of(data)
    os.makedirs(OUT, exist_ok=True)
    if len(sys.argv) > 2:
        name, path = sys.argv[3], sys.argv[4]
        file = f"{OUT}/{name}.json" if name.startswith("small") else f"{data}/tokenizers/{name}/tokenizer.json"
        dump(Tokenizer.from_file(file), list(corpus(lines, int(sys.argv[5]) if len(sys.argv) > 5 else 20000)), path)
        return
    for name, tok in small_tokenizers(lines):
        with open(f"{OUT}/{name}.json", "w", encoding="utf-8") as f:
            json.dump(json.loads(tok.to_str()), f, ensure_ascii=False, separators=(",", ":"))
        tok = Tokenizer.from_file(f"{OUT}/{name}.json")
        with open(f"{OUT}/{name}.hashes", "w") as f:
            f.write("\n".join(rows(tok, list(corpus(lines, 4000)))) + "\n")
        print(name)
    texts = list(corpus(lines, 20000))
    for name, tok in gguf_tokenizers(data):
        with open(f"{OUT}/{name}.hashes", "w") as f:
            f.write("\n".join(rows(tok, texts)) + "\n")
        print(name)
    for path in sorted(glob.glob(f"{data}/tokenizers/*/tokenizer.json")):
        name = path.split("/")[-2]
        with open(f"{OUT}/{name}.hashes", "w") as f:
            f.write("\n".join(rows(Tokenizer.from_file(path), texts)) + "\n")
        print(name)


main()
