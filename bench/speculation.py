#!/usr/bin/env python3
"""Answers prompts with and without speculation: the ids and the hash must be the same, and the time is compared.

usage: speculation.py MODEL [--draft MODEL] [--threads 1] [--pairs 5] [--max-tokens 192]
       speculation.py MODEL --check 1000

The first form takes samples of three kinds: code that edits a given function, texts that quote a given one, chat. Runs with and without
alternate in one process. Prints for each sample tokens per second after the first piece of text at the median, without and with, the ratio of
the pairs (minimum / median / maximum), and what was drafted. At one thread the time is the process's own.
The second form compares so many short prompts, every other one drawn at a temperature and with penalties.
"""
import argparse
import os
import statistics
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
os.environ.setdefault("WELVET_LIBRARY", os.path.join(ROOT, "build", "libloom.so"))
sys.path.insert(0, os.path.join(ROOT, "python"))
import welvet  # noqa: E402

MEAN = '''def mean(values, weights=None):
    """Returns the weighted mean of the values."""
    if not values:
        raise ValueError("no values")
    if weights is None:
        weights = [1.0] * len(values)
    if len(weights) != len(values):
        raise ValueError("as many weights as values are needed")
    total = 0.0
    for value, weight in zip(values, weights):
        total += value * weight
    return total / sum(weights)
'''
READ = '''import json
import os

def parse(path, defaults):
    if not os.path.exists(path):
        return dict(defaults)
    with open(path, encoding="utf-8") as file:
        settings = json.load(file)
    for key, value in defaults.items():
        if key not in settings:
            settings[key] = value
    unknown = [key for key in settings if key not in defaults]
    if unknown:
        raise KeyError("unknown settings: " + ", ".join(unknown))
    return settings
'''
HARBOUR = ("The harbour of the town was built in 1846 by the engineer Thomas Reid. It has two piers of granite, of which the northern one is "
           "four hundred metres long. In the first years only fishing boats used it. After the railway reached the town in 1871, coal was "
           "shipped from here to the whole coast. The storm of January 1905 broke the southern pier in three places, and the repair took six "
           "years. Today the harbour is used by a ferry, by some twenty fishing boats and by many visitors who come in the summer to see the "
           "old lighthouse.")
BEES = ("Bees find their way by the position of the sun. A bee that has found a field of flowers returns to the hive and dances on the comb. "
        "The angle between the dance and the vertical is the angle between the sun and the flowers. The length of the dance tells the "
        "distance. Other bees follow the dancer in the dark of the hive and learn the direction by touch. When the sun is hidden by clouds, "
        "bees use the pattern of polarised light in the sky, which the human eye does not see.")
SAMPLES = [
    ("code: rename a variable", "Change the name of the variable total to result in this function and write the whole function again:\n\n" + MEAN),
    ("code: rename a function", "Rename the function parse to read_config and repeat all of the code:\n\n" + READ),
    ("summary that quotes, harbour", "Summarize the following text. Quote its sentences word for word.\n\n" + HARBOUR),
    ("summary that quotes, bees", "Write the main points of this text and quote the sentences that say so.\n\n" + BEES),
    ("chat: advice", "What should I think of before I buy a used bicycle?"),
    ("chat: explanation", "Explain to a child why the sky is blue."),
    ("chat: story", "Write a short story about a lighthouse keeper and a lost dog."),
]

ASKS = ["What is {}?", "Write one sentence about {}.", "Say this three times: I like {}.", "Name a colour, a place and a word for {}.",
        "Repeat word for word: the old {} stood by the river, and the old {} stood by the sea.", "Why do people like {}?",
        "Spell {} backwards.", "Make a list of five things about {}.", "Translate into French: {}.", "x = '{}'\nprint(x)\nprint(x)\nWhat is printed?"]
THINGS = ["bread", "rain", "a bridge", "music", "the moon", "a clock", "salt", "a forest", "chess", "tea"]
KINDS = ["red", "old", "small", "cold", "loud", "new", "quiet", "broken", "blue", "heavy"]


def timed(lm, prompt, max_tokens, speculate, clock):
    """The generation, and its seconds after the first piece of text."""
    stream = lm.stream(prompt, max_tokens=max_tokens, speculate=speculate)
    next(stream)
    start = clock()
    for _ in stream:
        pass
    return stream.result, clock() - start


def check(lm, count, speculate):
    same = accepted = tokens = 0
    for i in range(count):
        prompt = ASKS[i % 10].replace("{}", f"{KINDS[i // 100 % 10]} {THINGS[i // 10 % 10]}")
        options = {} if i % 2 == 0 else {"temperature": 0.7, "seed": i, "repetition_penalty": 1.05, "min_p": 0.05}
        plain, told = (lm.generate(prompt, max_tokens=24, speculate=s, **options) for s in (None, speculate))
        if (plain.ids, plain.hash, plain.text, plain.stop_reason) == (told.ids, told.hash, told.text, told.stop_reason):
            same += 1
        else:
            print(f"differs: {prompt!r}: {plain} / {told}")
        accepted, tokens = accepted + told.accepted, tokens + len(told.ids)
    print(f"{same} of {count} answers with the same ids, hash, text and end; {tokens} tokens, of which {accepted} were accepted drafts")
    return 0 if same == count else 1


def compare(lm, args, speculate):
    # other programs on the machine delay a process and do not count among its own time
    clock = time.process_time if args.threads == 1 else time.perf_counter
    print("| sample | tok/s without | tok/s with | ratio | accepted of drafted |\n| --- | ---: | ---: | ---: | ---: |")
    for name, prompt in SAMPLES:
        pairs = []
        for pair in range(args.pairs + 1):  # the first one warms up
            order = (None, speculate) if pair % 2 == 0 else (speculate, None)
            runs = {s is not None: timed(lm, prompt, args.max_tokens, s, clock) for s in order}
            (plain, before), (told, after) = runs[False], runs[True]
            if plain.hash != told.hash:
                sys.exit(f"{name}: the answers differ")
            if pair > 0:
                pairs.append((before, after))
        rates = [(len(told.ids) - 1) / statistics.median(p[i] for p in pairs) for i in (0, 1)]
        ratios = sorted(a / b for a, b in pairs)
        print(f"| {name} | {rates[0]:.0f} | {rates[1]:.0f} | {ratios[0]:.2f} / {statistics.median(ratios):.2f} / {ratios[-1]:.2f} "
              f"| {told.accepted} of {told.drafted} |", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--draft")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--max-tokens", type=int, default=192)
    parser.add_argument("--check", type=int, metavar="COUNT")
    args = parser.parse_args()
    lm = welvet.LM(args.model, threads=args.threads)
    speculate = welvet.LM(args.draft) if args.draft else "ngram"
    return check(lm, args.check, speculate) if args.check else compare(lm, args, speculate)


if __name__ == "__main__":
    sys.exit(main())
