#!/usr/bin/env python3
"""Structured output: the time of a token mask beside XGrammar and llguidance, and decoding by a schema beside free decoding.

usage: structured.py masks TOKENIZER.json [--rounds 3] [--json FILE]
       structured.py decode MODEL [--pairs 5] [--tokens 128] [--temperature 0]

`masks` follows the same documents, of the same tokens, with each engine: a new matcher for every document, a mask before every token. It
counts processor time of the one thread, so other programs on the machine delay it and do not count; rounds of the engines are interleaved,
and the median of the rounds is printed. XGrammar and llguidance come from PyPI (pip install xgrammar==0.2.9 llguidance==1.9.1 tokenizers);
an engine that is not installed is left out. XGrammar imports PyTorch, of which it needs nothing here, since its masks may be arrays of
NumPy: without PyTorch a stand-in of a few names takes its place.
`decode` alternates answers with a schema and without, and compares the processor time of a token with one thread. Above temperature 0 an
answer without a schema draws from the whole vocabulary and one with a schema from the tokens that it allows.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import types

from beside import program

WORDS = ("amber brook candle drift ember fable garden harbor island jasmine kettle lantern meadow north orchard pebble quiet river "
         "summer timber upland valley willow yonder zephyr Zoë naïve über 東京 Ωmega").split()


def text(rng, least=1, most=9):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def uuid(rng):
    digits = "".join(rng.choice("0123456789abcdef") for _ in range(32))
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def cases():
    """Pairs of name, schema and a function that makes a document."""
    string, integer = {"type": "string"}, {"type": "integer"}
    person = {"type": "object", "properties": {"name": string, "age": {"type": "integer", "minimum": 0, "maximum": 150}, "bio": string},
              "required": ["name", "age", "bio"], "additionalProperties": False}
    order = {"type": "object", "properties": {
        "id": integer, "customer": person,
        "items": {"type": "array", "items": {"type": "object", "properties": {"sku": string, "count": integer, "price": {"type": "number"},
                                                                              "colour": {"enum": ["red", "green", "blue"]}},
                                             "required": ["sku", "count", "price", "colour"], "additionalProperties": False}},
        "note": {"anyOf": [string, {"type": "null"}]}}, "required": ["id", "customer", "items", "note"], "additionalProperties": False}
    tree = {"$defs": {"node": {"type": "object", "properties": {"value": string, "children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                               "required": ["value", "children"], "additionalProperties": False}}, "$ref": "#/$defs/node"}
    bounded = {"type": "object", "properties": {"title": {"type": "string", "minLength": 1, "maxLength": 80}, "code": {
        "type": "string", "pattern": "^[A-Z]{3}-[0-9]{4}$"}, "tags": {"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 6}},
        "required": ["title", "code", "tags"], "additionalProperties": False}
    formats = {"type": "object", "properties": {"id": {"type": "string", "format": "uuid"}, "day": {"type": "string", "format": "date"}},
               "required": ["id", "day"], "additionalProperties": False}

    def a_person(rng):
        return {"name": text(rng, 1, 3), "age": rng.randint(0, 150), "bio": text(rng, 5, 20)}

    def an_order(rng):
        items = [{"sku": text(rng, 1, 2), "count": rng.randint(1, 99), "price": rng.randint(1, 9999) / 100 + 0.001,
                  "colour": rng.choice(["red", "green", "blue"])} for _ in range(rng.randint(1, 4))]
        return {"id": rng.randint(1, 10**6), "customer": a_person(rng), "items": items, "note": rng.choice([None, text(rng)])}

    def a_tree(rng, depth=0):
        return {"value": text(rng, 1, 4), "children": [a_tree(rng, depth + 1) for _ in range(rng.randint(0, 3) if depth < 3 else 0)]}

    def a_bounded(rng):
        letters = "".join(rng.choice("ABCDEFGHIJ") for _ in range(3))
        return {"title": text(rng, 1, 8)[:80], "code": f"{letters}-{rng.randint(1000, 9999)}",
                "tags": [rng.choice(WORDS) for _ in range(rng.randint(0, 6))]}

    def a_format(rng):
        return {"id": uuid(rng), "day": f"20{rng.randint(10, 29)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"}

    def anything(rng):
        return {text(rng, 1, 2): rng.choice([text(rng), rng.randint(0, 999), None, True, [text(rng), {"a": text(rng)}]]) for _ in range(4)}

    return [("person", person, a_person), ("order", order, an_order), ("tree", tree, a_tree), ("bounded texts, pattern", bounded, a_bounded),
            ("uuid and date", formats, a_format), ("any object", {"type": "object"}, anything)]


def documents(tokenizer, count):
    """The cases with `count` documents each as lists of token ids, written without blanks."""
    out = []
    for name, schema, make in cases():
        rng = random.Random(name)
        texts = [json.dumps(make(rng), ensure_ascii=False, separators=(",", ":")) for _ in range(count)]
        out.append({"name": name, "schema": schema, "documents": [tokenizer.encode(t, add_special_tokens=False).ids for t in texts]})
    return out


def now():
    return time.thread_time_ns() / 1000


class Loom:
    name = "loom"

    def __init__(self, path, _tokenizer):
        self.path = path

    def measure(self, given):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(given, file)
            file.flush()
            done = subprocess.run([program("bench_masks"), self.path, file.name], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"bench_masks: {done.stderr}")
        return json.loads(done.stdout)


class Peer:
    """An engine of a Python package: compile() makes a grammar, follow() yields the microseconds of each mask of a document."""

    def measure(self, given):
        out = {}
        for case in given:
            try:
                begin = now()
                grammar = self.compile(json.dumps(case["schema"]))
                found = {"compile_us": now() - begin, "masks_us": [], "accept_us": 0.0}
                for ids in case["documents"]:
                    self.follow(grammar, ids, found)
            except Exception as error:  # noqa: BLE001: whatever the package refuses by is its answer
                found = {"error": str(error).splitlines()[0][:90]}
            out[case["name"]] = found
        return out


class XGrammar(Peer):
    name = "XGrammar"

    def __init__(self, _path, tokenizer):
        try:
            import torch  # noqa: F401
        except ImportError:
            import tvm_ffi  # noqa: F401  these two look for PyTorch, and do without it
            from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast  # noqa: F401

            sys.modules["torch"] = stand_in()
        import numpy
        import xgrammar

        self.xgrammar, size = xgrammar, tokenizer.get_vocab_size()
        info = xgrammar.TokenizerInfo([tokenizer.id_to_token(i) for i in range(size)], xgrammar.VocabType.BYTE_LEVEL, vocab_size=size,
                                      stop_token_ids=[2])
        # Without its cache, which would answer the later rounds.
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        self.mask = numpy.zeros((1, (size + 31) // 32), dtype=numpy.int32)

    def compile(self, schema):
        return self.compiler.compile_json_schema(schema, any_whitespace=True)

    def follow(self, grammar, ids, found):
        matcher = self.xgrammar.GrammarMatcher(grammar)
        for token in ids:
            begin = now()
            matcher.fill_next_token_bitmask(self.mask)
            middle = now()
            if not matcher.accept_token(token):
                raise ValueError(f"token {token} of a valid document is not allowed")
            found["masks_us"].append(middle - begin)
            found["accept_us"] += now() - middle


def stand_in():
    """The names that xgrammar reads of torch when it is imported."""
    class Module(types.ModuleType):
        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return f"torch.{name}"

    module = Module("torch")
    module.Tensor, module.tensor = type("Tensor", (), {}), lambda value, dtype=None: value
    return module


class LlGuidance(Peer):
    name = "llguidance"

    def __init__(self, path, tokenizer):
        import llguidance
        import llguidance.numpy

        self.llguidance, self.numpy = llguidance, llguidance.numpy
        with open(path, encoding="utf-8") as file:
            self.tokenizer = llguidance.LLTokenizer(file.read())
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)

    def compile(self, schema):
        grammar = self.llguidance.LLMatcher.grammar_from_json_schema(schema)
        error = self.llguidance.LLMatcher.validate_grammar(grammar, self.tokenizer)
        if error:
            raise ValueError(error)
        return self.llguidance.LLMatcher(self.tokenizer, grammar)

    def follow(self, grammar, ids, found):
        matcher = grammar.deep_copy()
        for token in ids:
            begin = now()
            self.numpy.fill_next_token_bitmask(matcher, self.mask)
            middle = now()
            if not matcher.consume_token(token):
                raise ValueError(matcher.get_error() or f"token {token} of a valid document is not allowed")
            found["masks_us"].append(middle - begin)
            found["accept_us"] += now() - middle


def part(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def masks(args):
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(args.model)
    given, engines = documents(tokenizer, args.documents), []
    for kind in (Loom, XGrammar, LlGuidance):
        try:
            engines.append(kind(args.model, tokenizer))
        except ImportError as error:
            print(f"{kind.name}: left out: {error}", file=sys.stderr)
    rounds = {engine.name: [] for engine in engines}
    for number in range(args.rounds):
        for engine in engines if number % 2 == 0 else reversed(engines):
            rounds[engine.name].append(engine.measure(given))
    tokens = {case["name"]: sum(map(len, case["documents"])) for case in given}
    print("| schema | tokens | engine | compile, ms | mask p50, us | p99, us | worst, us | accept, us |\n| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for case in given:
        name = case["name"]
        for engine in engines:
            found = [r[name] for r in rounds[engine.name]]
            if "error" in found[0]:
                print(f"| {name} | {tokens[name]} | {engine.name} | {found[0]['error']} | | | | |")
                continue
            middle = lambda value: statistics.median(map(value, found))
            print(f"| {name} | {tokens[name]} | {engine.name} | {middle(lambda f: f['compile_us']) / 1000:.2f} "
                  f"| {middle(lambda f: part(f['masks_us'], 0.5)):.1f} | {middle(lambda f: part(f['masks_us'], 0.99)):.0f} "
                  f"| {middle(lambda f: max(f['masks_us'])):.0f} | {middle(lambda f: f['accept_us']) / tokens[name]:.2f} |")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(rounds, file)


PROMPTS = {"person": "Describe a sailor as JSON with name, age and bio.", "order": "Write an order of a shop as JSON.",
           "any object": "Describe a harbour as JSON."}


def decode(args):
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    os.environ.setdefault("WELVET_LIBRARY", os.path.join(root, "build", "libloom.so"))
    sys.path.insert(0, os.path.join(root, "python"))
    import welvet

    lm = welvet.LM(args.model, threads=1)

    def seconds(prompt, schema):
        """Processor time of a token after the first one: that of a whole answer without that of its first token."""
        options = {"temperature": args.temperature, "seed": 3, **({"schema": schema} if schema else {"ignore_eos": True})}
        begin = time.process_time()
        lm.generate(prompt, max_tokens=1, **options)
        middle = time.process_time()
        answer = lm.generate(prompt, max_tokens=args.tokens, **options)
        return ((time.process_time() - middle) - (middle - begin)) / max(len(answer.ids) - 1, 1), len(answer.ids)

    print("| schema | tokens | free, tok/s | by the schema, tok/s | ratio |\n| --- | ---: | ---: | ---: | ---: |")
    for name, schema, _ in cases():
        if name not in PROMPTS:
            continue
        pairs = []
        for pair in range(args.pairs + 1):  # the first one warms up
            runs = {bool(s): seconds(PROMPTS[name], s) for s in ((None, schema) if pair % 2 == 0 else (schema, None))}
            if pair > 0:
                pairs.append((runs[False][0], runs[True][0]))
        ratios = sorted(free / by for free, by in pairs)
        rates = [1 / statistics.median(p[i] for p in pairs) for i in (0, 1)]
        print(f"| {name} | {runs[True][1]} | {rates[0]:.0f} | {rates[1]:.0f} "
              f"| {ratios[0]:.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("masks", "decode"))
    parser.add_argument("model", help="tokenizer.json, or the model")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--temperature", type=float, default=0)
    parser.add_argument("--json", help="file for all rounds")
    args = parser.parse_args()
    (masks if args.what == "masks" else decode)(args)


if __name__ == "__main__":
    main()
