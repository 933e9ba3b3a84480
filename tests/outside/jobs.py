"""Every command that writes files is a job, with the files that it must leave where nothing disturbs it, and a check for torn files."""

import dataclasses
import hashlib
import json
import shutil
import struct
from pathlib import Path

import formats
from outside import complaints, leftovers, tree, write_tree

UNEQUAL = ("timings.jsonl", "report.html", "lock")  # that tell of time and machine, or of nothing


@dataclasses.dataclass
class Job:
    """Paths are below the folder of a round; what is written stands in its folder `disk`."""

    name: str
    args: tuple
    more: tuple = ()  # goes on with what an earlier run has left; without it the job is done again
    stdin: bytes = b""
    old: bytes | None = None  # of a single file: its bytes before
    output: str = ""  # that file
    kills: int = 0  # rounds of a whole run
    done: dict = dataclasses.field(default_factory=dict)  # what it leaves undisturbed


def chat_text():
    return b"".join(b"Hi %d\n/save disk/chat.json\n" % i for i in range(8))


def inputs():
    """Files that the jobs read."""
    config = formats.train_config(epochs=12, checkpoint={"every_steps": 2}, journal={"hash_every": 1})
    return {"m.gguf": formats.gguf_file((8, 1, 32)), "points.csv": formats.points(), "t.txt": b"The wheel turns and turns again. " * 40,
            "plain.json": formats.text_of(formats.without(config, "early_stop")), "stop.json": formats.text_of(config | {"early_stop": {"patience": 2, "min_delta": 0.02}}),
            "e.json": formats.text_of(formats.evolve_config(generations=12)), "net.json": formats.text_of(formats.NETWORK | {"input_shape": [2]}),
            "wide.json": formats.text_of({"seed": 2, "input_shape": [64], "layers": [{"type": "dense", "input_height": 64, "output_height": 500}]})}


def jobs():
    train = ("-t", "1", "-o", "disk/run")
    tune = ("finetune", "m.gguf", "--text", "t.txt", "-o", "disk/a", "--rank", "2", "--length", "8", "--batch", "2", "--steps", "60", "-t", "1", "-q", "--hash-every", "3")
    evolve = ("evolve", "e.json", "-o", "disk/e", "-t", "1", "-q", "--save-every", "1")
    single = [Job("convert", ("convert", "m.gguf", "disk/m.entity", "-q", "--overwrite"), output="disk/m.entity", kills=40),
              Job("quantize", ("quantize", "m.gguf", "disk/m.gguf", "--dtype", "float32", "-q"), output="disk/m.gguf", kills=20),
              Job("morph", ("morph", "wide.json", "disk/n.entity", "--dtype", "int8", "-q", "--overwrite"), output="disk/n.entity", kills=50),
              Job("graph", ("graph", "net.json", "-o", "disk/n.svg", "-q"), output="disk/n.svg", kills=20),
              Job("report", ("report", "ready", "-o", "disk/page.html"), output="disk/page.html", kills=20),
              Job("run", ("run", "wide.json", "-o", "disk/y.npy", "-q"), output="disk/y.npy"),
              Job("dna", ("dna", "net.json", "net.json", "--svg", "disk/d.svg"), output="disk/d.svg")]
    return [Job("train", ("train", "plain.json", *train), ("train", "plain.json", *train, "--resume"), kills=85),
            Job("early stop", ("train", "stop.json", *train), ("train", "stop.json", *train, "--resume"), kills=33),
            Job("finetune", tune, (*tune, "--resume"), kills=43), Job("evolve", evolve, (*evolve, "--resume"), kills=40),
            *single,
            Job("chat /save", ("chat", "m.gguf", "-n", "3", "--ctx", "2048", "-q", "-t", "1"), stdin=chat_text(), output="disk/chat.json", kills=60)]


