"""One small valid input per format, what reads it, and how it is changed. The program makes those that it can write."""

import dataclasses
import functools
import gzip
import io
import json
import random
import struct
import zipfile
from pathlib import Path

import mutations as change
from outside import ROOT, tree, write_tree

GOLDEN = ROOT / "tests/golden"


@dataclasses.dataclass
class Reading:
    """A command that reads a file of its format. Paths are below the folder of the case."""

    file: str
    change: object  # (rng, bytes) -> bytes
    args: tuple
    writes: tuple = ()  # files that it may leave where it succeeds
    statuses: tuple = (0, 3, 4)
    stdin: bytes = b""
    folder: str = ""  # it writes into this folder of the case, which is made again for the next one
    silent: tuple = ()  # exit codes that are answers and need no line


@dataclasses.dataclass
class Format:
    count: int  # inputs of a whole run
    files: dict
    readings: list
    heavy: bool = False  # may ask for much by right: a network of any size, a training of any length
    fits: bool = True  # every reading takes the unchanged files


def text_of(tree_):
    return json.dumps(tree_).encode()


# Small language models of random weights.

HIDDEN, FORWARD, VOCABULARY = 32, 64, 96


def pieces():
    """Byte-level: the blank, printable ASCII, one merge, then two marks."""
    letters = ["Ġ"] + [chr(c) for c in range(33, 126)]
    return letters[: VOCABULARY - 3] + ["!!", "<|im_start|>", "<|im_end|>"]


TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m['role'] }} {{ m.content | trim }}<|im_end|>{% endfor %}"
            "{% if add_generation_prompt %}<|im_start|>assistant {% endif %}")


def floats(rng, count, spread=0.2):
    return struct.pack(f"<{count}f", *(rng.uniform(-spread, spread) for _ in range(count)))


def halves(rng, count):
    return struct.pack(f"<{count}e", *(rng.uniform(-0.2, 0.2) for _ in range(count)))


