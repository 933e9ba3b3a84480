"""What `loom pull` fetched is read by huggingface_hub, and the other way round: pull_interop.py LOOM.

Ends with 77, which CTest shows as skipped, where the package is not installed (tools/requirements-test.txt has it).
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from hub_server import COMMITS, Hub, Repository, environment, make_certificates

LOOM = str(Path(sys.argv.pop(1)).resolve())
if subprocess.run([sys.executable, "-c", "import huggingface_hub"], capture_output=True).returncode != 0:
    print("SKIPPED: the package huggingface_hub is not installed")
    sys.exit(77)

FILES = {"config.json": b'{"model_type": "llama"}', "tokenizer.json": b"{}" * 5000, "model.safetensors": os.urandom(2_000_000)}


class Interop(unittest.TestCase):
    def setUp(self):
        self.base = Path(tempfile.mkdtemp(prefix="loom-interop-"))
        self.certificates = make_certificates(self.base)
        self.hub = Hub(self.certificates)
        self.hub.repositories = {"org/folder": Repository(FILES, ["model.safetensors"])}
        self.env = environment(self.base, self.hub, self.certificates[0], HF_HUB_DISABLE_XET="1", HF_HUB_DISABLE_TELEMETRY="1")

    def tearDown(self):
        self.hub.close()
        shutil.rmtree(self.base)

    def python(self, code):
        done = subprocess.run([sys.executable, "-c", "import huggingface_hub as hub\n" + code], env=self.env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def loom(self, *args):
        done = subprocess.run([LOOM, *args], env=self.env, capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def test_python_finds_what_loom_fetched(self):
        path = self.loom("pull", "org/folder", "-q")
        sent = self.hub.sent
        found = self.python("print(hub.snapshot_download('org/folder', local_files_only=True))")
        self.assertEqual(found, path)
        for name in FILES:
            self.assertEqual(self.python(f"print(hub.hf_hub_download('org/folder', {name!r}))"), f"{path}/{name}")
            self.assertEqual(self.python(f"print(hub.try_to_load_from_cache('org/folder', {name!r}))"), f"{path}/{name}")
        self.assertEqual(self.hub.sent, sent)
        scan = self.python("cache = hub.scan_cache_dir()\nprint(len(cache.warnings), [(r.repo_id, r.nb_files, sorted(r.refs)) for r in cache.repos])")
        self.assertEqual(scan, "0 [('org/folder', 3, ['main'])]")

    def test_loom_finds_what_python_fetched(self):
        path = self.python("print(hub.snapshot_download('org/folder'))")
        sent = self.hub.sent
        self.assertEqual(self.loom("pull", "org/folder", "-q"), path)
        self.assertEqual(self.hub.sent, sent)
        self.assertIn("org/folder", self.loom("list"))
        self.loom("rm", "org/folder", "--yes", "-q")
        self.assertEqual(self.python("print(len(hub.scan_cache_dir().repos))"), "0")

    def test_one_of_both(self):
        """Files that one has fetched are not fetched again by the other."""
        self.python("hub.hf_hub_download('org/folder', 'model.safetensors', revision='v2')")
        sent = self.hub.sent
        path = self.loom("pull", "org/folder", "-q")
        self.assertEqual(path.split("/")[-1], COMMITS["main"])
        self.assertEqual(self.hub.sent, sent)


if __name__ == "__main__":
    unittest.main()
