"""bindings/godot: in the engine of Godot 3, and in a host that has the interface of Godot 4.

  run.py godot3 libloom.so libloom_godot3.so
  run.py godot4_host libloom.so libloom_godot4.so HOST api.tsv

Ends with 77, which CTest shows as skipped, where the engine is missing.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import pack_godot  # noqa: E402

MODEL = pathlib.Path(os.environ.get("LOOM_DATA", ""), "llm/SmolLM2-135M-Instruct.Q4_1.gguf")


def run(command, folder, **environment):
    """Runs a program; its output is shown, and what the engine prints of errors is a failure."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment}, timeout=250)
    print(done.stdout)
    print(done.stderr, file=sys.stderr)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.returncode}")
    return done.stdout + done.stderr


# Methods that every class has; the page lists them once, in a sentence.
SHARED = ("poll", "cancel", "is_busy", "error_code", "error_text")


def check_page(printed):
    """docs/guide/godot.md lists the methods that the classes have, and its first script is that of the demo."""
    page = (ROOT / "docs/guide/godot.md").read_text()
    listed = set(re.findall(r"^\| `(Loom\w+\.\w+\(.*?\))` \|", page, re.MULTILINE))
    have = {line.removeprefix("METHOD ") for line in printed.splitlines() if line.startswith("METHOD ")}
    have = {each for each in have if each.split("(")[0].split(".")[1] not in SHARED}
    if not have or listed != have:
        raise SystemExit(f"docs/guide/godot.md lists {sorted(listed - have)}, which no class has, and lacks {sorted(have - listed)}")
    script = re.search(r"^```gdscript\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    if script not in (ROOT / "bindings/godot/demo/wizard.gd").read_text():
        raise SystemExit("the first script of docs/guide/godot.md is not that of bindings/godot/demo/wizard.gd")


def godot3(library, shim):
    engine = shutil.which("godot3-server")
    if not engine:
        print("SKIPPED: godot3-server is not installed")
        return 77
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        project = folder / "project"
        shutil.copytree(ROOT / "bindings/godot/demo", project)
        shutil.copytree(ROOT / "tests/godot/project", project, dirs_exist_ok=True)
        pack_godot.unpack({"linux.x86_64": [library, shim]}, project)
        # The hub id of demo/wizard.gd, with a smaller model.
        snapshot = folder / "hub/models--SmolLM2-360M-Instruct/snapshots/0"
        snapshot.mkdir(parents=True)
        (snapshot / "model.gguf").symlink_to(MODEL)
        settings = {"HOME": scratch, "XDG_DATA_HOME": f"{scratch}/data", "HF_HUB_CACHE": f"{scratch}/hub", "LOOM_MODEL": str(MODEL)}
        for variable in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
            settings[variable] = scratch
        said = run([engine, "--path", project, "-s", "test.gd"], folder, **settings)
        if "ended with 0 failures" not in said or "SCRIPT ERROR" in said:
            raise SystemExit("the tests did not come to their end")
        talked = run([engine, "--path", project], folder, **settings)
        if talked.count("Player: ") != 2 or "SCRIPT ERROR" in talked:
            raise SystemExit("the demo did not talk")
    return 0


def godot4_host(library, shim, host, api):
    with tempfile.TemporaryDirectory() as scratch:
        project = pathlib.Path(scratch)
        pack_godot.unpack({"linux.x86_64": [library, shim]}, project)
        bin_folder = project / "addons/loom/bin/linux.x86_64"
        listed = (project / "addons/loom/loom.gdextension").read_text()
        if f"res://addons/loom/bin/linux.x86_64/{shim.name}" not in listed:
            raise SystemExit(f"loom.gdextension does not list {shim.name}")
        for version in ("4.2", "4.7"):
            check_page(run([host, bin_folder / shim.name, api, version, MODEL, "all" if version == "4.2" else "quick"], project))
    return 0


def main():
    given = [pathlib.Path(word).resolve() for word in sys.argv[2:]]
    return {"godot3": godot3, "godot4_host": godot4_host}[sys.argv[1]](*given)


if __name__ == "__main__":
    sys.exit(main())