def blocks(rng, count, numbers, codes):
    """Makes blocks of 32 weights: so many half-precision numbers, then so many bytes of codes."""
    return b"".join(struct.pack(f"<{numbers}e", *(rng.uniform(0.001, 0.004) for _ in range(numbers))) + rng.randbytes(codes) for _ in range(count // 32))


def gguf_file(v_type=(6, 1, 20)):
    rng = random.Random(5)
    string = lambda s: struct.pack("<Q", len(s.encode())) + s.encode()
    keys = []

    def key(name, kind, value):
        keys.append(string(name) + struct.pack("<I", kind) + value)

    def strings(values):
        return struct.pack("<IQ", 8, len(values)) + b"".join(map(string, values))

    key("general.architecture", 8, string("llama"))
    key("general.name", 8, string("small"))
    for name, value in (("block_count", 1), ("context_length", 64), ("embedding_length", HIDDEN), ("feed_forward_length", FORWARD), ("attention.head_count", 2),
                        ("attention.head_count_kv", 1), ("rope.dimension_count", 16), ("vocab_size", VOCABULARY)):
        key("llama." + name, 4, struct.pack("<I", value))
    key("llama.rope.freq_base", 6, struct.pack("<f", 10000))
    key("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5))
    key("tokenizer.ggml.model", 8, string("gpt2"))
    key("tokenizer.ggml.pre", 8, string("smollm"))
    key("tokenizer.ggml.tokens", 9, strings(pieces()))
    key("tokenizer.ggml.token_type", 9, struct.pack(f"<IQ{VOCABULARY}i", 5, VOCABULARY, *([1] * (VOCABULARY - 2) + [3, 3])))
    key("tokenizer.ggml.merges", 9, strings(["! !"]))
    key("tokenizer.ggml.bos_token_id", 4, struct.pack("<I", VOCABULARY - 2))
    key("tokenizer.ggml.eos_token_id", 4, struct.pack("<I", VOCABULARY - 1))
    key("tokenizer.chat_template", 8, string(TEMPLATE))
    q8, q4_0, q4_1 = (8, 1, 32), (2, 1, 16), (3, 2, 16)
    tensors, data = b"", b""
    matrices = [("token_embd.weight", (HIDDEN, VOCABULARY), q8), ("blk.0.attn_norm.weight", (HIDDEN,), 0), ("blk.0.attn_q.weight", (HIDDEN, HIDDEN), q4_0),
                ("blk.0.attn_k.weight", (HIDDEN, 16), q4_1), ("blk.0.attn_v.weight", (HIDDEN, 16), v_type), ("blk.0.attn_output.weight", (HIDDEN, HIDDEN), q8),
                ("blk.0.ffn_norm.weight", (HIDDEN,), 0), ("blk.0.ffn_gate.weight", (HIDDEN, FORWARD), 1), ("blk.0.ffn_up.weight", (HIDDEN, FORWARD), 0),
                ("blk.0.ffn_down.weight", (FORWARD, HIDDEN), q8), ("output_norm.weight", (HIDDEN,), 0)]
    for name, extents, kind in matrices:
        count = functools.reduce(lambda a, b: a * b, extents)
        body = floats(rng, count) if kind == 0 else halves(rng, count) if kind == 1 else blocks(rng, count, kind[1], kind[2])
        data += bytes(-len(data) % 32)
        tensors += string(name) + struct.pack(f"<I{len(extents)}QIQ", len(extents), *extents, kind if isinstance(kind, int) else kind[0], len(data))
        data += body
    data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(matrices), len(keys)) + b"".join(keys) + tensors
    return head + bytes(-len(head) % 32) + data


SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


def gguf_fields(data):
    """(offset, bytes) of every number, in groups: the header, each key, each tensor, each place in the bytes of tensors that begins a block."""
    tensors, keys = struct.unpack_from("<QQ", data, 8)
    groups, at = [[(0, 4), (4, 4), (8, 8), (16, 8)]], 24

    def string(at, group):
        group.append((at, 8))
        length = struct.unpack_from("<Q", data, at)[0]
        group += [(at + 8, min(8, length))] if length else []
        return at + 8 + length

    def value(at, kind, group):
        if kind == 8:
            return string(at, group)
        if kind == 9:
            of, count = struct.unpack_from("<IQ", data, at)
            group += [(at, 4), (at + 4, 8)] * 8  # more often than its members
            at += 12
            for _ in range(count):
                at = value(at, of, group)
            return at
        group.append((at, SIZES[kind]))
        return at + SIZES[kind]

    for _ in range(keys):
        group = []
        at = string(at, group)
        group += [(at, 4)] * 4
        at = value(at + 4, struct.unpack_from("<I", data, at)[0], group)
        groups.append(group)
    for _ in range(tensors):
        group = []
        at = string(at, group)
        extents = struct.unpack_from("<I", data, at)[0]
        group += [(at, 4)] + [(at + 4 + 8 * i, 8) for i in range(extents)] + [(at + 4 + 8 * extents, 4), (at + 8 + 8 * extents, 8)]
        at += 16 + 8 * extents
        groups.append(group)
    groups.append([(rng, 2) for rng in range((at + 31) // 32 * 32, len(data) - 2, 97)])
    return groups


@functools.lru_cache(None)
def fields_of(data):
    return gguf_fields(data)


def of_gguf(rng, data):
    if rng.random() < 0.35:
        return change.of_bytes(rng, data)
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2))):
        at, size = rng.choice(rng.choice(fields_of(data)))
        old = int.from_bytes(data[at:at + size], "little")
        new = old + rng.choice((-1, 1, 2, -8, 32)) if rng.random() < 0.3 else rng.choice(change.WORDS) if rng.random() < 0.8 else rng.getrandbits(8 * size)
        out[at:at + size] = (new & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if rng.random() < 0.1:
        return change.of_bytes(rng, bytes(out))
    return bytes(out)


def safetensors(tensors):
    """{name: (dtype, shape, bytes)}"""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values())


def model_folder(sharded):
    rng = random.Random(7)
    matrix = lambda *shape: ("F16", list(shape), halves(rng, shape[0] * shape[1]))
    row = lambda n: ("F32", [n], floats(rng, n))
    block = "model.layers.0."
    tensors = {"model.embed_tokens.weight": matrix(VOCABULARY, HIDDEN), "model.norm.weight": row(HIDDEN), block + "input_layernorm.weight": row(HIDDEN),
               block + "post_attention_layernorm.weight": row(HIDDEN), block + "self_attn.q_proj.weight": matrix(HIDDEN, HIDDEN),
               block + "self_attn.k_proj.weight": matrix(16, HIDDEN), block + "self_attn.v_proj.weight": matrix(16, HIDDEN),
               block + "self_attn.o_proj.weight": matrix(HIDDEN, HIDDEN), block + "mlp.gate_proj.weight": matrix(FORWARD, HIDDEN),
               block + "mlp.up_proj.weight": matrix(FORWARD, HIDDEN), block + "mlp.down_proj.weight": matrix(HIDDEN, FORWARD)}
    config = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": VOCABULARY, "hidden_size": HIDDEN, "intermediate_size": FORWARD,
              "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 16, "max_position_embeddings": 64, "rms_norm_eps": 1e-5,
              "hidden_act": "silu", "tie_word_embeddings": True, "rope_theta": 10000.0, "bos_token_id": None, "eos_token_id": VOCABULARY - 1, "torch_dtype": "float16",
              "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32},
              "attention_bias": False, "mlp_bias": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    special = [{"id": VOCABULARY - 2 + i, "content": text, "special": True, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
               for i, text in enumerate(pieces()[-2:])]
    tokenizer = {"version": "1.0", "added_tokens": special, "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
                 "model": {"type": "BPE", "vocab": {p: i for i, p in enumerate(pieces()[:-2])}, "merges": [], "unk_token": None}}
    files = {"config.json": text_of(config), "tokenizer.json": text_of(tokenizer), "generation_config.json": text_of({"eos_token_id": [VOCABULARY - 1]}),
             "tokenizer_config.json": text_of({"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"}, "chat_template": TEMPLATE})}
    if sharded:
        names = list(tensors)
        parts = {"model-1.safetensors": names[:5], "model-2.safetensors": names[5:]}
        files |= {part: safetensors({n: tensors[n] for n in members}) for part, members in parts.items()}
        files["model.safetensors.index.json"] = text_of({"metadata": {}, "weight_map": {n: part for part, members in parts.items() for n in members}})
        files["chat_template.jinja"] = TEMPLATE.encode()
    else:
        files["model.safetensors"] = safetensors(tensors)
    return files


# Networks, data sets and runs.

NETWORK = {"seed": 1, "layers": [{"type": "dense", "input_height": 2, "output_height": 4, "activation": "tanh"},
                                 {"type": "dense", "input_height": 4, "output_height": 3, "activation": "linear"}]}


def points(rows=48):
    rng = random.Random(3)
    lines = (f"{rng.random() + (i % 3 == 1):.4f},{rng.random() + (i % 3 == 2):.4f},{i % 3}" for i in range(rows))
    return ("x,y,kind\n" + "\n".join(lines) + "\n").encode()


def train_config(**changes):
    return {"network": NETWORK, "data": {"format": "csv", "path": "points.csv", "class_ids": True, "validation_split": 0.25}, "seed": 5, "epochs": 2, "batch_size": 12,
            "shuffle": True, "loss": "softmax_crossentropy", "optimizer": {"name": "adam", "learning_rate": 0.01}, "early_stop": {"patience": 3},
            "journal": {"hash_every": 2}} | changes


def evolve_config(**changes):
    layers = [{"z": 0, "y": 0, "x": 0, "l": 0, "type": "dense", "input_height": 2, "output_height": 3, "bias": True, "activation": "tanh"},
              {"z": 0, "y": 0, "x": 1, "l": 0, "type": "dense", "input_height": 3, "output_height": 1, "bias": True}]
    return {"task": {"name": "xor", "target": 1e9}, "population": 8, "generations": 2, "seed": 3, "islands": 2, "migrate_every": 2, "elites": 2,
            "network": {"depth": 1, "rows": 1, "cols": 2, "layers_per_cell": 1, "seed": 1, "layers": layers},
            "mutation": {"weight_perturb_rate": 0.6, "node_rate": 0.2, "connection_add_rate": 0.2}, "splice": {"mode": "uniform", "rate": 0.3}} | changes


def npy(kind, shape, data):
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': ({''.join(f'{n}, ' for n in shape)}), }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header.encode() + data


def npz(arrays):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in arrays.items():
            archive.writestr(name + ".npy", data)
    return out.getvalue()


def pixels(data):
    """Returns the number of pixels that the header of a PNG or JPEG announces."""
    if data[:4] == b"\x89PNG":
        at = data.index(b"IHDR") + 4
        return struct.unpack_from(">I", data, at)[0] * struct.unpack_from(">I", data, at + 4)[0]
    at = 2
    while data[at + 1] not in (0xC0, 0xC1, 0xC2):
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]
    return struct.unpack_from(">H", data, at + 5)[0] * struct.unpack_from(">H", data, at + 7)[0]


def layer_specs():
    """A network of one layer of each kind that the golden cases know."""
    found = {}
    for path in sorted((ROOT / "tests/golden/layers").glob("*.json")):
        for case in json.loads(path.read_text())["cases"]:
            kind = case["layer"]["type"] + case["layer"].get("softmax_type", "")
            size = len(json.dumps(case["layer"]))
            if isinstance(case["x"], dict) and size < found.get(kind, (10**9,))[0]:
                shape = {} if kind == "embedding" else {"input_shape": case["x"]["shape"][1:]}  # whose inputs are no random numbers
                found[kind] = (size, {"seed": 1, **shape, "layers": [case["layer"]]})
    return {name: spec for name, (_, spec) in found.items()}


class Formats:
    """Every format by its name; each is made when it is asked for. `program` makes files in `folder`."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    @staticmethod
    def names():
        return [name[5:] for name in dir(Formats) if name.startswith("make_")]

    def make(self, name):
        return getattr(self, "make_" + name)()

    def made(self, files, *commands):
        """The files of a folder after commands that begin with some files; the program's own runs are part of the valid input."""
        folder = Path(self.folder, f"made-{len(list(Path(self.folder).iterdir()))}")
        folder.mkdir()
        write_tree(folder, files)
        for command in commands:
            self.program.must(command, folder)
        return {name: data for name, data in tree(folder).items() if not name.endswith("/lock")}

    def make_gguf(self):
        read = lambda *args, **more: Reading("m.gguf", of_gguf, args, **more)
        logits = read("logits", "m.gguf", "--ids", "1,2,3", "--json", "-t", "1", "-q")
        return Format(23282, {"m.gguf": gguf_file()}, [
            read("inspect", "m.gguf", "--tensors"), logits, logits, logits,
            read("tokenize", "m.gguf", "--text", "It's a <|im_end|> b"), read("generate", "m.gguf", "-p", "Hi", "-n", "2", "--json", "-t", "1", "-q"),
            read("quantize", "m.gguf", "o.gguf", "--dtype", "q8_0", "-q", writes=("o.gguf",)),
            read("convert", "m.gguf", "o.entity", "-q", "-t", "1", writes=("o.entity",))])

    def make_folder(self):
        files = {f"{folder}/{name}": data for folder, sharded in (("one", False), ("two", True)) for name, data in model_folder(sharded).items()}
        readings = []
        for name in files:
            how = change.of_safetensors if name.endswith(".safetensors") else change.of_json if name.endswith(".json") else of_template
            if name.endswith("tokenizer.json"):
                continue  # a format of its own
            folder = name.split("/")[0]
            for args in (("logits", folder, "--ids", "1,2", "--json", "-t", "1", "-q"), ("generate", folder, "-p", "Hi", "-n", "1", "--json", "-t", "1", "-q"),
                         ("inspect", folder), ("convert", folder, "o.entity", "-q", "-t", "1")):
                readings.append(Reading(name, how, args, ("o.entity",)))
        return Format(8439, files, readings)

    def make_entity(self):
        files = self.made({"m.gguf": gguf_file(), "n.json": text_of(NETWORK | {"input_shape": [2]})}, ("convert", "m.gguf", "m.entity", "-q"),
                          ("morph", "n.json", "n.entity", "--dtype", "int8", "-q"), ("morph", "n.json", "f.entity", "--dtype", "float32", "--keep-master", "-q"))
        readings = []
        for name, commands in {"m.entity": (("logits", "--ids", "1,2", "--json", "-t", "1", "-q"), ("generate", "-p", "Hi", "-n", "1", "-t", "1", "-q"), ("inspect",)),
                               "n.entity": (("run", "--json", "-t", "1"), ("inspect",), ("dna", "f.entity"), ("graph",)),
                               "f.entity": (("run", "-t", "1"), ("morph", "o.entity", "--dtype", "int4", "-q"))}.items():
            readings += [Reading(name, change.of_entity, (c[0], name, *c[1:]), ("o.entity",)) for c in commands]
        readings.append(Reading("n.entity", change.of_entity, ("diff", "n.entity", "f.entity"), statuses=(0, 1, 3, 4), silent=(1,)))
        return Format(8000, files, readings)

    def make_loom08(self):
        """Files of Loom 0.8x: they bring their weights, and no command writes them."""
        files = {p.name: p.read_bytes() for p in (ROOT / "fuzz/corpus/loom08_fuzz").iterdir()}
        readings = []
        for name in files:
            how = of_loom08 if name.endswith(".entity") else change.of_json
            readings += [Reading(name, how, ("inspect", name)), Reading(name, how, ("graph", name)), Reading(name, how, ("dna", name, name)),
                         Reading(name, how, ("morph", name, "o.entity", "--dtype", "int8", "-q"), ("o.entity",))]
        return Format(3000, files, readings)

    def make_spec(self):
        files = {"demo.json": (ROOT / "examples/demo.json").read_bytes(), "net.json": text_of(NETWORK | {"input_shape": [2]}),
                 **{p.name: p.read_bytes() for p in (ROOT / "fuzz/corpus/spec_fuzz").iterdir()}}
        files |= {"saved.json": self.made(files, ("morph", "net.json", "saved.json", "--dtype", "float32", "-q"))["saved.json"]}
        return Format(9180, files, [reading for name, data in files.items() for reading in spec_readings(name, data)], heavy=True)

    def make_layers(self):
        files = {f"{name}.json": text_of(spec) for name, spec in layer_specs().items()}
        return Format(4091, files, [reading for name, data in files.items() for reading in spec_readings(name, data)], heavy=True)

    def make_train(self):
        files = {"points.csv": points(), "c.json": text_of(train_config()),
                 "d.json": text_of(train_config(optimizer="lbfgs", schedule={"name": "cosine"}, micro_batch=6)), "f.json": text_of(train_config(tween={"mode": "layerwise"}, optimizer="sgd", dtype="bfloat16")),
                 "e.json": text_of(train_config(mixed="bf16", dtype="int8", accumulate=2, data={"format": "csv", "path": "points.csv", "class_ids": True,
                                                "normalise": {"method": "mean_std", "by": "element"}, "validation": {"format": "csv", "path": "points.csv", "class_ids": True}}))}
        readings = [Reading(name, change.of_json, ("train", name, "-o", "run", "--epochs", "1", "-q", "-t", "1"), statuses=(0, 1, 3, 4), folder="run")
                    for name in files if name.endswith(".json")]
        return Format(2737, files, readings, heavy=True)

    def make_data(self):
        rng, rows = random.Random(9), 24
        data = floats(rng, rows * 2, 1.0)
        labels = bytes(i % 3 for i in range(rows))
        idx = lambda kind, shape, body: struct.pack(f">HBB{len(shape)}I", 0, kind, len(shape), *shape) + body
        arrays = {"inputs": npy("<f4", (rows, 2), data), "targets": npy("|u1", (rows,), labels)}
        table = b"a,b\n" + b"\n".join(b"%d,%d" % (i, i * i % 7) for i in range(40)) + b"\n"
        files = {"x.csv": points(rows), "x.csv.gz": gzip.compress(points(rows), mtime=0), "x.npy": arrays["inputs"], "y.npy": arrays["targets"], "xy.npz": npz(arrays),
                 "x.idx": idx(13, (rows, 2), struct.pack(f">{rows * 2}f", *struct.unpack(f"<{rows * 2}f", data))), "y.idx": idx(8, (rows,), labels),
                 "t.txt": "The quick brown fox é jumps. ".encode() * 20, "s.csv": table}
        sets = {"csv": ({"format": "csv", "path": "x.csv", "class_ids": True}, ("x.csv",)), "gz": ({"format": "csv", "path": "x.csv.gz", "class_ids": True}, ("x.csv.gz",)),
                "npy": ({"format": "npy", "inputs": "x.npy", "targets": "y.npy"}, ("x.npy", "y.npy")),
                "npz": ({"format": "npz", "path": "xy.npz", "inputs": "inputs", "targets": "targets"}, ("xy.npz",)),
                "idx": ({"format": "idx", "inputs": "x.idx", "targets": "y.idx"}, ("x.idx", "y.idx"))}
        readings = []
        hows = {".csv": of_table, ".gz": change.of_gzip, ".npy": change.of_npy, ".npz": change.of_zip, ".idx": change.of_bytes, ".txt": of_words}
        for name, (given, read) in sets.items():
            files[f"{name}.json"] = text_of(without(train_config(data=given), "early_stop"))
            readings += [Reading(file, hows[Path(file).suffix], ("train", f"{name}.json", "-o", "run", "--epochs", "1", "-q", "-t", "1"), statuses=(0, 1, 3, 4), folder="run")
                         for file in read]
        files["text.json"] = text_of(without(train_config(data={"format": "text", "path": "t.txt", "unit": "characters", "length": 8}, network={"seed": 1, "layers": [
            {"type": "embedding", "vocab_size": 96, "embedding_dim": 4}, {"type": "dense", "input_height": 4, "output_height": 96}]}), "early_stop"))
        files["series.json"] = text_of(without(train_config(data={"format": "series", "path": "s.csv", "length": 4}, loss="mse", network={"seed": 1, "layers": [
            {"type": "reshape", "shape": [8]}, {"type": "dense", "input_height": 8, "output_height": 2}]}), "early_stop"))
        for file, config in (("t.txt", "text.json"), ("s.csv", "series.json")):
            readings.append(Reading(file, hows[Path(file).suffix], ("train", config, "-o", "run", "--epochs", "1", "-q", "-t", "1"), statuses=(0, 1, 3, 4), folder="run"))
        # Inputs of networks.
        files |= {"net.json": text_of(NETWORK), "in.json": text_of([[0.5, 1], [2, 3]]), "q.json": text_of({"inputs": [[1, 2], [3, 4]], "targets": [[1, 0, 0], [0, 1, 0]]})}
        readings += [Reading("x.npy", change.of_npy, ("run", "net.json", "--input", "x.npy", "--json", "-t", "1")),
                     Reading("in.json", change.of_json, ("run", "net.json", "--input", "in.json", "-t", "1")),
                     Reading("xy.npz", change.of_zip, ("morph", "net.json", "o.entity", "--auto", "--data", "xy.npz", "--max-loss", "9", "-q"), ("o.entity",), statuses=(0, 2, 3, 4)),
                     Reading("q.json", change.of_json, ("morph", "net.json", "o.entity", "--auto", "--data", "q.json", "--max-loss", "9", "-q"), ("o.entity",), statuses=(0, 2, 3, 4))]
        return Format(6191, files, readings)

    def make_images(self):
        pictures = {p.name: p.read_bytes() for p in sorted((ROOT / "fuzz/corpus/image_fuzz").iterdir())}
        files, readings = {}, []
        for name, data in pictures.items():
            stem = name.replace(".", "_")
            files |= {f"{stem}/a/{name}": data, f"{stem}/b/{name}": data}
            network = {"seed": 1, "layers": [{"type": "reshape", "shape": [pixels(data)]}, {"type": "dense", "input_height": pixels(data), "output_height": 2}]}
            files[f"{stem}.json"] = text_of(without(train_config(data={"format": "images", "path": stem, "channels": 1}, network=network), "early_stop"))
            how = change.of_png if name.lower().endswith("png") else change.of_bytes
            readings.append(Reading(f"{stem}/a/{name}", how, ("train", f"{stem}.json", "-o", "run", "--epochs", "1", "-q", "-t", "1"), statuses=(0, 1, 3, 4), folder="run"))
        return Format(3098, files, readings, fits=False)

    def make_template(self):
        rng = random.Random(11)
        cases = [c[0] for c in json.loads((GOLDEN / "template/template_cases.json").read_text())["cases"]]
        files = {f"t{i}.jinja": text.encode() for i, text in enumerate([TEMPLATE, *rng.sample(cases, 60)])}
        files |= {"m.gguf": gguf_file(), "tools.json": text_of(TOOLS), "chat.json": text_of(CHAT)}
        read = ("generate", "m.gguf", "--messages", "chat.json", "--tools", "tools.json", "--show-prompt", "-q", "-t", "1", "--ctx", "4096")
        readings = [Reading(name, of_template, (*read, "--chat-template", name)) for name in files if name.endswith(".jinja")]
        readings += [Reading(name, change.of_json, (*read, "--chat-template", "t0.jinja")) for name in ("tools.json", "chat.json") for _ in range(10)]
        return Format(1164, files, readings, fits=False)

    def make_regex(self):
        files = {"one/" + name: data for name, data in model_folder(False).items() if name == "tokenizer.json"}
        return Format(1114, files, [Reading("one/tokenizer.json", of_pattern, ("tokenize", "one/tokenizer.json", "--text", text))
                                    for text in ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "It's 12345 words\n\n  and blanks ", "x" * 3000 + "!", "éèÀ ǅ 中文 ١٢")])

    def make_tokenizer(self):
        files = {p.name: p.read_bytes() for p in sorted((GOLDEN / "tokenizers").glob("small_*.json"))}
        files["bytes.json"] = (GOLDEN / "models/llama2_untied/tokenizer.json").read_bytes()
        readings = []
        for name in files:
            for args in (("tokenize", name, "--text", "It's a Test, déjà vu: 12345  times! ﬁ"), ("tokenize", name, "--text", "a" * 2000, "--json"),
                         ("detokenize", name, "--ids", "1,2,3,40,41")):
                readings.append(Reading(name, change.of_json, args))
        return Format(5063, files, readings)

    def make_run(self):
        files = self.made({"points.csv": points(), "c.json": text_of(train_config(epochs=3)), "in.json": text_of([[0.5, 1]])}, ("train", "c.json", "-q", "-t", "1"))
        more = ("train", "c.json", "--resume", "--epochs", "4", "-q", "-t", "1")
        commands = {"checkpoint.entity": (more, more, ("inspect", "c.run/checkpoint.entity")), "best.entity": (more, ("inspect", "c.run/best.entity")),
                    "model.entity": (("run", "c.run/model.entity", "--input", "in.json", "-t", "1"),), "journal.jsonl": (more, ("replay", "c.run", "-q", "-t", "1"), ("report", "c.run")),
                    "timings.jsonl": (more, ("report", "c.run")), "dna.jsonl": (("dna", "--journal", "c.run"), ("replay", "c.run", "-q"), more),
                    "config.json": (("report", "c.run"), more), "dna.first.entity": (more,), "dna.odd.entity": (more,), "dna.even.entity": (more,)}
        readings = [Reading(f"c.run/{name}", how_of(name), args, statuses=(0, 1, 3, 4), folder="c.run") for name, all_args in commands.items() for args in all_args]
        return Format(3008, files, readings)

    def make_finetune(self):
        words = b"The wheel turns and turns again. " * 40
        files = self.made({"m.gguf": gguf_file((8, 1, 32)), "t.txt": words, "e.json": text_of(evolve_config())},
                          ("finetune", "m.gguf", "--text", "t.txt", "-o", "a", "--rank", "2", "--length", "8", "--batch", "2", "--steps", "4", "-t", "1", "-q"),
                          ("evolve", "e.json", "-o", "e", "-t", "1", "-q"))
        files |= {"chat.json": text_of(CHAT), "in.json": text_of([[0.5, 1]])}
        more = ("finetune", "-o", "a", "--resume", "-q", "-t", "1")
        generate = ("generate", "m.gguf", "--adapter", "a", "-p", "Hi", "-n", "1", "-q", "-t", "1")
        on = ("evolve", "e.json", "-o", "e", "--resume", "--generations", "3", "-q", "-t", "1")
        commands = {"a/adapter_config.json": (generate, ("convert", "m.gguf", "o.entity", "--adapter", "a", "-q")), "a/adapter_model.safetensors": (generate, generate),
                    "a/run/checkpoint.entity": (more, ("inspect", "a/run/checkpoint.entity")), "a/run/journal.jsonl": (more, ("replay", "a/run", "-q")),
                    "e/state.json": (on, on, on), "e/lineage.jsonl": (on,), "e/best.entity": (("run", "e/best.entity", "--input", "in.json", "-t", "1"),),
                    "e.json": (("evolve", "e.json", "--generations", "1", "-q", "-t", "1"),) * 3,
                    "chat.json": (("generate", "m.gguf", "--messages", "chat.json", "-n", "1", "--ctx", "256", "-q", "-t", "1"),)}
        readings = [Reading(name, how_of(name), args, ("o.entity",), folder=name.split("/")[0] if "/" in name else "") for name, all_args in commands.items() for args in all_args]
        readings.append(Reading("chat.json", change.of_json, ("chat", "m.gguf", "-n", "1", "--ctx", "256", "-q", "-t", "1"), statuses=(0, 1), silent=(1,), writes=("saved.json",),
                                stdin=b"/load chat.json\nHi\n/save saved.json\n"))
        return Format(4500, files, readings, heavy=True)

    def make_trial(self):
        files = {p.name: p.read_bytes() for p in sorted((ROOT / "tests/determinism/random_networks/kept").iterdir())}
        return Format(500, files, [Reading(name, change.of_json, ("verify", "--trial", name, "-t", "1"), statuses=(0, 1, 3, 4), silent=(1,)) for name in files], heavy=True)


