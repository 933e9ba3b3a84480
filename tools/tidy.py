#!/usr/bin/env python3
"""clang-tidy over the library and the program, by .clang-tidy; a finding is an error:

  tools/tidy.py BUILD            BUILD is a configured folder; only its compile_commands.json and headers are needed
  tools/tidy.py BUILD --all      what has passed is checked again, too
  tools/tidy.py BUILD --profile  the same, and the seconds that each check takes

The sources of a folder of src/, or of some, are checked as one file, a part: most of the time goes into the standard
library's headers, once per part. A part that has passed is not checked again until a file that it includes, its flags or the checks change:
passes are kept under $XDG_CACHE_HOME/loom/tidy.
"""
import collections
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "loom" / "tidy"
# Folders that are one part, so that their headers are read once. Names of one must differ from those of the other.
TOGETHER = {"simd": "core", "dtypes": "core", "backend": "core", "data": "io", "training": "learning", "finetune": "learning",
            "telemetry": "evolution"}
INCLUDE = re.compile(r'^ *# *include "([^"]+)"', re.M)


def sources_of(entry):
    """The files of src/ that a command compiles: one, or those that a file of the build includes (LOOM_UNITY)."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if path.parent.name == "together":
        return [SRC / name for name in INCLUDE.findall(path.read_text())]
    return [path] if path.is_relative_to(SRC) else []


def flags_of(entry):
    """Returns the flags that decide how a file is read, without the names of its input and output and the compiler's own choices."""
    words = shlex.split(entry["command"])[1:]
    if "-fexceptions" in words:
        words.remove("-fno-exceptions")
    kept = []
    for flag, value in zip(words, words[1:] + [""]):
        if flag.startswith(("-D", "-I", "-std=", "-fno-exceptions", "-fno-rtti")):
            kept.append(flag)
        elif flag == "-isystem":
            kept.append(flag + value)
    return kept


def parts_of(build):
    """Maps a part's name to its sources and their flags. Files that a system package is for have a definition each
    (LOOM_HAVE_...), which says nothing to the others. Kernels are left out: they are loops over lanes, which these checks
    say nothing about, and no two of their files can be read together."""
    sources, flags = collections.defaultdict(list), collections.defaultdict(dict)
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in sources_of(entry):
            if not re.search(r"_(test|fuzz|cpu|tiles)\.cpp$", source.name):
                parts = source.relative_to(SRC).parts
                folder = "_".join(parts[:2]) if parts[0] == "legacy" else parts[0]  # files of one, functions of C of the other
                folder = TOGETHER.get(folder, folder)
                if "-fexceptions" in entry["command"].split():  # unlike the others of its folder
                    folder += "_exceptions"
                sources[folder].append(source)
                flags[folder].update(dict.fromkeys(flags_of(entry)))
    return {folder: (sources[folder], list(flags[folder])) for folder in sources}


def closure(sources):
    """The sources and the files of src/ that they include, directly or not."""
    seen, left = set(), list(sources)
    while left:
        path = left.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in INCLUDE.findall(path.read_text()):
            left += [found for found in (SRC / name, path.parent / name) if found.is_file()]
    return sorted(seen)


def key_of(sources, flags, common):
    """Returns a key that is equal in every checkout: paths are relative to it."""
    digest = hashlib.sha256(json.dumps([common, [flag.replace(str(ROOT), "") for flag in flags]]).encode())
    for path in closure(sources):
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def check(program, part, flags, profile):
    begin = time.monotonic()
    command = [program, "--quiet", f"--config-file={ROOT / '.clang-tidy'}", str(part), "--", *flags]
    if profile:
        command.insert(1, "--enable-check-profile")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [line.replace(f"{ROOT}/", "") for line in done.stdout.splitlines() if re.search(r": (warning|error): ", line)]
    if not found and done.returncode != 0:
        found = done.stderr.splitlines()[-5:] or [f"{part.name}: clang-tidy failed"]
    return found, done.stderr if profile else "", time.monotonic() - begin


def main():
    program = shutil.which("clang-tidy-19") or shutil.which("clang-tidy")
    if program is None or len(sys.argv) < 2:
        sys.exit("usage: tools/tidy.py BUILD [--all | --profile]; clang-tidy must be installed")
    build = pathlib.Path(sys.argv[1]).resolve()
    profile = "--profile" in sys.argv
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    common = version + (ROOT / ".clang-tidy").read_text()
    (build / "tidy").mkdir(exist_ok=True)
    CACHE.mkdir(parents=True, exist_ok=True)

    left = []
    parts = parts_of(build)
    for folder, (sources, flags) in parts.items():
        key = key_of(sources, flags, common)
        if (CACHE / key).exists() and not {"--all", "--profile"} & set(sys.argv):
            continue
        part = build / "tidy" / f"{folder}.cpp"
        part.write_text("".join(f'#include "{source.relative_to(SRC)}"\n' for source in sources))
        left.append((sum(source.stat().st_size for source in sources), part, flags, key))
    left.sort(reverse=True)  # the longest begin first

    bad = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = {pool.submit(check, program, part, flags, profile): (part, key) for _, part, flags, key in left}
        for job in concurrent.futures.as_completed(jobs):
            (part, key), (found, times, seconds) = jobs[job], job.result()
            if profile:
                print(f"{part.name}: {seconds:.1f} s\n{times}")
            for line in sorted(set(found) - bad):
                print(line, flush=True)
            bad.update(found)
            if not found:
                (CACHE / key).touch()
    print(f"{len(parts)} parts, {len(left)} checked, {len(bad)} findings")
    sys.exit(1 if bad or not parts else 0)


main()
