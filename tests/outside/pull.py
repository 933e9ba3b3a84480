#!/usr/bin/env python3
"""`loom pull`, `loom list` and `loom rm` against a hub on this computer (hub_server.py): pull.py LOOM.

Covers redirects, tokens, retries, damage, interruption and hostile answers. LOOM_OUTSIDE=whole kills 1000 pulls, without it 50 are killed.
"""
import hashlib
import json
import os
import pty
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from hub_server import COMMITS, Hub, Repository, environment, make_certificates

LOOM = str(Path(sys.argv.pop(1)).resolve())
WHOLE = os.environ.get("LOOM_OUTSIDE") == "whole"
KILLS = 1000 if WHOLE else 50
SEED = 7
MAIN = COMMITS["main"]


def noise(count, seed):
    return random.Random(seed).randbytes(count)


def gguf(size, seed, layers=2, heads=4, kv_heads=2, width=256, context=1024):
    """The keys of a GGUF file at the front of noise."""

    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    numbers = {"block_count": layers, "attention.head_count": heads, "attention.head_count_kv": kv_heads, "embedding_length": width,
               "context_length": context}
    keys = text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, value in numbers.items():
        keys += text("llama." + key) + struct.pack("<II", 4, value)
    keys += text("tokenizer.ggml.tokens") + struct.pack("<IIQ", 9, 8, 1 << 30)
    front = b"GGUF" + struct.pack("<IQQ", 3, 9, len(numbers) + 2) + keys
    return front + noise(size - len(front), seed)


FOLDER = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b"{}" * 300, "README.md": b"no", "model.safetensors": noise(700_001, 1),
          "pytorch_model.bin": b"no", "original/params.json": b"no", "empty.txt": b"", "generation_config.json": b""}
MANY = {f"Model-1B-{name}.gguf": gguf(size, size) for name, size in
        [("Q2_K", 300_000), ("Q4_K_M", 500_000), ("Q8_0", 900_000), ("IQ4_XS", 400_000), ("F16", 1_700_000)]}
MANY |= {"mmproj-model-f16.gguf": b"no", "Model-1B-F32-00001-of-00002.gguf": b"no", "Model-1B-F32-00002-of-00002.gguf": b"no"}


