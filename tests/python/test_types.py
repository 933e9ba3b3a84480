"""The annotations of the package and of a program that uses it, checked by mypy. Exit 77 where there is none: skipped."""

import importlib.util
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

if importlib.util.find_spec("mypy") is None or importlib.util.find_spec("numpy") is None:
    print(f"SKIPPED: {sys.executable} has no mypy or no numpy; tools/requirements-test.txt has both")
    sys.exit(77)

with tempfile.TemporaryDirectory() as cache:
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--cache-dir", cache, "python/welvet", "tests/python/typed_program.py"],
        cwd=ROOT,
        check=False,
    )
sys.exit(done.returncode)
