"""The time of a call from each language over the same call in C: python bench/calls.py [--build BUILD] [--rounds N] [--only LANGUAGE]...

Two figures, both with one thread: a forward pass of dense layers 8-8-4, and a token of an answer of 16, the way from the prompt
to the hash included. The model is made here: SmolLM2's vocabulary (LOOM_DATA), hidden size 64, two layers of random Q8_0, so
that a token takes a fraction of a millisecond and what a language adds is seen. Programs in bench/calls run in turns, C before
each; of all rounds the least and the median count. Every language must give C's hash. A language whose compiler is missing is
named and left out.
"""
import argparse
import glob
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALLS = ROOT / "bench/calls"
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/csharp")]

import pack_godot
import run as csharp

# GGUF: sizes of the numbers by type; 8 is a text, 9 a list.
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
F32, Q8_0 = 0, 8
HIDDEN, WIDE, HEADS, LAYERS = 64, 128, 2, 2
CHANGED = {"llama.block_count": LAYERS, "llama.embedding_length": HIDDEN, "llama.feed_forward_length": WIDE, "llama.attention.head_count": HEADS,
           "llama.attention.head_count_kv": 1, "llama.rope.dimension_count": HIDDEN // HEADS}


class Missing(Exception):
    """What a language would need and this machine does not have."""


def metadata(data):
    """Yields (key, bytes of type and value) of a GGUF file."""
    at = 24

    def number(form):
        nonlocal at
        value = struct.unpack_from(form, data, at)[0]
        at += struct.calcsize(form)
        return value

    def skip(kind):
        nonlocal at
        if kind == 8:
            length = number("<Q")
            at += length
        elif kind == 9:
            inner, count = number("<I"), number("<Q")
            if inner in SIZES:
                at += SIZES[inner] * count
            else:
                for _ in range(count):
                    skip(inner)
        else:
            at += SIZES[kind]

    for _ in range(struct.unpack_from("<Q", data, 16)[0]):
        length = number("<Q")
        key = data[at : at + length].decode()
        at += length
        begin = at
        skip(number("<I"))
        yield key, data[begin:at]


def write_model(source, path):
    """Writes the small model: the metadata of `source` with other sizes and no chat template, and random tensors."""
    pairs = {key: value for key, value in metadata(source.read_bytes()) if key != "tokenizer.chat_template"}
    vocabulary = struct.unpack_from("<Q", pairs["tokenizer.ggml.tokens"], 8)[0]
    pairs.update({key: struct.pack("<II", 4, value) for key, value in CHANGED.items()})
    shapes = {"token_embd.weight": (HIDDEN, vocabulary), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        name = f"blk.{layer}."
        shapes |= {name + "attn_norm.weight": (HIDDEN,), name + "ffn_norm.weight": (HIDDEN,), name + "attn_q.weight": (HIDDEN, HIDDEN),
                   name + "attn_k.weight": (HIDDEN, HIDDEN // HEADS), name + "attn_v.weight": (HIDDEN, HIDDEN // HEADS), name + "attn_output.weight": (HIDDEN, HIDDEN),
                   name + "ffn_gate.weight": (HIDDEN, WIDE), name + "ffn_up.weight": (HIDDEN, WIDE), name + "ffn_down.weight": (WIDE, HIDDEN)}
    draw, infos, body = random.Random(1), b"", b""
    for name, shape in shapes.items():
        infos += struct.pack("<Q", len(name)) + name.encode() + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, F32 if len(shape) == 1 else Q8_0, len(body))
        if len(shape) == 1:
            tensor = struct.pack("<f", 1) * shape[0]
        else:
            blocks = shape[0] * shape[1] // 32
            codes = draw.randbytes(32 * blocks)
            scale = struct.pack("<e", 0.002)
            tensor = b"".join(scale + codes[32 * i : 32 * i + 32] for i in range(blocks))
        body += tensor + bytes(-len(tensor) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(shapes), len(pairs))
    head += b"".join(struct.pack("<Q", len(key)) + key.encode() + value for key, value in pairs.items()) + infos
    path.write_bytes(head + bytes(-len(head) % 32) + body)


def made(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{command[0]}: {done.stdout}{done.stderr}")
    return done.stdout


def tool(*names):
    for name in names:
        if found := shutil.which(name):
            return found
    raise Missing(f"{' or '.join(names)} is not installed")


class Languages:
    """Builds the program of each language: a method returns the words of the command and what its environment has in addition."""

    def __init__(self, build, folder, model):
        self.build, self.folder, self.model = build, folder, model
        self.library = build / "libloom.so"

    def c(self):
        made([tool("cc", "gcc", "clang"), "-O2", "-I", ROOT / "include", CALLS / "calls.c", self.library, "-o", self.folder / "calls_in_c"])
        return [self.folder / "calls_in_c", self.model], {"LD_LIBRARY_PATH": str(self.build)}

    def python(self):
        return [os.environ.get("LOOM_PYTHON", sys.executable), "-B", CALLS / "calls_in_python.py", self.model], {"PYTHONPATH": str(ROOT / "python")}

    def csharp(self, runner):
        tool("mcs")
        program = self.folder / "calls.exe"
        if not program.exists():
            csharp.compile_files([*csharp.library_sources(), CALLS / "Calls.cs"], program, "-optimize")
            (self.folder / "calls.runtimeconfig.json").write_text(csharp.CONFIG)
        return [runner, program, self.model], {}

    def mono(self):
        return self.csharp(tool("mono"))

    def coreclr(self):
        runner = csharp.core_runtime()
        if not runner:
            raise Missing("there is no CoreCLR (tests/csharp/run.py)")
        return self.csharp(runner)

    def godot(self):
        engine, shim, project = tool("godot3-server"), self.build / "libloom_godot3.so", self.folder / "project"
        if not shim.exists():
            raise Missing(f"there is no {shim}")
        pack_godot.unpack({"linux.x86_64": [self.library, shim]}, project)
        shutil.copy(ROOT / "bindings/godot/demo/project.godot", project)
        shutil.copy(CALLS / "calls.gd", project)
        own = {name: str(self.folder) for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")}
        return [engine, "--path", project, "-s", "calls.gd"], {"LOOM_MODEL": str(self.model), **own}

    def go(self):
        project = self.folder / "go"  # where no file of C is
        project.mkdir()
        shutil.copy(CALLS / "calls.go", project)
        name = "github.com/openfluke/loom/bindings/go"
        (project / "go.mod").write_text(f"module calls\n\ngo 1.23\n\nrequire {name} v0.0.0\n\nreplace {name} => {ROOT}/bindings/go\n")
        environment = {**os.environ, "CGO_LDFLAGS": f"-L{self.build} -Wl,-rpath,{self.build}", "GOPROXY": "off", "GOTOOLCHAIN": "local"}
        made([tool("go"), "build", "-o", self.folder / "calls_in_go", "."], cwd=project, env=environment)
        return [self.folder / "calls_in_go", self.model], {}

    def rust(self):
        project = self.folder / "rust"
        (project / "src").mkdir(parents=True)
        shutil.copy(CALLS / "calls.rs", project / "src/main.rs")
        (project / "Cargo.toml").write_text(f'[package]\nname = "calls"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nwelvet = {{ path = "{ROOT}/bindings/rust" }}\n')
        made([tool("cargo"), "build", "--release", "--offline", "--quiet"], cwd=project, env={**os.environ, "WELVET_LIBRARY": str(self.library)})
        return [project / "target/release/calls", self.model], {"LD_LIBRARY_PATH": str(self.build)}

    def java(self):
        homes = [pathlib.Path(name) for name in [os.environ.get("JAVA_HOME"), *sorted(glob.glob("/usr/lib/jvm/*"), reverse=True)] if name]
        for home in homes:
            if (home / "bin/javac").exists() and int(re.search(r"javac (\d+)", made([home / "bin/javac", "-version"]))[1]) >= 22:
                made([home / "bin/javac", "--release", "22", "-d", self.folder / "java", *(ROOT / "bindings/java/src/main").rglob("*.java"), CALLS / "Calls.java"])
                return [home / "bin/java", "-cp", self.folder / "java", "--enable-native-access=ALL-UNNAMED", "Calls", self.model], {}
        raise Missing("no JDK 22 or later is installed")

    def node(self):
        packages = pathlib.Path(os.environ.get("LOOM_NPM", pathlib.Path.home() / ".cache/loom/npm"), "package/node_modules")
        if not (packages / "koffi").exists():
            raise Missing("tools/npm_packages.sh package has not been run")
        return [tool("node"), CALLS / "calls.mjs", self.model], {"NODE_PATH": str(packages)}


TITLES = {"c": "C", "rust": "Rust", "go": "Go", "java": "Java", "coreclr": "C#, CoreCLR 3.1", "mono": "C#, Mono", "godot": "Godot 3, GDScript", "python": "Python",
          "node": "Node, native library"}


def measure(command, environment):
    """Returns {"forward": (least, median), "token": ...} in nanoseconds, and the hash."""
    printed = made(command, env={**os.environ, **environment})
    times = {what: (int(least), int(median)) for what, least, median in re.findall(r"^(forward|token) (\d+) (\d+)$", printed, re.MULTILINE)}
    found = re.search(r"^hash ([0-9a-f]{16})$", printed, re.MULTILINE)
    if len(times) != 2 or not found:
        raise SystemExit(f"{command[0]} printed {printed[-500:]}")
    return times, found[1]


def read_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=[name for name in TITLES if name != "c"], default=[])
    return parser.parse_args()


def main():
    options = read_options()
    source = pathlib.Path(os.environ.get("LOOM_DATA", pathlib.Path.home() / ".cache/loom/data"), "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_model(source, folder / "small.gguf")
        languages = Languages(options.build.resolve(), folder, folder / "small.gguf")
        os.environ["WELVET_LIBRARY"] = str(languages.library)
        commands = {"c": languages.c()}
        for language in options.only or [name for name in TITLES if name != "c"]:
            try:
                commands[language] = getattr(languages, language)()
            except Missing as why:
                print(f"left out: {TITLES[language]}: {why}", file=sys.stderr)
        rounds, expected = {language: [] for language in commands}, None
        for _ in range(options.rounds):
            for language in commands:
                for each in dict.fromkeys(("c", language)):
                    times, digest = measure(*commands[each])
                    expected = expected or digest
                    if digest != expected:
                        raise SystemExit(f"{TITLES[each]} has hash {digest}, C {expected}")
                    rounds[each].append(times)
    value = {(language, what): (min(t[what][0] for t in found), statistics.median(t[what][1] for t in found)) for language, found in rounds.items() for what in ("forward", "token")}
    print("| | Forward, ns | over C | median | A token, us | over C | median |\n| --- | --- | --- | --- | --- | --- | --- |")
    for language in commands:
        (forward, forward_median), (token, token_median) = value[language, "forward"], value[language, "token"]
        over = lambda what: value[language, what][0] - value["c", what][0]
        more = ("", "") if language == "c" else (f"{over('forward')}", f"{over('token') / 1e3:.1f}")
        print(f"| {TITLES[language]} | {forward} | {more[0]} | {forward_median:.0f} | {token / 1e3:.1f} | {more[1]} | {token_median / 1e3:.1f} |")


if __name__ == "__main__":
    main()
