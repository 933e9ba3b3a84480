"""The package for Unity: packed twice with equal bytes, compiled against stubs of UnityEngine, its sample run by Mono.

  unity.py libloom.so

It is not run in Unity. A machine without mcs or mono ends with 77, which CTest shows as skipped.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import run

DEFINES = ["-d:UNITY_5_3_OR_NEWER"]


def pack(library, folder):
    """Packs and returns the path of the package."""
    subprocess.run([sys.executable, "-B", run.ROOT / "tools/pack_unity.py", f"x86_64={library}", "--output", folder],
                   check=True)
    return next(folder.glob("*.tgz"))


def expect(condition, words):
    """Ends the test if a condition does not hold."""
    if not condition:
        raise SystemExit(f"expected {words}")


def check_files(folder):
    """Every asset has a GUID of its own; the samples of package.json exist."""
    guids = set()
    assets = [p for p in folder.rglob("*") if p.suffix != ".meta" and "~" not in str(p.relative_to(folder))]
    for asset in assets:
        guids.add(re.search(r"^guid: ([0-9a-f]{32})$", asset.with_name(asset.name + ".meta").read_text(), re.M)[1])
    expect(len(guids) == len(assets) > 20, "a GUID per asset")
    about = json.loads((folder / "package.json").read_text())
    expect(all((folder / sample["path"]).is_dir() for sample in about["samples"]), "the folders of the samples")
    project = (run.ROOT / "pyproject.toml").read_text()
    expect(f'version = "{about["version"]}"' in project, "the version of pyproject.toml")


def main():
    if not shutil.which("mcs") or not shutil.which("mono"):
        print("SKIPPED: mcs or mono is not installed, so the package for Unity is not tested")
        return run.SKIPPED
    library = pathlib.Path(sys.argv[1]).resolve()
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = pack(library, folder / "first")
        expect(package.read_bytes() == pack(library, folder / "second").read_bytes(), "equal bytes of two packages")
        with tarfile.open(package) as archive:
            archive.extractall(folder / "unpacked")
        unpacked = folder / "unpacked/package"
        check_files(unpacked)
        run.compile_files(run.sources(unpacked / "Runtime"), folder / "Welvet.dll", "-target:library", *DEFINES)
        sample = sorted((unpacked / "Samples~").rglob("*.cs"))
        run.compile_files([*sample, *run.sources(run.ROOT / "tests/csharp/unity")], folder / "game.exe", *DEFINES,
                          f"-r:{folder}/Welvet.dll")
        environment = {k: v for k, v in os.environ.items() if k != "WELVET_LIBRARY"}
        environment["LD_LIBRARY_PATH"] = str(unpacked / "Runtime/Plugins/x86_64")
        printed = run.run(["mono", folder / "game.exe", model], env=environment)
        expect(printed.endswith("\nanswered\nended\n"), "an answer, and an end while another is being written")
        printed = run.run(["mono", folder / "game.exe", folder / "none.gguf"], env=environment)
        expect("error: NotFound: " in printed and "\nsilent\n" in printed and printed.endswith("\nended\n"),
               "an error of a missing model")
    return 0


if __name__ == "__main__":
    sys.exit(main())