class Workshop:
    """A folder in which jobs are done, disturbed and undisturbed. `mount`: called with a folder that is to be on another disk."""

    def __init__(self, program, folder):
        self.program, self.base = program, Path(folder)
        write_tree(self.base, inputs())
        program.must(("train", "stop.json", "-t", "1", "-q", "-o", "ready"), self.base)
        self.disk = self.base / "disk"
        self.jobs = jobs()
        for job in self.jobs:
            self.prepare(job)

    def prepare(self, job):
        self.empty()
        began = self.run(job)
        if began.status != 0:
            raise SystemExit(f"{job.name}: {began.status}: {began.err}")
        job.done = tree(self.disk, UNEQUAL)
        if job.output and "chat" not in job.name:  # another file of the same kind, which is replaced
            job.old = other_version(Path(self.base, job.output).read_bytes())

    record_lost = False

    def empty(self):
        if self.disk.exists():
            for path in self.disk.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.disk.mkdir(exist_ok=True)

    def begin(self, job):
        """The state in which a round finds the disk."""
        self.empty()
        self.record_lost = False
        if job.old is not None:
            Path(self.base, job.output).write_bytes(job.old)

    def start(self, job, again=False, **more):
        begun = any(path.is_file() and path.name != "lock" for path in self.disk.rglob("*"))
        return self.program.start(job.more if again and begun and job.more else job.args, self.base, stdin=job.stdin, **more)

    def run(self, job, again=False, **more):
        done = self.program.wait(self.start(job, again, **more))
        self.record_lost |= "dna.jsonl is not continued" in done.err  # which is reported, and never ends a training
        return done

    def torn(self, job):
        """Returns the faults of the files that stand under their final names."""
        wrong = []
        for name, data in tree(self.disk).items():
            if name.endswith(".part"):
                continue
            if job.output and f"disk/{name}" == job.output:
                # A chat is saved several times, and a page says what it could not read.
                if data not in (job.old, job.done[name]) and not ((job.stdin or job.name == "report") and is_whole(name, data)):
                    wrong.append(f"{name}: neither the old file nor the new one")
            elif not is_whole(name, data):
                wrong.append(f"{name}: torn")
        return wrong

    def finish(self, job):
        """Goes on until the job is done; what differs from an undisturbed run."""
        wrong = []
        done = self.run(job, again=True)
        if done.status != 0:
            return [f"going on: {done.status}: {done.err.strip()}"]
        wrong += [f"left {path}" for path in leftovers(self.disk)]
        now = tree(self.disk, UNEQUAL)
        for name in sorted(now.keys() | job.done.keys()):
            if now.get(name) != job.done.get(name) and not name.endswith(".part") and not (self.record_lost and "dna." in name):
                wrong.append(f"{name} differs from that of an undisturbed run")
        return wrong


def other_version(data):
    """Returns a file of the same kind by its first bytes, and shorter."""
    return data[: max(24, len(data) // 3)]


def is_whole(name, data):
    """Decides by the file's own checksums and lengths."""
    try:
        if name.endswith(".entity"):
            return entity_is_whole(data)
        if name.endswith(".safetensors"):
            length = struct.unpack_from("<Q", data)[0]
            header = json.loads(data[8:8 + length])
            return max(t["data_offsets"][1] for k, t in header.items() if k != "__metadata__") == len(data) - 8 - length
        if name.endswith(".json"):
            json.loads(data)
        if name.endswith(".jsonl"):
            for line in data.split(b"\n")[:-1]:
                json.loads(line)
        if name.endswith(".html"):
            return data.rstrip().endswith(b"</html>")
        return True
    except (ValueError, struct.error, KeyError):
        return False


def entity_is_whole(data):
    length, count = struct.unpack_from("<QI", data, 16)
    directory = data[64:64 + 64 * count]
    if length != len(data) or data[:8] != b"ENTITY\0\0" or hashlib.sha256(data[:32] + directory).digest() != data[32:64]:
        return False
    for i in range(count):
        offset, size = struct.unpack_from("<QQ", directory, 64 * i + 16)
        if hashlib.sha256(data[offset:offset + size]).digest() != directory[64 * i + 32:64 * i + 64]:
            return False
    return True


def failed_well(done, workshop, job):
    """A save that could not be made: one line, exit code 3, nothing torn, nothing left. A job that goes on without a report or record says so and ends with 0."""
    wrong = complaints(done, workshop.disk, [], (0, 3) if not job.stdin else (0, 1), silent=(1,) if job.stdin else ())
    return wrong + workshop.torn(job)
