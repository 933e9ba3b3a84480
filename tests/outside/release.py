"""The archive that tools/release packs: unpacked into an empty root, its program answers with the hash of the one that was built.

usage: release.py BUILD_FOLDER LOOM
Needs root for chroot; without it, the program is started from an empty folder and must have no dynamic section.
"""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
build, loom = sys.argv[1:3]


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=600, **more)


def answer_of(done):
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)
    made = json.loads(done.stdout)
    return made["hash"], made["text"], made["ids"]


packed = run(["tools/release"], cwd=SOURCE, env={**os.environ, "LOOM_RELEASE_BUILD": build})
assert packed.returncode == 0, packed.stderr
archive = SOURCE / packed.stdout.strip()
checksum, name = (archive.parent / (archive.name + ".sha256")).read_text().split()
assert name == archive.name and hashlib.sha256(archive.read_bytes()).hexdigest() == checksum

model = pathlib.Path(run([SOURCE / "tools/fetch_data.sh", "--model"]).stdout.strip())
with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    with tarfile.open(archive) as packed:
        packed.extractall(root)
    top = root / "loom-linux-x86_64"
    assert {"loom", "LICENSE", "README.md"} <= {f.name for f in top.iterdir()}
    header = run(["readelf", "-l", top / "loom"]).stdout
    assert "INTERP" not in header and "DYNAMIC" not in header, header
    shutil.copy(model, root / "model.gguf")
    asked = ["-p", "What is the capital of France?", "--json"]
    inside = ["/loom-linux-x86_64/loom", "generate", "/model.gguf"]
    started = ["chroot", str(root)] + inside if os.geteuid() == 0 else [str(top / "loom"), "generate", str(root / "model.gguf")]
    assert answer_of(run(started + asked)) == answer_of(run([loom, "generate", str(model)] + asked))
    if os.geteuid() == 0:
        verified = run(["chroot", str(root), "/loom-linux-x86_64/loom", "verify"])
        assert verified.returncode == 0 and "PASS" in verified.stdout, verified
        # Cards are refused by name, not by a crash of the loader.
        card = run(started + asked + ["--device", "gpu"])
        assert card.returncode != 0 and "linked statically" in card.stderr and card.stderr.count("\n") == 1, card
print("the static program answers in an empty root")