CHAT = [{"role": "system", "content": "Brief."}, {"role": "user", "content": [{"type": "text", "text": "Hello"}]},
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "id": "1", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "2"}, {"role": "user", "content": "And you?"}]
TOOLS = [{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {"a": {"type": "integer"}}}}}]
JINJA = ("{{", "}}", "{%", "%}", "{% for i in range(100000) %}", "{% endfor %}", "{% if ", "{% endif %}", "{% set s = 'a' * 1000000 %}", "{{ s }}", "{{ messages }}",
         "{{ loop.index }}", "{% macro f(a) %}{{ f(a) }}{% endmacro %}", "{{ f(1) }}", " | tojson", " | join", " | length", " | sort", " | replace('a', 'aa')", "[::-1]",
         "[0]", "[-99999999999]", "** 99999", "// 0", "% 0", "~", " in ", " is ", "not ", "(", ")", "'", '"', "{#", "#}", "-%}", "{%-", "namespace(a=1)", "raise_exception('x')",
         ".split('a')", ".find('b')", "range(1, 10000000000)", "| map(attribute='a')", "| list", "'%s' % s", "{% raw %}", "strftime_now('%Y')", "\\x", "é", "1e999")
PATTERNS = ("\\p{L}+", "(a+)+$", "(a|a)*b", "(a|aa)+$", "(?:a?){50}a{50}", "(.*)*x", "[^\\s\\p{L}]+", "(?i:'s|'t)", "\\s+(?!\\S)", "(?<=a)b", "a{0,100000}", "a{99999}", "((((a+)+)+)+)+",
            "[", "]", "(", ")", "*", "+?", "++", "{2,1}", "|", "\\", "\\p{", "(?", "[a-", "[z-a]", "[[:alpha:]&&[^a]]", "^", "$", "\\b", "\\d{1,3}", "(?>a+)", "\\1", "\\x{110000}", ".",
            "\\N", "\\h", "(?=a)", "(?!a)", "x*" * 30)


