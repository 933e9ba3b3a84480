#!/usr/bin/env python3
"""Do the published figures come out? Runs what the documents say, and compares what comes out with what they say came out.

usage: check_figures.py                one row of every table, by the published command with its defaults; half an hour of a busy machine
       check_figures.py --quick        the rows that take seconds; ./test runs this
       check_figures.py --all          every row; hours
       check_figures.py --list         what there is to check: runs nothing
       ... --only TEXT                 what has this text in its name, for example "costs" or "costs: float32, chain"
       ... --threads N                 in place of the default of the commands

Expected figures are read from the pages at every run, so that page and check cannot drift apart: it is a fault as well when a page no longer names
the command, when a row is gone, and when a page shows a hash that no check knows. Times and speeds are not compared. Prints a line per row,
"ok" or "differs", and ends with 1 if one differs. Needs build/bin with the examples and the tests, and the data of tools/fetch_data.sh.
"""
import argparse
import collections
import functools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import check_docs
import fetch_data

ROOT = check_docs.ROOT
sys.path.append(os.path.join(ROOT, "bench"))
import gpu_report  # a module of bench/

DATA = os.environ.get("LOOM_DATA") or os.path.join(fetch_data.CACHE, "data")
PYTHON = os.environ.get("LOOM_PYTHON", sys.executable)
LOOM, MADE = "build/bin/loom", "build/figures"
HASH = re.compile(r"(?<![.\w])(?:[0-9a-f]{64}|[0-9a-f]{16})\b")

# rows() yields Figure(name of the row, what the page says, what gives the same in the page's words); those that stand for the others come first.
Check = collections.namedtuple("Check", "name page command rows first quick")
Figure = collections.namedtuple("Figure", "row said run")
CHECKS, THREADS, READ = [], [], set()  # READ: tables that a check has read, by page and line


class Fault(Exception):
    """Raised with one line that says why there is nothing to compare."""


def check(name, page, command, first=1, quick=False):
    """Registers a generator of figures. `first` of them are run without --all; `command` is how the page spells what they run."""
    def add(rows):
        CHECKS.append(Check(name, page, command, rows, first, quick))
        return rows
    return add


# --- reading the pages -----------------------------------------------------------------------------------------------------------------

def full_path(page):
    return os.path.join(ROOT, page)


@functools.lru_cache(None)
def section(page, heading):
    """The lines below a heading as (text, whether it stands in a fenced block)."""
    lines, inside = [], False
    for _, text, fenced in check_docs.lines_of(full_path(page)):
        if text.startswith("#") and not fenced:
            inside = text.lstrip("# ") == heading
        elif inside:
            lines.append((text, fenced))
    if not lines:
        raise Fault(f"{page} has no heading \"{heading}\"")
    return lines


def prose(page, heading, pattern):
    """Returns the groups that a pattern finds in the section, whose lines are joined by spaces and whose code is not marked."""
    found = re.search(pattern, " ".join(" ".join(text for text, _ in section(page, heading)).replace("`", "").split()))
    if not found:
        raise Fault(f"{page}, \"{heading}\" no longer says {pattern}")
    return found.groups()


def blocks(page, heading):
    """The fenced blocks of a section, a list of lines each."""
    found = []
    for text, fenced in section(page, heading):
        if fenced and text.lstrip().startswith("```"):
            found.append([])
        elif fenced:
            found[-1].append(text)
    return found


def table(page, heading, at=0):
    """Cells of a table below a heading: {row: {column: cell}}. A row without a name, or named "weight hash", belongs to the row before it."""
    there = [(number, rows) for number, name, rows in headed_tables(page) if name == heading]
    if len(there) <= at:
        raise Fault(f"{page}, \"{heading}\" has no table {at + 1}")
    number, (header, *body) = there[at]
    READ.add((page, number))
    found = {}
    for cells in body:
        if cells[0] == "weight hash":
            last = found[list(found)[-1]]
            last.update({c: f"{last[c]} {h}" for c, h in zip(header[1:], cells[1:])})
        else:
            found[cells[0]] = dict(zip(header[1:], cells[1:]))
    return found


