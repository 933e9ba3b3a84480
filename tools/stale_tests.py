#!/usr/bin/env python3
"""Names the tests of a build that have not passed as they are now: stale_tests.py BUILD [--passed]

Prints a regular expression for ctest -R, nothing if every test has passed. A test is as it was while its program, the programs that it may run
and the files that tests read (tests, examples, docs; for the checks of the pages also the source) have the same bytes. --passed remembers the present state."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def digest(paths):
    out = hashlib.sha256()
    for path in paths:
        if path.is_file():
            out.update(str(path).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return out.hexdigest()


def main():
    build = Path(sys.argv[1])
    listing = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], check=True, capture_output=True, text=True).stdout
    files = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "tests", "examples", "docs", "fuzz", "tools"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\n")
    # Sources are in the programs already.
    data = digest(ROOT / name for name in sorted(files) if name and not name.endswith((".cpp", ".h")))
    programs = digest([build / "bin/loom", build / "bin/creature", build / "bin/loom_faults.so"])
    # The checks of the pages read these files too.
    pages = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")
    pages = digest(ROOT / name for name in sorted(pages) if name.endswith((".cpp", ".h", ".inc", ".md", ".cmake", ".py", ".json")))
    now = {}
    for test in json.loads(listing)["tests"]:
        command = test.get("command", [])
        runs_programs = test["name"] in ("tests_cli", "creature", "tests_architecture", "tests_oracle") or test["name"].startswith("outside_")
        now[test["name"]] = digest(Path(c) for c in command[:1]) + data + (programs if runs_programs else "") + (pages if test["name"].startswith("pages_") else "")
    record = build / "passed.json"
    if "--passed" in sys.argv:
        record.write_text(json.dumps(now))
        return
    before = json.loads(record.read_text()) if record.exists() else {}
    stale = [name for name, state in now.items() if before.get(name) != state]
    if stale:
        print("^(" + "|".join(stale) + ")$")


main()