class Pull(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base = Path(tempfile.mkdtemp(prefix="loom-pull-"))
        cls.certificates = make_certificates(cls.base)
        cls.hub = Hub(cls.certificates)

    @classmethod
    def tearDownClass(cls):
        cls.hub.close()
        shutil.rmtree(cls.base)

    def setUp(self):
        self.hub.reset()
        self.hub.repositories = {"org/folder": Repository(FOLDER, ["model.safetensors"]), "org/many": Repository(MANY, MANY),
                                 "org/one": Repository({"one.gguf": gguf(3_000_000, 5)}, ["one.gguf"])}
        self.home = Path(tempfile.mkdtemp(dir=self.base))
        self.cache = self.home / "hf/hub"

    def env(self, **more):
        return environment(self.home, self.hub, self.certificates[0], **more)

    def loom(self, *args, check=None, env=None, stdin=subprocess.DEVNULL):
        done = subprocess.run([LOOM, *args], env=env or self.env(), capture_output=True, text=True, timeout=120, stdin=stdin)
        if check is not None:
            self.assertEqual(done.returncode, check, done.stderr)
        return done

    def pull(self, *args, **more):
        return self.loom("pull", *args, **{"check": 0, **more})

    def start(self, *args, env=None):
        return subprocess.Popen([LOOM, "pull", *args], env=env or self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def refused(self, *args, says, status=3, **more):
        """A pull that fails with one line."""
        done = self.pull(*args, "-q", check=status, **more)
        self.assertEqual(done.stdout, "")
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(lines[0].startswith("loom: "), lines[0])
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, lines[0])
        return lines[0]

    def model(self, name="org/folder"):
        return self.cache / ("models--" + name.replace("/", "--"))

    def assert_whole(self, name, path=None):
        """Nothing torn: a blob has the bytes of its name, a link leads to the right bytes, a revision to a whole snapshot."""
        repository, folder = self.hub.repositories[name], self.model(name)
        for blob in (folder / "blobs").glob("*"):
            if blob.name.endswith((".link", ".ref")) or ".ref." in blob.name:
                continue  # what a killed process was about to put elsewhere
            data = blob.read_bytes()
            if blob.name.endswith(".incomplete"):
                self.assertTrue(any(known.startswith(data) for known in repository.files.values()), blob)
                continue
            self.assertIn(blob.name, [repository.etag(known) for known in repository.files])
            self.assertIn(data, repository.files.values())
        for link in (folder / "snapshots" / MAIN).rglob("*"):
            if link.is_symlink():
                self.assertEqual(link.read_bytes(), repository.files[str(link.relative_to(folder / "snapshots" / MAIN))])
        if (folder / "refs/main").exists() or (folder / "snapshots" / MAIN / "config.json").exists():
            for file in path if path is not None else []:
                self.assertTrue((folder / "snapshots" / MAIN / file).exists(), file)
        return (folder / "refs/main").exists()

    # The files that are fetched, and their places in the cache.

    def test_folder(self):
        done = self.pull("org/folder")
        snapshot = self.model() / "snapshots" / MAIN
        self.assertEqual(done.stdout, f"{snapshot}\n")
        names = sorted(str(path.relative_to(snapshot)) for path in snapshot.rglob("*"))
        self.assertEqual(names, ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"])
        for name in names:
            self.assertEqual((snapshot / name).read_bytes(), FOLDER[name])
            self.assertEqual(os.readlink(snapshot / name), f"../../blobs/{self.hub.repositories['org/folder'].etag(name)}")
        self.assertEqual((self.model() / "refs/main").read_text(), MAIN)
        self.assertIn("the folder of safetensors, 4 files", done.stderr)
        self.hub.log.clear()
        again = json.loads(self.pull("org/folder", "--json").stdout)
        self.assertEqual(again["received"], 0)
        self.assertEqual(again["path"], str(snapshot))
        self.assertEqual(len(self.hub.requests("store", "GET")), 0)

    def test_every_hash_is_checked(self):
        files = {file["path"]: file for file in json.loads(self.pull("org/folder", "--json").stdout)["files"]}
        for path, file in files.items():
            self.assertTrue(file["verified"], path)
            self.assertEqual(file["etag"], self.hub.repositories["org/folder"].etag(path))

    def test_quantisation_and_file(self):
        for wanted, file in [(":q8_0", "Q8_0"), (":Model-1B-Q2_K.gguf", "Q2_K"), ("", "Q4_K_M")]:
            path = self.pull("org/many" + wanted).stdout.strip()
            self.assertTrue(path.endswith(f"/snapshots/{MAIN}/Model-1B-{file}.gguf"), path)
            self.assertEqual(Path(path).read_bytes(), MANY[f"Model-1B-{file}.gguf"])
        self.refused("org/many:Q5_0", says=["no such file or quantisation", "Model-1B-Q8_0.gguf (900.0 kB)"])
        self.refused("org/many:IQ4_XS", says="does not read the type IQ4_XS")
        self.refused("org/many:F32", says="does not join the parts")
        self.refused("org/many/x", says="expected the id of a model", status=2)
        self.refused("many", says="expected the id of a model", status=2)
        # A choice leads other commands to the file as well.
        self.assertIn("models--org--many", self.loom("inspect", "org/many:Q8_0", check=3).stderr)

    def test_shards_and_encoder(self):
        shards = {"config.json": b"{}", "model.safetensors.index.json": b"{}", "model-00001-of-00002.safetensors": b"1",
                  "model-00002-of-00002.safetensors": b"2", "consolidated.safetensors": b"no", "1_Pooling/config.json": b"[]", "modules.json": b"[1]"}
        self.hub.repositories["org/shards"] = Repository(shards)
        snapshot = Path(self.pull("org/shards").stdout.strip())
        names = {str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()}
        self.assertEqual(names, shards.keys() - {"consolidated.safetensors"})
        self.assertEqual((snapshot / "1_Pooling/config.json").read_bytes(), b"[]")

    def test_revisions(self):
        self.pull("org/folder", "--revision", "v2")
        self.assertEqual((self.model() / "refs/v2").read_text(), COMMITS["v2"])
        self.pull("org/folder", "--revision", MAIN)
        self.assertFalse((self.model() / "refs" / MAIN).exists())
        self.refused("org/folder", "--revision", "v3", says=["no such revision", "v3"])
        self.refused("org/folder", "--revision", "../x", says="is no revision", status=2)

    def test_fit(self):
        # 2 layers of 2 heads of 64 keys and 64 values in float32: 2048 bytes a position; the model has 1024 positions
        for memory, file in [("2500000", "Q2_K"), ("3000000", "Q8_0"), ("2900000", "Q4_K_M"), ("9M", "F16")]:
            done = self.pull("org/many", "--fit", "--memory", memory)
            self.assertTrue(done.stdout.strip().endswith(f"Model-1B-{file}.gguf"), done.stdout)
        self.assertIn("2.1 MB for 1024 positions", done.stderr)
        self.pull("org/many", "--fit", "--memory", "600000", "--ctx", "100")
        self.refused("org/many", "--fit", "--memory", "2M", says=["no GGUF file fits", "Model-1B-Q2_K.gguf"], status=4)
        self.refused("org/many:Q8_0", "--fit", says="--fit chooses", status=2)
        self.refused("org/folder", "--fit", says="there is none")
        self.assertTrue(self.pull("org/one", "--fit").stdout)  # by the memory of this computer

    # Connections.

    def test_token_stays_with_its_host(self):
        self.hub.token = "hf_secret"
        self.pull("org/folder", env=self.env(HF_TOKEN="hf_secret"))
        for server, _, path, headers in self.hub.requests():
            self.assertEqual(headers.get("Authorization"), "Bearer hf_secret" if server == "hub" else None, path)
        self.assertEqual({entry[0] for entry in self.hub.requests()}, {"hub", "store"})
        # from the file that `hf auth login` writes
        (self.home / "hf/token").write_text("hf_secret\n")
        self.pull("org/one")
        self.refused("org/many", says=["401", "HF_TOKEN"], env=self.env(HF_HUB_DISABLE_IMPLICIT_TOKEN="1"))

    def test_no_token_in_clear(self):
        """A redirect from https to http is refused, and a token goes to no other computer over http."""
        self.hub.redirect_to = "http://127.0.0.1:9"
        self.refused("org/one", says="begins with https://", env=self.env(HF_TOKEN="x"))

    def test_statuses(self):
        self.refused("org/nothing", says=["401", "no such model"])
        self.refused("org/nothing", says=["404", "not found"], env=self.env(HF_TOKEN="hf_x"))
        self.hub.status = [(403, {"X-Error-Code": "GatedRepo"})]
        self.refused("org/one", says=["403", "accept the terms at", "/org/one"])
        self.hub.status = [(503, {"Retry-After": "0"}), (429, {"Retry-After": "0"})]
        self.assertIn("attempt 3 of 5", self.pull("org/one").stderr)
        self.hub.status = [(503, {"Retry-After": "0"})] * 9
        self.refused("org/one", "--attempts", "3", says="status 503")
        self.assertEqual(len(self.hub.status), 6)

    def test_no_connection(self):
        begin = time.monotonic()
        self.refused("org/one", "--base-url", "https://127.0.0.1:9", says="no connection")
        self.refused("org/one", "--base-url", "https://no-such-host.invalid", says="no connection")
        self.assertLess(time.monotonic() - begin, 60)
        self.refused("org/one", "--base-url", "ftp://localhost", says="expected the address of a hub", status=2)
        self.refused("org/one", says="HF_HUB_OFFLINE", status=2, env=self.env(HF_HUB_OFFLINE="1"))

    def test_untrusted_certificate(self):
        self.refused("org/one", says=["is not trusted", "SSL_CERT_FILE"], env=self.env(SSL_CERT_FILE="/etc/ssl/certs/ca-certificates.crt"))
        self.refused("org/one", says="authorities", env=self.env(SSL_CERT_FILE="/nothing.pem"))

    def test_progress_on_a_terminal(self):
        """A bar with sizes on a terminal, which leaves its line empty; nothing but lines elsewhere."""
        self.hub.pieces = 0.02
        ours, theirs = pty.openpty()
        run = subprocess.Popen([LOOM, "pull", "org/one"], env=self.env(TERM="xterm", COLUMNS="120"), stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 65536):
                shown += piece
        except OSError:  # the other end is closed
            pass
        self.assertEqual(run.wait(60), 0)
        run.stdout.close()
        os.close(ours)
        self.assertRegex(shown, rb"pulling org/one \[#+\.+\] +\d+% .* of 3\.0 MB, .*/s")
        self.assertIn(b"\r\x1b[K", shown)
        shutil.rmtree(self.cache)
        self.hub.pieces = 0.0
        self.assertNotIn("\r", self.pull("org/one").stderr)

    def test_without_libcurl(self):
        self.refused("org/one", says=["cannot be loaded", "apt install libcurl4"], env=self.env(LOOM_CURL_LIB="/nothing.so"))

    # Damage and interruption.

    def test_wrong_bytes(self):
        self.hub.bodies = [lambda body, first: (body[:-1] + b"!", len(body))]
        self.refused("org/one", says=["its SHA-256 is", "expected", "nothing of it was kept"])
        self.assertEqual(list((self.model("org/one") / "blobs").iterdir()), [])
        self.assertFalse((self.model("org/one") / "refs").exists())
        # a small file, whose hash is git's
        self.hub.headers = {"ETag": f'"{"1" * 40}"'}
        self.refused("org/folder:config.json", says="the hub lists the hash")
        self.hub.headers = {}
        self.pull("org/one")

    def test_wrong_size(self):
        self.hub.bodies = [lambda body, first: (body + b"more", len(body) + 4)]
        self.refused("org/one", says=["3000004 bytes", "expected 3000000"])
        self.hub.headers = {"X-Linked-Size": "17"}
        self.refused("org/one", says="lists 3000000 bytes and answers with 17")
        self.hub.headers = {"X-Linked-Size": "many"}
        self.refused("org/one", says='the size "many" is no number')
        self.assertEqual(list((self.model("org/one") / "blobs").iterdir()), [])

    def test_body_that_ends_early(self):
        self.hub.bodies = [lambda body, first: (body[:1_000_000], len(body)), lambda body, first: (body[:500_000], len(body))]
        self.pull("org/one", "--attempts", "2")  # progress begins the count again
        ranges = [headers.get("Range") for _, _, _, headers in self.hub.requests("store", "GET")]
        self.assertEqual(ranges, [None, "bytes=1000000-", "bytes=1500000-"])
        self.assert_whole("org/one", ["one.gguf"])

    def test_server_without_ranges(self):
        self.hub.ranges = False
        self.hub.bodies = [lambda body, first: (body[:1_000_000], len(body))]
        self.pull("org/one")
        self.assert_whole("org/one", ["one.gguf"])

    def test_wrong_range(self):
        part = self.model("org/one") / "blobs" / (self.hub.repositories["org/one"].etag("one.gguf") + ".incomplete")
        part.parent.mkdir(parents=True)
        data = self.hub.repositories["org/one"].files["one.gguf"]
        part.write_bytes(data[:1000])
        self.hub.bodies = [lambda body, first: (body[1:], len(body) - 1)]
        self.pull("org/one")
        self.assert_whole("org/one", ["one.gguf"])

    def test_resume(self):
        """kill -9 and Ctrl-C keep what came; the next pull asks for the rest, and bytes on the disk that are wrong are fetched again."""
        data, etag = self.hub.repositories["org/one"].files["one.gguf"], self.hub.repositories["org/one"].etag("one.gguf")
        part = self.model("org/one") / "blobs" / (etag + ".incomplete")
        for end, status in [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)]:
            self.hub.pieces = 0.02
            before = part.stat().st_size if part.exists() else 0
            run = self.start("org/one")
            limit = time.monotonic() + 60
            while not (part.exists() and part.stat().st_size > before + 300_000):
                self.assertLess(time.monotonic(), limit)
                time.sleep(0.01)
            run.send_signal(end)
            run.communicate(timeout=60)
            self.assertEqual(run.returncode, status)
            self.assertTrue(data.startswith(part.read_bytes()))
        self.hub.pieces = 0.0
        self.hub.log.clear()
        size = part.stat().st_size
        self.assertIn("going on with", self.pull("org/one").stderr)
        self.assertEqual(self.hub.requests("store", "GET")[0][3]["Range"], f"bytes={size}-")
        self.assert_whole("org/one", ["one.gguf"])
        # damaged on the disk
        blob = part.with_suffix("")
        blob.unlink()
        part.write_bytes(b"?" + data[1:1_000_000])
        self.assertIn("was damaged", self.pull("org/one").stderr)
        self.assert_whole("org/one", ["one.gguf"])
        # longer than the file, and a blob that is cut
        blob.write_bytes(data[:-1])
        part.write_bytes(data + b"more")
        self.pull("org/one")
        self.assert_whole("org/one", ["one.gguf"])
        self.assertFalse(part.exists())

    def test_small_files_resume_under_guard(self):
        """A file that the hub itself has is asked for with If-Range, so that another content comes whole."""
        part = self.model() / "blobs" / (self.hub.repositories["org/folder"].etag("tokenizer.json") + ".incomplete")
        part.parent.mkdir(parents=True)
        part.write_bytes(FOLDER["tokenizer.json"][:100])
        self.pull("org/folder:tokenizer.json")
        headers = self.hub.requests("hub", "GET")[-1][3]
        self.assertEqual(headers["Range"], "bytes=100-")
        self.assertEqual(headers["If-Range"], f'"{self.hub.repositories["org/folder"].etag("tokenizer.json")}"')

    def test_two_at_once(self):
        self.hub.pieces = 0.005
        runs = [self.start("org/one") for _ in range(3)]
        for run in runs:
            out, err = run.communicate(timeout=120)
            self.assertEqual(run.returncode, 0, err)
        self.assertEqual(len(self.hub.requests("store", "GET")), 1)
        self.assert_whole("org/one", ["one.gguf"])

    def test_disk_full(self):
        """Every saving call fails once: one line, nothing torn, and the next pull succeeds."""
        faults = {"LD_PRELOAD": str(Path(LOOM).parent / "loom_faults.so")}
        files = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
        count = self.base / "count"
        self.pull("org/folder", "-q")
        shutil.rmtree(self.cache)
        self.pull("org/folder", env=self.env(**faults, LOOM_COUNT=str(count)))
        calls = int(count.read_text().split()[0])
        self.assertGreater(calls, 20)
        for n in range(1, calls + 1, 1 if WHOLE else 4):
            shutil.rmtree(self.cache)
            done = self.pull("org/folder", "-q", env=self.env(**faults, LOOM_FAIL_SAVE=str(n)), check=None)
            if done.returncode != 0:  # a lock's or a folder's flush may fail without harm
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(done.returncode, 3, done.stderr)
            self.assert_whole("org/folder", files)
            self.pull("org/folder", "-q")
            self.assertTrue(self.assert_whole("org/folder", files))
        for n in range(2, calls + 1, 1 if WHOLE else 5):
            shutil.rmtree(self.cache)
            # the number of calls depends on the pieces in which bytes arrive
            done = self.pull("org/folder", "-q", env=self.env(**faults, LOOM_KILL_SAVE=str(n)), check=None)
            self.assertEqual(done.returncode, -9 if n < calls - 5 else done.returncode)
            self.assert_whole("org/folder", files)
            self.pull("org/folder", "-q")
            self.assertTrue(self.assert_whole("org/folder", files))

    def test_kills(self):
        """kill -9 at random moments: nothing torn is ever found, and pulls that follow get on."""
        rng = random.Random(SEED)
        files = ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"]
        begin = time.monotonic()
        self.pull("org/folder", "-q")
        usual = time.monotonic() - begin
        shutil.rmtree(self.cache)
        self.hub.pieces, done = 0.004, 0
        for _ in range(KILLS):
            run = self.start("org/folder", "-q")
            try:
                run.wait(rng.uniform(0, usual + 0.15))
            except subprocess.TimeoutExpired:
                run.kill()
            run.communicate()
            whole = self.assert_whole("org/folder", files)
            found = self.loom("list", "--json", check=0)
            for model in json.loads(found.stdout)["models"]:
                self.assertTrue(whole or model["revision"] == "")
            if whole:
                done += 1
                shutil.rmtree(self.cache)
        self.hub.pieces = 0.0
        self.pull("org/folder", "-q")
        self.assertTrue(self.assert_whole("org/folder", files))
        print(f"{KILLS} kills with seed {SEED}: {done} pulls were done before")

    # Answers that mean harm.

    def test_hostile_listings(self):
        good = self.hub.repositories["org/folder"].listing(MAIN)

        def with_file(path):
            return json.dumps({**good, "siblings": [*good["siblings"], {"rfilename": path}]})

        bad = ["", "{", "[]", "null", json.dumps({**good, "sha": "../../x"}), json.dumps({**good, "siblings": 3}), json.dumps({**good, "siblings": [3]}),
               "[" * 100_000, with_file("../x"), with_file("/etc/x"), with_file("a/../../x"), with_file("a\\..\\x"), with_file("a//b"),
               with_file("config.json"), with_file("a\n"), with_file("")]
        for text in bad:
            self.hub.listing = text or " "
            self.refused("org/folder", says="the list of files")
        self.hub.listing = None
        for etag in ['"../../x"', '""', '"a b"', '"' + "a" * 200 + '"', '".x"', "W/"]:
            self.hub.headers = {"ETag": etag}
            self.refused("org/folder:config.json", says="the ETag is")
        self.hub.headers = {"X-Repo-Commit": "c" * 40}
        self.refused("org/folder:config.json", says="the file is of commit cccc")
        self.assertFalse((self.model() / "refs").exists())
        self.assertEqual([path for path in self.home.rglob("*") if path.name == "x"], [])

    def test_redirects_end(self):
        self.hub.status = [(302, {"Location": "/api/models/org/one/revision/main"})] * 30
        self.refused("org/one", says="more than 10 redirects")
        self.hub.status = [(307, {"Location": "/api/models/org/one/revision/main?blobs=true"})]
        self.pull("org/one")
        self.hub.redirect_to = "file:///etc/passwd#"
        shutil.rmtree(self.cache)
        self.refused("org/one", says="expected an address that begins with https://")

    # list and rm.

    def test_list_and_rm(self):
        self.assertIn("has no models", self.loom("list", check=0).stderr)
        self.pull("org/folder")
        self.pull("org/many:Q8_0")
        self.pull("org/folder", "--revision", "v2")
        listed = json.loads(self.loom("list", "--json", check=0).stdout)
        self.assertEqual(listed["cache"], str(self.cache))
        rows = [(row["model"], row["revision"], row["kind"], len(row["files"]), row["bytes"]) for row in listed["models"]]
        size = sum(len(FOLDER[name]) for name in ("config.json", "tokenizer.json", "model.safetensors"))
        self.assertEqual(rows, [("org/folder", "main", "model", 4, size), ("org/folder", "v2", "model", 4, size), ("org/many", "main", "gguf", 1, 900_000)])
        table = self.loom("list", check=0).stdout.splitlines()
        self.assertEqual([line.split()[0] for line in table], ["model", "org/folder", "org/folder", "org/many"])
        self.assertIn("--yes", self.loom("rm", "org/folder", check=2).stderr)
        self.assertTrue(self.model().is_dir())
        self.loom("rm", "org/folder", "--yes", check=0)
        self.assertFalse(self.model().exists())
        self.assertIn("no such model", self.loom("rm", "org/folder", "--yes", check=3).stderr)
        outside = self.home / "outside"
        outside.mkdir()
        (outside / "file").write_text("kept")
        (self.cache / "models--org--link").symlink_to(outside)
        self.assertIn("a link", self.loom("rm", "org/link", "--yes", check=2).stderr)
        for name in ["../x", "org/..", "/etc/x", "org/many:Q8_0", "org/a/b", "many"]:
            self.loom("rm", name, "--yes", check=2)
        # a link inside of the folder is removed, what it leads to is not
        (self.model("org/many") / "blobs/link").symlink_to(outside)
        self.loom("rm", "org/many", "--yes", check=0)
        self.assertEqual((outside / "file").read_text(), "kept")

    def test_rm_waits_for_no_pull(self):
        self.hub.pieces = 0.02
        run = self.start("org/one")
        part = self.model("org/one") / "blobs"
        limit = time.monotonic() + 60
        while not (part.exists() and any(path.stat().st_size > 0 for path in part.iterdir())):
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)
        self.assertIn("is being fetched", self.loom("rm", "org/one", "--yes", check=1).stderr)
        self.hub.pieces = 0.0
        self.assertEqual(run.wait(60), 0)
        run.communicate()

    def test_a_model_answers(self):
        """A real model, fetched and loaded by its id, gives the hash of the README."""
        model = Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
        self.hub.repositories["org/smol"] = Repository({model.name: model.read_bytes()}, [model.name])
        self.pull("org/smol:Q4_1")
        self.assertEqual(len(self.hub.requests("store", "GET")), 1)
        done = self.loom("generate", "org/smol", "-p", "What is the capital of France?", "-q", "--json", check=0)
        self.assertEqual(json.loads(done.stdout)["hash"], "99554f0dd10b063f3823862f0bd1ad96c7eb36c459042190987e614657b8bb7b")


if __name__ == "__main__":
    unittest.main()