@functools.lru_cache(None)
def headed_tables(page):
    heads = [(number, text.lstrip("# ")) for number, text, fenced in check_docs.lines_of(full_path(page)) if text.startswith("#") and not fenced]
    return [(number, [name for at, name in heads if at < number][-1], rows) for number, _, rows in check_docs.tables(full_path(page))]


def text_of(path):
    with open(full_path(path), encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(full_path(path), "w", encoding="utf-8") as file:
        file.write(text)


# --- running what they say -------------------------------------------------------------------------------------------------------------

@functools.lru_cache(None)
def output_of(*command):
    """Returns what a command prints. Of equal commands only the first is run."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "LOOM_DATA": DATA, "NO_COLOR": "1"})
    if done.returncode:
        raise Fault(f"{' '.join(command)}: exit code {done.returncode}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]}")
    return done.stdout


def loom(*arguments):
    """The object that a command of the program prints."""
    return json.loads(output_of(LOOM, *arguments, *([] if "-t" in arguments else threads("-t")), "--json", "-q"))


def threads(flag):
    return [flag, THREADS[0]] if THREADS else []


def model():
    return output_of("tools/fetch_data.sh", "--model").strip()


def shell(lines):
    """Runs the lines of a console block that begin with "$ ", with build/bin and the interpreter in the path, and returns what they print."""
    commands = [f"PATH=build/bin:{os.path.dirname(PYTHON)}:$PATH", *(line[2:] for line in lines if line.startswith("$ "))]
    return output_of("bash", "-euc", "\n".join(commands)).rstrip("\n")


def said_by_console(lines):
    return "\n".join(line for line in lines if not line.startswith("$ "))


# --- README ----------------------------------------------------------------------------------------------------------------------------

@check("hash", "README.md", './run generate $MODEL -p "What is the capital of France?" --json', quick=True)
def hash_of_readme(page):
    console = blocks(page, "Try it")[1]
    yield Figure("Q4_1", said_by_console(console), lambda: shell(console))


# --- docs/guide ------------------------------------------------------------------------------------------------------------------------

@check("answer", "docs/guide/start.md", './run generate $MODEL -p "What is the capital of France?" --json', quick=True)
def answer(page):
    console = blocks(page, "What you should see")[0]
    yield Figure("Q4_1", said_by_console(console), lambda: shell(console))


@check("picture", "docs/guide/networks.md", "loom graph examples/demo.json -o demo.svg", quick=True)
def picture(_):
    def run():
        output_of(LOOM, "graph", "examples/demo.json", "-o", f"{MADE}/demo.svg", "--overwrite")
        return text_of(f"{MADE}/demo.svg")
    yield Figure("docs/demo.svg", text_of("docs/demo.svg"), run)


@check("learn", "docs/guide/networks.md", "loom train examples/training/mnist_mlp.json --folder ~/.cache/loom/data", quick=True)
def learn(page):
    percent, = prose(page, "Learn", r"mnist_mlp\.json --folder \S+ -o digits +# ([\d.]+) %")
    yield Figure("digits", percent, lambda: f"{100 * trained('mnist_mlp.json')['validation']['accuracy']:.1f}")


@check("from C++", "docs/guide/c-and-cpp.md", "c++ -std=c++20 -O2 -DJSON_NOEXCEPTION -Isrc -Ibuild/deps/include ask.cpp -o ask", quick=True)
def from_cpp(page):
    code, command = blocks(page, "From the engine's own C++")
    question, said = "What is the capital of France?", said_by_console(blocks("docs/guide/start.md", "What you should see")[0])

    def run():
        write(f"{MADE}/ask.cpp", "\n".join(code) + "\n")
        output_of("bash", "-euc", re.sub(r"\bask(?=\.cpp| )", f"{MADE}/ask", "\n".join(command)))
        return output_of(f"{MADE}/ask", model(), question).strip()
    yield Figure("ask.cpp", f"{said.splitlines()[0]}\n{HASH.search(said)[0]}", run)


@check("languages", "docs/guide/languages.md", "ctest -R bindings_", first=2, quick=True)
def languages(page):
    def run(name, code):
        write(f"{MADE}/{name}.cpp", "\n".join(code) + "\n")
        output_of("c++", "-std=c++17", "-Iinclude", f"{MADE}/{name}.cpp", "-o", f"{MADE}/{name}", "-Lbuild", "-lloom", f"-Wl,-rpath,{ROOT}/build")
        return output_of(f"{MADE}/{name}", model()).strip()
    for name, heading, of in (("tour", "C++", "One program in four languages"), ("breed", "Evolution in C++", "Evolution")):
        code, = blocks(page, heading)
        said, = blocks(page, of)
        yield Figure(heading, "\n".join(said), functools.partial(run, name, code))


@check("lockstep", "docs/guide/lockstep.md", "examples/lockstep/run.py")
def lockstep(page):
    cells = table(page, "Worlds in lockstep")["10 000"]

    def run():
        packages = os.environ.get("NODE_PATH") or os.path.join(os.environ.get("LOOM_NPM", os.path.join(fetch_data.CACHE, "npm")), "package/node_modules")
        said = output_of("env", f"NODE_PATH={packages}", sys.executable, "examples/lockstep/run.py")
        if "in cpp, python, node:" not in said:
            raise Fault(f"a process is missing: {said}")
        return re.search(r"^hash ([0-9a-f]{64})$", said, re.M)[1]
    yield Figure("10 000", cells["Hash of the last one"].strip("`"), run)


# --- docs/guide/training.md ------------------------------------------------------------------------------------------------------------------

def trained(config):
    folder = [] if config == "spirals.json" else ["--folder", DATA]
    return loom("train", f"examples/training/{config}", *folder, "-o", f"{MADE}/{config}.run", "--overwrite")


def in_words(result):
    seen = result["validation"]
    if "r2" in seen:
        figure = f"R² {seen['r2']:.3f}"
    elif seen["accuracy"] < 0.6:  # the next byte of a text
        figure = f"{seen['loss']:.3f} nats, {100 * seen['accuracy']:.1f} %"
    else:
        figure = f"{100 * seen['accuracy']:.2f} %"
    return f"{figure}, weights {result['hash'][:16]}"


@check("examples", "docs/guide/training.md", "loom train examples/training/iris.json --folder ~/.cache/loom/data", quick=True)
def examples(page):
    for config, row in table(page, "Examples").items():
        yield Figure(config, f"{row['Held out']}, weights {row['Weights']}", lambda c=config: in_words(trained(c)))


def fashion(name, *part):
    """Rows that examples/training/fashion_table.py prints: {name: "90.11 % 29fa7e27c08193cf"}."""
    lines = output_of(PYTHON, "examples/training/fashion_table.py", name, *part, *threads("--threads")).splitlines()
    found = {}
    for line in lines:
        words = line.split()
        if len(words) < 8 or words[2] != "%":
            raise Fault(f"fashion_table.py {name}: {line}")
        found[words[0]] = f"{words[1]} % {words[-1]}"
    return found


def fashion_row(name, row):
    return lambda: fashion(name, "--only", row)[row]


def types_of(name, networks, prefix):
    for network, row in networks.items():
        for dtype, said in row.items():
            yield Figure(f"{network}, {dtype}", said, fashion_row(name, f"{prefix(network)}_{dtype}"))


@check("qat", "docs/guide/training.md", "examples/training/fashion_table.py qat")
def qat(page):
    return types_of("qat", {"MLP": table(page, "Types, measured")["MLP"]}, str.lower)


@check("cnn", "docs/guide/training.md", "examples/training/fashion_table.py cnn")
def cnn(page):
    return types_of("cnn", {"CNN": table(page, "Types, measured")["CNN"]}, str.lower)


@check("mnist", "docs/guide/training.md", "examples/training/fashion_table.py mnist")
def mnist(page):
    return types_of("mnist", table(page, "Types, measured", 1), lambda network: f"mnist{network.split()[0]}k_{network.split()[-1].lower()}")


@check("finetune", "docs/guide/training.md", "loom finetune $MODEL --text ~/.cache/loom/data/text/botchan.txt -o adapter --steps 60 --batch 2 --learning-rate 1e-3")
def finetune(page):
    before, after, weights = prose(page, "Fine-tuning a language model", r"falls from ([\d.]+) to ([\d.]+) nats per token.*\(adapter ([0-9a-f]{16})\)")

    def run():
        options = "--steps 60 --batch 2 --learning-rate 1e-3".split()
        done = loom("finetune", model(), "--text", f"{DATA}/text/botchan.txt", "-o", f"{MADE}/adapter", "--overwrite", *options)
        return f"{done['validation_before']:.3f} to {done['validation_after']:.3f}, adapter {done['hash'][:16]}"
    yield Figure("novel", f"{before} to {after}, adapter {weights}", run)


# --- docs/guide/tween.md ---------------------------------------------------------------------------------------------------------------------

LEARNERS = {"backprop": "backprop", "secant": "secant", "chain": "chain", "learned feedback": "mirror"}


# 784 x 256 weights are divided among the two threads of the command's default, in every mode that has rules of its own.
@check("costs", "docs/guide/tween.md", "examples/training/fashion_table.py tween --only _0.1_1", first=2, quick=True)
def costs(page):
    for dtype, row in table(page, "What it costs").items():
        for column in ("secant", "chain", "learned feedback", "backprop"):
            right, _, weights = row[column].split(", ")
            yield Figure(f"{dtype}, {column}", f"{right} % {weights}", fashion_row("tween", f"relu_{dtype}_{LEARNERS[column]}_0.1_1"))


@check("tween", "docs/guide/tween.md", "examples/training/fashion_table.py tween")
def tween(page):
    def seeds_of(name, learner):
        """{rate: {seed: percent}} of a row; learned feedback has one rate and three seeds."""
        found = {}
        for row, said in fashion("tween", "--only", f"{name}_{learner}_").items():
            rate, seed = row.split("_")[-2:]
            found.setdefault(rate, {})[int(seed)] = float(said.split()[0])
        return found

    def mean(name, learner):
        rates = seeds_of(name, learner)
        if learner == "mirror":
            return f"{statistics.mean(rates['0.03' if name.startswith('sign') else '0.1'][s] for s in (1, 2, 3)):.2f}"
        chosen = [max(rates.values(), key=lambda seen: sum(seen[s] for s in group)) for group in ((1, 2, 3), (4, 5))]
        return f"{statistics.mean([chosen[0][s] for s in (1, 2, 3)] + [chosen[1][s] for s in (4, 5)]):.2f}"

    runs, means = [], []
    for label, row in table(page, "Measured").items():
        activation, dtype, *deep = label.split(", ")
        name = f"{'deep' if deep else activation}_{dtype}"
        for column, said in row.items():
            learner = LEARNERS.get(column.split(" (")[0], "plain")
            if said and "(1 seed" in column:
                one = f"{name}_{learner}_0.3_1"
                runs.append(Figure(f"{label}, {column}", said, lambda one=one: fashion("tween", "--only", one)[one].split()[0]))
            elif said:
                means.append(Figure(f"{label}, {column}", said, lambda n=name, k=learner: mean(n, k)))
    return runs + means


@check("rates of feedback", "docs/guide/tween.md", "loom train on a config that the command leaves in build/fashion")
def rates_of_feedback(page):
    said = prose(page, "Measured", r"with sign, 0\.1 costs .*?\(([\d.]+) at seed 1, ([\d.]+) at 0\.3\),.*?\(([\d.]+) and ([\d.]+) at seed 2 against ([\d.]+)\)\."
                                   r".*? give ([\d.]+) with sign and binary at seed 1, where one gives (\d+\.\d+)")

    def run(row, changes):
        right = fashion("tween", "--only", row)[row].split()[0]
        if not changes:
            return right
        config = json.loads(text_of(f"build/fashion/{row}.json"))
        for part, change in changes.items():
            config[part].update(change)
        changed = f"{MADE}/{row}_{'_'.join(str(v) for change in changes.values() for v in change.values())}.json"
        write(changed, json.dumps(config))
        return f"{100 * loom('train', changed, '--overwrite')['validation']['accuracy']:.2f}"
    rate = [{"optimizer": {"learning_rate": r}} for r in (0.2, 0.3)]
    rows = (("sign_float32_mirror_0.1_1", {}), ("sign_float32_mirror_0.1_1", rate[1]), ("relu_ternary_mirror_0.1_2", rate[0]), ("relu_ternary_mirror_0.1_2", rate[1]),
            ("relu_ternary_mirror_0.1_2", {}), ("sign_binary_mirror_0.03_1", {"tween": {"feedback_steps": 4}}), ("sign_binary_mirror_0.03_1", {}))
    for percent, (row, changes) in zip(said, rows):
        yield Figure(f"{row} {changes or ''}".strip(), percent, lambda r=row, c=changes: run(r, c))


@check("inverse", "docs/guide/tween.md", "examples/training/fashion_table.py inverse")
def inverse(page):
    def run(name):
        seeds = [fashion("inverse", "--only", f"{name}_{seed}")[f"{name}_{seed}"].split(" % ") for seed in (1, 2, 3)]
        return f"{statistics.mean(float(right) for right, _ in seeds):.2f}, {seeds[0][1]}"
    for activation, row in table(page, "An inverse beside a mirror").items():
        for learner, said in row.items():
            right, rate, weights = said.split(", ")
            yield Figure(f"{activation}, {learner}", f"{right}, {weights}", lambda n=f"inverse_{activation}_{learner}_{rate.replace(' ', '_')}": run(n))


@check("kinds", "docs/guide/tween.md", "examples/training/fashion_table.py kinds")
def kinds(page):
    def best(name):
        right, weights = max((said.split(" % ") for said in fashion("kinds", "--only", name).values()), key=lambda pair: float(pair[0]))
        return f"{right} ({weights})"
    for network, row in table(page, "Other kinds").items():
        for column, said in row.items():
            yield Figure(f"{network}, {column}", said, lambda n=f"{network.lower()}_{LEARNERS[column]}_": best(n))


@check("tween memory", "docs/guide/tween.md", "build/bin/training_test --gtest_filter=Trainer.targets_by_segments*", quick=True)
def tween_memory(page):
    said = prose(page, "Measured", r"batch 64: ([\d.]+) MB by backprop, ([\d.]+) MB by a layerwise .*?, ([\d.]+) MB with recompute_every 3 .*?, ([\d.]+) MB with undo")

    def run():
        out = output_of("build/bin/training_test", "--gtest_filter=Trainer.targets_by_segments*")
        return " ".join(re.search(r"backprop (\S+) MB, targets (\S+), by segments (\S+), with undo (\S+)", out).groups())
    yield Figure("20 dense cells", " ".join(said), run)


@check("continual", "docs/guide/tween.md", "build/bin/example_continual")
def continual(page):
    def lines(scenario):
        found = {}
        for line in output_of("build/bin/example_continual", "--scenario", scenario, *threads("-t")).splitlines()[2:]:
            name, rest = line[:24].strip(), line[24:].split()
            found[name] = [f"{float(rest[0]):g}", *rest[1:]]
        return found

    heading = "Does it forget less?"
    for learners, row in table(page, heading).items():
        kind, _, budgets = learners.partition(", ")
        names = [f"{kind}, budgets {b}" for b in budgets.removeprefix("budgets ").split(" or ")] if budgets else [kind]
        said = ", ".join(cell.replace(" ", "") for cell in row.values())
        yield Figure(learners, said, lambda names=names: " / ".join(sorted({", ".join(lines("permuted")[n]) for n in names})))
    said = prose(page, heading, r"\(([\d.]+) % afterwards\) and learn the others to ([\d.]+) to ([\d.]+) %, after ([\d ]+) answers \(backprop, layerwise\) or ([\d ]+)")

    def split():
        rows = {name: row for name, row in lines("split").items() if not name.endswith("0.99")}

        def column(at, *kinds):
            return sorted({row[at] for name, row in rows.items() if name.startswith(kinds)})
        second = [float(percent) for percent in column(4, "")]
        return " ".join([*column(2, ""), f"{min(second):.1f} {max(second):.1f}", *column(5, "backprop", "layerwise"), *column(5, "chain")])
    yield Figure("split", " ".join(figure.replace(" ", "") for figure in said), split)


# --- docs/guide/evolution.md, docs/guide/creature.md -------------------------------------------------------------------------------------------------

@check("exclusive or", "docs/guide/evolution.md", "build/bin/evolution_test --gtest_filter=Population.xor_is*", quick=True)
def exclusive_or(page):
    grown = r"\({}\) in (\d+) to (\d+)(?: generations)?, median ([\d.]+)"
    for config in ("xor.json", "xor_minimal.json"):
        def run(config=config):
            out = output_of("build/bin/evolution_test", "--gtest_filter=Population.xor_is*")
            all_of = [int(n) for n in re.search(rf"^{re.escape(config)}: .*: ([\d ]+)$", out, re.M)[1].split()]
            return f"{all_of[0]} to {all_of[-1]}, median {statistics.median(all_of):g}"
        low, high, median = prose(page, "Measured", grown.format(re.escape(config)))
        yield Figure(config, f"{low} to {high}, median {median.rstrip('.')}", run)


@check("cart-pole", "docs/guide/evolution.md", "loom evolve examples/evolve/cart_pole.json", quick=True)
def cart_pole(page):
    weights, = prose(page, "Measured", r"solved in the first generation with seed 1 \(hash ([0-9a-f]{16})\)")

    def run():
        done = loom("evolve", "examples/evolve/cart_pole.json")
        return f"solved after {done['generations']}: {done['hash'][:16]}" if done["solved"] else "not solved"
    yield Figure("seed 1", f"solved after 1: {weights}", run)


@check("alike", "docs/guide/evolution.md", "loom dna examples/demo.json build/int4.entity", quick=True)
def alike(page):
    console = blocks(page, "Comparing two networks")[1]
    yield Figure("int4", said_by_console(console), lambda: shell(console))


@check("first day", "docs/guide/creature.md", "build/bin/creature --script examples/creature/first_day.txt", quick=True)
def first_day(page):
    yield Figure("seed 7", "\n".join(blocks(page, "Its first day")[0]).strip("\n"),
                 lambda: output_of("build/bin/creature", "--script", "examples/creature/first_day.txt").strip("\n"))


@check("demonstration", "docs/guide/creature.md", "build/bin/creature --demo", quick=True)
def demonstration(page):
    lines = [line for line in blocks(page, "Measured")[0] if line]
    brain, = prose(page, "Measured", r"\b([0-9a-f]{64})\b")

    def run():
        out = output_of("build/bin/creature", "--demo")
        return "\n".join([*(line for line in out.splitlines() if line in lines), *(h for h in [brain] if h in out)])
    yield Figure("seed 7", "\n".join([*lines, brain]), run)


@check("20 creatures", "docs/guide/creature.md", "build/bin/creature_test --gtest_filter=*learns_five*", quick=True)
def creatures(page):
    said = prose(page, "Measured", r"obeys ([\d.]+) % before, ([\d.]+) % after ten lessons, ([\d.]+) % when .*?, of ([\d.]+) % of words")

    def run():
        out = output_of("build/bin/creature_test", "--gtest_filter=*learns_five*")
        shares = re.search(r"obeys (\S+) before, (\S+) after, (\S+) said otherwise; sure of strange words (\S+)", out).groups()
        return " ".join(f"{100 * float(share):.1f}" for share in shares)
    yield Figure("seeds 1 to 20", " ".join(f"{float(percent):.1f}" for percent in said), run)


@check("browsers and Node", "docs/platforms.md", "node tools/web_table.mjs --write")
def browsers_and_node(page):
    said = {column: row['Value that "equal" stands for'].strip("`") for column, row in table(page, "Browsers and Node", 2).items()}

    def run(column):
        out = output_of("node", "tools/web_table.mjs", "--only", "Node, native")
        return re.search(rf"^\| {re.escape(column)} \| `([0-9a-f]{{64}})` \|$", out, re.M)[1]
    for column, value in said.items():
        yield Figure(column, value, lambda c=column: run(c))


# --- docs/benchmarks ---------------------------------------------------------------------------------------------------------------------

def answer_of_random(shape, kind):
    """The hash of eight tokens of a model with random weights in a published shape."""
    path = f"{MADE}/{shape}.gguf" if kind == "q4_0" else f"{MADE}/{shape}-{kind}.gguf"
    if not os.path.exists(full_path(path)):
        output_of(PYTHON, "tools/make_random_gguf.py", shape, path + ".part", "--type", kind)
        os.rename(full_path(path + ".part"), full_path(path))
    return loom("generate", path, "--raw", "-p", "hello", "-n", "8", "-t", "1")["hash"]


@check("larger shapes", "docs/benchmarks/larger-models.md", "loom generate FILE --raw -p hello -n 8 -t 1 --json", first=2)
def larger_shapes(page):
    shapes = {"360M": "smollm2-360m", "0.5B": "qwen2.5-0.5b", "1.1B": "tinyllama-1.1b", "7B": "mistral-7b"}

    for label, row in table(page, "Larger shapes", 1).items():
        said = row["hash of the eight tokens and the last logits"]
        shape = shapes.get(label.split(",")[0])
        if shape:
            yield Figure(label, said, lambda s=shape: answer_of_random(s, "q4_0"))
        else:
            yield Figure(label, said, lambda: loom("generate", model(), "-p", "What is the capital of France?")["hash"])


@check("real sizes", "docs/benchmarks/real-size.md", "python3 bench/real_size.py", first=1)
def real_sizes(page):
    said = [re.fullmatch(r"- (\S+) (\S+), eight tokens on .*: ([0-9a-f]{64})", text) for text, _ in section(page, "Hashes")]
    for shape, kind, hash_ in sorted((found.groups() for found in said if found), reverse=True):
        yield Figure(f"{shape} {kind}", hash_, lambda shape=shape, kind=kind: answer_of_random(shape, kind.lower()))


@check("keys and values", "docs/benchmarks/types.md", 'loom generate $MODEL -p "What is the capital of France?" --kv-dtype int8 --json', first=3, quick=True)
def keys_and_values(page):
    for dtype, row in table(page, "Keys and values in three types").items():
        yield Figure(dtype, row["hash"], lambda d=dtype: loom("generate", model(), "-p", "What is the capital of France?", "--kv-dtype", d)["hash"])


@check("keys and values, perplexity", "docs/benchmarks/types.md", "loom perplexity $MODEL ~/.cache/loom/data/text/botchan.txt --max-windows 2 --kv-dtype int8 --json")
def perplexity_of_keys_and_values(page):
    def run(dtype):
        got = loom("perplexity", model(), f"{DATA}/text/botchan.txt", "--max-windows", "2", "--kv-dtype", dtype)
        return f"{got['perplexity']:.3f}"
    for dtype, row in table(page, "Keys and values in three types").items():
        yield Figure(dtype, row["perplexity"], lambda d=dtype: run(d))


@check("types", "docs/benchmarks/types.md", "bench/type_table.py $(tools/fetch_data.sh --model) ~/.cache/loom/data/text/botchan.txt --windows 2")
def types(page):
    def comparable(row):  # all but the speed
        return ", ".join(cell for column, cell in row.items() if column != "writes tok/s")

    def run(dtype):
        out = output_of(PYTHON, "bench/type_table.py", model(), f"{DATA}/text/botchan.txt", "--windows", "2", "--types", dtype, *threads("--threads"))
        header, _, row = ([c.strip() for c in line.strip("| ").split(" | ")] for line in out.splitlines())
        return comparable(dict(zip(header[1:], row[1:])))
    rows = table(page, "One model in every type")
    for dtype in ["int8", *(t for t in rows if t != "int8")]:
        yield Figure(dtype, comparable(rows[dtype]), lambda d=dtype: run(d))


@check("matrix", "docs/benchmarks/types.md", "build/bin/loom bench matrix --kind dense --dtype int8 --seconds 1", quick=True)
def matrix(page):
    def comparable(words):  # all but the times, of which there are as many as the machine has instruction sets and threads
        return " ".join([*words[:5], *words[-2:]])
    for line in blocks(page, "Every kind in every type")[1][1:]:
        words = line.split()

        def run(dtype=words[1], direction=words[2]):
            out = output_of(LOOM, "bench", "matrix", "--kind", "dense", "--dtype", dtype, "--seconds", "1", *threads("-t"))
            return comparable(next(w for w in (line.split() for line in out.splitlines()) if w[0] == "dense" and w[2] == direction))
        yield Figure(" ".join(words[:3]), comparable(words), run)


@check("whole matrix", "docs/benchmarks/types.md", "build/bin/loom bench matrix --seconds 60")
def whole_matrix(page):
    rows, equal, within = prose(page, "Every kind in every type", r"(\d+) rows \(.*?\) in \d+ s; (\d+) bit-equal to f64, (\d+) within, none beyond")

    def run():
        seen = [row["parity"] for row in loom("bench", "matrix", "--seconds", "60")["rows"]]
        return f"{len(seen)}: {seen.count('bit-equal')} and {seen.count('within')}"
    yield Figure("all", f"{rows}: {equal} and {within}", run)


@check("auto", "docs/benchmarks/types.md", "loom morph build/mlp.json build/auto.entity --auto --data build/x.npz --max-bytes 100000 --overwrite", quick=True)
def auto(page):
    console = blocks(page, "Types chosen by data")[0]
    yield Figure("64-256-256-10", said_by_console(console), lambda: shell(console))


# --- docs/benchmarks/graphics-cards.md: what a card has to come to ------------------------------------------------------------------------------------------

@check("weights of cards", "docs/benchmarks/graphics-cards.md", "bench/gpu_report.sh LOOM MODEL", quick=True)
def weights_of_cards(page):
    def run(training):
        with tempfile.TemporaryDirectory() as folder:
            gpu_report.write_data(folder)
            return gpu_report.trained(full_path(LOOM), folder, training, 500, "cpu")[0][:16]
    rows = table(page, "What was measured", 1)
    for (row, cells), training in zip(rows.items(), gpu_report.trainings(), strict=True):
        yield Figure(row, cells["weights"], lambda training=training: run(training))


# -----------------------------------------------------------------------------------------------------------------------------------------

def pages():
    found = (os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, names in os.walk(full_path("docs")) for name in names)
    return ["README.md", *sorted(name for name in found if name.endswith(".md"))]


def unread_tables():
    """Tables of figures that nothing is compared with: times and speeds."""
    for page in pages():
        yield from (f"not compared ({page}:{number}): {commands[0]}" for number, commands in check_docs.figure_tables(full_path(page))
                    if (page, number) not in READ)


def unknown_hashes(figures):
    """Hashes of the documents that no check expects."""
    known = " ".join(f.said for _, f in figures)
    for page in pages():
        for number, text, _ in check_docs.lines_of(full_path(page)):
            yield from (f"{page}:{number}: no check knows {h}" for h in HASH.findall(text) if h not in known)


def unnamed_commands():
    for c in CHECKS:
        if c.command not in " ".join(text_of(c.page).split()).replace("`", ""):
            yield f"{c.page} no longer names `{c.command}`"


def difference(said, got):
    if "\n" not in said + got:
        return f"said {said}, got {got}"
    said, got = said.split("\n"), got.split("\n")
    at = next((i for i, (a, b) in enumerate(zip(said, got)) if a != b), min(len(said), len(got)))
    return f"line {at + 1}: said {''.join(said[at:at + 1])!r}, got {''.join(got[at:at + 1])!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads")
    options = parser.parse_args()
    THREADS[:] = [options.threads] if options.threads else []
    wrong, chosen = list(unnamed_commands()), []
    try:
        figures = [(c, list(c.rows(c.page))) for c in CHECKS]
    except Fault as fault:
        sys.exit(f"check_figures: {fault}")
    wrong += unknown_hashes([(c, f) for c, rows in figures for f in rows])
    for c, rows in figures:
        wanted = [f for f in rows if options.only in f"{c.name}: {f.row}"]
        if options.only or options.all:
            chosen += [(c, f) for f in wanted]
        elif c.quick or not options.quick:
            chosen += [(c, f) for f in wanted[:c.first]]
    print("".join(f"{line}\n" for line in wrong), end="", flush=True)
    if options.list:
        for c, rows in figures:
            print(f"{c.name} ({c.page}): {c.command}")
            print("\n".join(f"    {f.row}: {f.said.splitlines()[-1]}" for f in rows))
        print("\n".join(unread_tables()))
        sys.exit(1 if wrong else 0)
    os.makedirs(full_path(MADE), exist_ok=True)
    for c, figure in chosen:
        begin = time.monotonic()
        try:
            got = figure.run()
            same = got == figure.said
            verdict = f"ok       {c.name}: {figure.row}: {got.splitlines()[-1]}" if same else f"differs  {c.name}: {figure.row}: {difference(figure.said, got)}"
        except (Fault, OSError, ValueError, KeyError, AttributeError, StopIteration) as fault:
            same, verdict = False, f"failed   {c.name}: {figure.row}: {type(fault).__name__} {fault}"
        print(f"{verdict} ({time.monotonic() - begin:.0f} s)", flush=True)
        if not same:
            wrong.append(verdict)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
