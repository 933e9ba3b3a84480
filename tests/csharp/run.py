"""The C# package Welvet: compiled by mcs, tested under Mono and, where it is at hand, under CoreCLR 3.1.

  run.py libloom.so [TESTS...]     TESTS: parts of the names of the tests to run

CoreCLR is the program that LOOM_DOTNET names, or that of the package dotnetcore2 of LOOM_PYTHON. Under it all tests run
with the assembly that users get, and those of spans and asynchronous streams with one compiled for .NET Core.
A machine without mcs or mono ends with 77, which CTest shows as skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SOURCES = ROOT / "bindings/csharp"
SKIPPED = 77
MODERN = ["-d:NETCOREAPP3_0_OR_GREATER"]
CONFIG = """{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"},
 "configProperties": {"System.Globalization.Invariant": true}}}"""


def sources(folder):
    """The C# files of a folder, in a fixed order."""
    return sorted(folder.glob("*.cs"))


def library_sources():
    """Files of the assembly Welvet.dll."""
    return [SOURCES / "Abi.cs", *sources(SOURCES / "Welvet")]


def run(command, **options):
    """Runs a program, shows what it prints and fails as it does."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False, **options)
    print(done.stdout, done.stderr, sep="", end="", flush=True)
    if done.returncode:
        raise SystemExit(f"{command[0]} ended with {done.returncode}")
    return done.stdout


def compile_files(files, output, *options):
    """Compiles C# files by mcs, warnings being errors."""
    run(["mcs", "-unsafe", "-langversion:7.2", "-warnaserror", f"-out:{output}", *options, *files])


def core_runtime():
    """The program dotnet of CoreCLR 3.1; None where there is none."""
    if given := os.environ.get("LOOM_DOTNET"):
        return pathlib.Path(given)
    python = os.environ.get("LOOM_PYTHON")
    if not python:
        return None
    words = "import os, dotnetcore2; print(os.path.join(os.path.dirname(dotnetcore2.__file__), 'bin', 'dotnet'))"
    done = subprocess.run([python, "-c", words], capture_output=True, text=True, check=False)
    return pathlib.Path(done.stdout.strip()) if done.returncode == 0 else None


def core_references(dotnet):
    """Options that compile against the assemblies of a CoreCLR itself."""
    folder = next(iter(sorted((dotnet.parent / "shared/Microsoft.NETCore.App").glob("3.1.*"))))
    names = ["System.Private.CoreLib", "System.Runtime", "System.Console", "System.Memory", "System.Linq",
             "System.Collections", "System.Runtime.Extensions", "System.Threading", "System.IO.FileSystem",
             "System.Threading.Tasks.Parallel"]
    return ["-nostdlib", "-noconfig", "-nowarn:1702", *MODERN, *(f"-r:{folder}/{name}.dll" for name in names)]


def build(folder, *options):
    """Compiles the library and its tests into a folder."""
    folder.mkdir()
    compile_files(library_sources(), folder / "Welvet.dll", "-target:library", f"-doc:{folder}/Welvet.xml", *options)
    extra = options or ("-r:System.Core.dll",)
    compile_files(sources(ROOT / "tests/csharp"), folder / "tests.exe", f"-r:{folder}/Welvet.dll", *extra)
    (folder / "tests.runtimeconfig.json").write_text(CONFIG)


def run_guide(folder, assembly, environment):
    """Runs every block of the guide and looks for the lines that its comments promise."""
    blocks = re.findall(r"```csharp\n(.*?)```", (ROOT / "docs/guide/csharp.md").read_text(), re.S)
    methods = "".join(f"    static void Block{i}(string model)\n    {{\n{block}    }}\n\n"
                      for i, block in enumerate(blocks))
    calls = "".join(f"        Block{i}(arguments[0]);\n" for i in range(len(blocks)))
    program = ("using System;\nusing Welvet;\n\npublic static class Guide\n{\n" + methods +
               "    public static void Main(string[] arguments)\n    {\n" + calls + "    }\n}\n")
    (folder / "Guide.cs").write_text(program)
    compile_files([folder / "Guide.cs"], folder / "guide.exe", f"-r:{assembly}")
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    printed = run(["mono", folder / "guide.exe", model], env=environment)
    promised = re.findall(r"WriteLine\(.*\); +// (.*)", "".join(blocks))
    place = 0
    for line in promised:
        place = printed.find(line, place)
        if place < 0:
            raise SystemExit(f"docs/guide/csharp.md promises {line!r}, which was not printed in this order")
    print(f"{len(blocks)} blocks of docs/guide/csharp.md, {len(promised)} promised lines")


def main():
    if not shutil.which("mcs") or not shutil.which("mono"):
        print("SKIPPED: mcs or mono is not installed, so the package of C# is not tested")
        return SKIPPED
    environment = {**os.environ, "WELVET_LIBRARY": str(pathlib.Path(sys.argv[1]).resolve()), "DOTNET_CLI_HOME": "/tmp"}
    with tempfile.TemporaryDirectory() as name:
        plain, modern = pathlib.Path(name, "plain"), pathlib.Path(name, "modern")
        build(plain)
        run(["mono", plain / "tests.exe", *sys.argv[2:]], env=environment)
        if len(sys.argv) == 2:
            run_guide(plain, plain / "Welvet.dll", environment)
        dotnet = core_runtime()
        if dotnet is None:
            print("CoreCLR is not at hand (LOOM_DOTNET, or the package dotnetcore2): tested under Mono alone")
            return 0
        run([dotnet, plain / "tests.exe", *sys.argv[2:]], env=environment)
        build(modern, *core_references(dotnet))
        run([dotnet, modern / "tests.exe", "AnswerAndHash", "Spans", "Asynchronous"], env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
