"""The wheel: packed from the library of this build, installed where nothing of the sources is in sight, and used."""

import base64
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = os.environ["WELVET_LIBRARY"]
PROGRAM = os.environ["LOOM_PROGRAM"]
NETWORK = {
    "seed": 7,
    "input_shape": [6, 10],
    "layers": [
        {"type": "lstm", "input_height": 10, "output_height": 24},
        {"type": "dense", "input_height": 24, "output_height": 5, "activation": "tanh"},
    ],
}

USE = """
import hashlib, json, pathlib, sys, welvet
network = welvet.Network.from_file(sys.argv[1])
y = network(json.load(open(sys.argv[2])))
print(json.dumps({"where": welvet.__file__, "hash": hashlib.sha256(bytes(memoryview(y).cast("B"))).hexdigest()}))
"""


def run(*command, **options):
    """Runs a program and returns what it prints."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return done.stdout


def pack(folder, *options):
    """Packs the wheel into a folder."""
    run(sys.executable, ROOT / "tools" / "pack_wheel.py", LIBRARY, "--output", folder, *options)
    return next(pathlib.Path(folder).glob("*.whl"))


class Wheel(unittest.TestCase):
    """What the file holds, and that it works."""

    def test_its_record_names_every_file_with_its_hash(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = pack(folder, "--platform", "manylinux_2_17_x86_64")
            self.assertTrue(wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl"), wheel.name)
            with zipfile.ZipFile(wheel) as file:
                names = file.namelist()
                record = next(n for n in names if n.endswith("/RECORD"))
                rows = [line.split(",") for line in file.read(record).decode().splitlines()]
                self.assertEqual(sorted(row[0] for row in rows), sorted(names))
                for name, digest, size in rows:
                    if name != record:
                        data = file.read(name)
                        self.assertEqual(len(data), int(size), name)
                        self.assertEqual(bytes.fromhex(hashlib.sha256(data).hexdigest()), _bytes_of(digest), name)
                self.assertIn("welvet/libloom.so", names)
                self.assertIn("welvet/py.typed", names)
                self.assertIn(
                    'Requires-Dist: ray[data]>=2.9; extra == "ray"',
                    file.read(record.replace("RECORD", "METADATA")).decode(),
                )

    def test_the_same_files_give_the_same_bytes(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
            self.assertEqual(pack(one).read_bytes(), pack(two).read_bytes())

    def test_an_installed_wheel_computes_what_the_program_computes(self):
        with tempfile.TemporaryDirectory() as folder:
            wheel = pack(folder)
            venv.create(pathlib.Path(folder, "venv"), with_pip=True)
            python = pathlib.Path(folder, "venv", "bin", "python")
            clean = {k: v for k, v in os.environ.items() if not k.startswith(("WELVET", "LOOM", "PYTHON"))}
            run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", wheel, env=clean, cwd=folder)
            network, sample = pathlib.Path(folder, "network.json"), pathlib.Path(folder, "sample.json")
            network.write_text(json.dumps(NETWORK), encoding="utf-8")
            sample.write_text(json.dumps(_numbers([3, 6, 10])), encoding="utf-8")
            expected = json.loads(run(PROGRAM, "run", network, "--input", sample, "--json", "-q"))
            found = json.loads(run(python, "-I", "-c", USE, network, sample, env=clean, cwd=folder))
            self.assertEqual(found["hash"], expected["hash"])
            self.assertGreater(len({str(row) for row in expected["output"]}), 1)
            self.assertTrue(pathlib.Path(found["where"]).is_relative_to(pathlib.Path(folder).resolve()), found["where"])


def _bytes_of(digest):
    method, _, text = digest.partition("=")
    assert method == "sha256"
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _numbers(shape, first=0):
    """A nested list of that shape, of eighths that differ."""
    if len(shape) == 1:
        return [(first + i) % 17 / 8 - 1 for i in range(shape[0])]
    return [_numbers(shape[1:], first + 5 * i) for i in range(shape[0])]


if __name__ == "__main__":
    unittest.main()