def without(tree_, key):
    return {k: v for k, v in tree_.items() if k != key}


def how_of(name):
    if name.endswith(".entity"):
        return change.of_entity
    if name.endswith(".jsonl"):
        return change.of_json_lines
    if name.endswith("state.json"):
        return change.of_state
    return change.of_safetensors if name.endswith(".safetensors") else change.of_json


def of_template(rng, data):
    return change.of_text(rng, data, JINJA)


def of_loom08(rng, data):
    """The length of the header and the header come after twelve bytes."""
    return change.of_bytes(rng, data) if rng.random() < 0.3 else data[:12] + change.of_safetensors(rng, data[12:])


def of_words(rng, data):
    return change.of_text(rng, data, ("\n", "\0", "é", "\U0010ffff", " " * 300))


def of_table(rng, data):
    return change.of_text(rng, data, (",", '"', '""', "\n", "\r\n", "\r", "nan", "inf", "1e999", "-", "9" * 400, ";", "\ufeff", "0x1p3", " ", "\0", "1.5"))


def of_pattern(rng, data):
    """The pattern of a Split in place of the pre-tokenizer, drawn from pieces that explode or end in the middle."""
    tokenizer = json.loads(data)
    pattern = "".join(rng.choice(PATTERNS) for _ in range(rng.choice((1, 1, 2, 3, 6))))
    if rng.random() < 0.2:
        pattern = "(" + pattern + ")" + rng.choice(("*", "+", "{2,50}", "?"))
    split = {"type": "Split", "pattern": {rng.choice(("Regex", "Regex", "Regex", "String")): pattern}, "behavior": rng.choice(("Isolated", "Removed", "MergedWithPrevious")),
             "invert": rng.random() < 0.3}
    tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, tokenizer["pre_tokenizer"]]}
    return json.dumps(tokenizer).encode()


def spec_readings(name, data):
    limit = ("--max-memory", "256M")
    # Without an input_shape a run needs an input: that is usage.
    runs = [Reading(name, change.of_json, ("run", name, *limit, "--json", "-t", "1"), statuses=(0, 2, 3, 4))] * 2 if b"input_shape" in data else []
    return [*runs, Reading(name, change.of_json, ("inspect", name)), Reading(name, change.of_json, ("graph", name)),
            Reading(name, change.of_json, ("morph", name, "o.entity", "--dtype", "int4", "-q", *limit), ("o.entity",)),
            Reading(name, change.of_json, ("dna", name, name, *limit))]
