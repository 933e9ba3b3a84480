"""The NuGet package of C#: packed twice with equal bytes, unpacked, and used where nothing of the sources is in sight.

  package.py libloom.so

A machine without mcs or mono ends with 77, which CTest shows as skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile

import run

FILES = {"[Content_Types].xml", "_rels/.rels", "Welvet.nuspec", "README.md", "LICENSE", "lib/netstandard2.0/Welvet.dll",
         "lib/netstandard2.0/Welvet.xml", "runtimes/linux-x64/native/libloom.so"}
NUSPEC = "{http://schemas.microsoft.com/packaging/2013/05/nuspec.xsd}"
ANSWER = "The capital of France is Paris. 99554f0d\n"


def pack(library, folder):
    """Packs and returns the path of the package."""
    subprocess.run([sys.executable, "-B", run.ROOT / "tools/pack_nuget.py", f"linux-x64={library}", "--output", folder],
                   check=True)
    return next(folder.glob("*.nupkg"))


def expect(condition, words):
    """Ends the test if a condition does not hold."""
    if not condition:
        raise SystemExit(f"expected {words}")


def check_contents(package, library):
    """Names, metadata and documentation of a package."""
    with zipfile.ZipFile(package) as file:
        expect(set(file.namelist()) == FILES, f"{sorted(FILES)}, got {sorted(file.namelist())}")
        expect(file.read("runtimes/linux-x64/native/libloom.so") == library.read_bytes(), "the library as it was given")
        about = xml.fromstring(file.read("Welvet.nuspec")).find(f"{NUSPEC}metadata")
        expect(about.findtext(f"{NUSPEC}id") == "Welvet", "the id Welvet")
        expect(package.name == f"Welvet.{about.findtext(f'{NUSPEC}version')}.nupkg", "the version in the file's name")
        listed = xml.fromstring(file.read("[Content_Types].xml"))
        suffixes = {each.get("Extension") for each in listed if each.get("Extension")}
        expect(suffixes >= {"dll", "so", "xml", "md", "nuspec", "rels"}, "a type of each suffix")
        members = {each.get("name") for each in xml.fromstring(file.read("lib/netstandard2.0/Welvet.xml"))[1]}
        expect("T:Welvet.LanguageModel" in members, "documentation of LanguageModel")


def use(folder, runner, model):
    """Runs the program of the README beside the unpacked assembly, with no word about the library."""
    environment = {k: v for k, v in os.environ.items() if k not in ("WELVET_LIBRARY", "LD_LIBRARY_PATH")}
    done = subprocess.run([runner, folder / "program.exe", model], capture_output=True, text=True, check=False,
                          cwd="/", env=environment)
    expect(done.returncode == 0 and done.stdout == ANSWER, f"{ANSWER!r}, got {done.stdout!r} {done.stderr}")


def main():
    if not shutil.which("mcs") or not shutil.which("mono"):
        print("SKIPPED: mcs or mono is not installed, so the package of C# is not tested")
        return run.SKIPPED
    library = pathlib.Path(sys.argv[1]).resolve()
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = pack(library, folder / "first")
        expect(package.read_bytes() == pack(library, folder / "second").read_bytes(), "equal bytes of two packages")
        check_contents(package, library)
        with zipfile.ZipFile(package) as file:
            file.extractall(folder / "unpacked")
        program = folder / "program"
        shutil.copytree(folder / "unpacked/lib/netstandard2.0", program)
        shutil.copytree(folder / "unpacked/runtimes", program / "runtimes")
        source = re.search(r"```csharp\n(.*?)```", (folder / "unpacked/README.md").read_text(), re.S)[1]
        (program / "program.cs").write_text(source)
        (program / "program.runtimeconfig.json").write_text(run.CONFIG)
        run.compile_files([program / "program.cs"], program / "program.exe", f"-r:{program}/Welvet.dll")
        for runner in filter(None, ("mono", run.core_runtime())):
            use(program, runner, model)
        beside = program / "libloom.so"
        (program / "runtimes/linux-x64/native/libloom.so").rename(beside)
        use(program, "mono", model)
    return 0


if __name__ == "__main__":
    sys.exit(main())
