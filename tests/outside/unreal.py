"""bindings/unreal: the plugin compiles and runs with stubs of Unreal's headers; its build rules name the libraries.

  unreal.py libloom.so
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PLUGIN = ROOT / "bindings/unreal/Welvet"
MODULE = PLUGIN / "Source/Welvet"
STUBS = ROOT / "tests/unreal"


def run(*command, **options):
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def main():
    library = pathlib.Path(sys.argv[1]).resolve()
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    names = [module["Name"] for module in json.loads((PLUGIN / "Welvet.uplugin").read_text())["Modules"]]
    if missing := [name for name in names if not (PLUGIN / f"Source/{name}/{name}.Build.cs").is_file()]:
        raise SystemExit(f"Welvet.uplugin names modules without build rules: {missing}")
    with tempfile.TemporaryDirectory() as folder:
        run("c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fno-exceptions", "-pthread", f"-I{STUBS}/stubs",
            f"-I{MODULE}/Public", f"-I{ROOT}/include", *sorted(MODULE.glob("Private/*.cpp")), STUBS / "play.cpp",
            f"-L{library.parent}", "-lloom", f"-Wl,-rpath,{library.parent}", "-o", "play", cwd=folder)
        print(run("./play", model, cwd=folder))
        if not shutil.which("mcs") or not shutil.which("mono"):
            print("SKIPPED: mcs or mono is not installed, so the build rules are not compiled")
            return 77
        run("mcs", "-warnaserror", MODULE / "Welvet.Build.cs", STUBS / "Rules.cs", "-out:rules.exe", cwd=folder)
        rules = run("mono", "rules.exe", cwd=folder)
        for words in ("Win64 Welvet/../ThirdParty/Loom/lib/loom.lib Welvet/../ThirdParty/Loom/lib/loom.dll",
                      "Linux Welvet/../ThirdParty/Loom/lib/libloom.so", "Mac Welvet/../ThirdParty/Loom/lib/libloom.dylib"):
            if words not in rules:
                raise SystemExit(f"the build rules give\n{rules}expected {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
