"""The C# package by Roslyn, as bindings/csharp/Welvet.csproj asks for each of its target frameworks.

  roslyn.py libloom.so [FOLDER]     FOLDER: where tools/npm_packages.sh roslyn has installed the compiler

No SDK of .NET is among the packages that tests may install, but Roslyn 4.1 is part of an npm package, and it runs on
CoreCLR 3.1 (dotnetcore2 of LOOM_PYTHON). It compiles the sources by C# 7.3, as for .NET Standard 2.0 and 2.1, and by
C# 10 with the symbols of .NET 8, whose LibraryImport methods get the second half that .NET's generator writes
(tests/csharp/roslyn/Compile.cs; the generator itself is in the SDK alone). Warnings, those about documentation too, are
errors. The assembly with library imports then passes the package's tests. Ends with 77 where a part is missing, which
CTest shows as skipped.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import run as package  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = package.SOURCES / "Welvet.csproj"
# Symbols that an SDK defines, newest first.
CORE = [f"NET{v}_0_OR_GREATER" for v in (8, 7, 6, 5)] + [f"NETCOREAPP{v}_OR_GREATER" for v in ("3_1", "3_0", "2_1", "2_0")]
SYMBOLS = {"netstandard2.0": ["NETSTANDARD", "NETSTANDARD2_0"],
           "netstandard2.1": ["NETSTANDARD", "NETSTANDARD2_1", "NETSTANDARD2_0_OR_GREATER", "NETSTANDARD2_1_OR_GREATER"],
           "net8.0": ["NET", "NET8_0", "NETCOREAPP", *CORE]}
MODERN = ("net8.0",)  # have LibraryImport


def frameworks():
    """{target framework: version of C#} of the project; the newest that Roslyn 4.1 knows for the SDK's default."""
    text = PROJECT.read_text()
    names = re.search(r"<TargetFrameworks>(.*)</TargetFrameworks>", text)[1].split(";")
    older = re.search(r"<LangVersion Condition=\"'\$\(TargetFramework\)' != '(.*)'\">(.*)</LangVersion>", text)
    return {name: "10" if name == older[1] else older[2] for name in names}


def compiler_folder():
    """The folder with Roslyn, or None."""
    given = sys.argv[2] if len(sys.argv) > 2 else None
    npm = pathlib.Path(given or os.environ.get("LOOM_NPM") or pathlib.Path.home() / ".cache/loom/npm")
    for folder in (npm, npm / "roslyn"):
        found = folder / "node_modules/@autorest/csharp"
        if (found / "Microsoft.CodeAnalysis.CSharp.dll").is_file():
            return found
    return None


class Roslyn:
    """The compiler in a folder of its own, with the program of this test beside it."""

    def __init__(self, dotnet, source, folder):
        self.dotnet, self.folder = dotnet, folder
        folder.mkdir()
        for path in [*source.glob("*.dll"), source / "AutoRest.CSharp.deps.json"]:
            shutil.copy(path, folder)
        (folder / "Compile.runtimeconfig.json").write_text(package.CONFIG)
        # CoreCLR 3.1 looks for libssl.so.VERSION; Roslyn hashes the keys of assemblies.
        package.run(["cc", "-shared", "-fPIC", HERE / "roslyn/openssl.c", "-lssl", "-lcrypto", "-o", folder / "libssl.so.loom"])
        self.environment = {**os.environ, "DOTNET_CLI_HOME": "/tmp", "CLR_OPENSSL_VERSION_OVERRIDE": "loom",
                            "LD_LIBRARY_PATH": str(folder)}
        parts = [f"-r:{folder}/{name}.dll" for name in
                 ("Microsoft.CodeAnalysis", "Microsoft.CodeAnalysis.CSharp", "System.Collections.Immutable")]
        netstandard = self.framework() / "netstandard.dll"
        package.compile_files([HERE / "roslyn/Compile.cs"], folder / "Compile.exe", *package.core_references(dotnet),
                              f"-r:{netstandard}", *parts)

    def framework(self):
        return next(iter(sorted((self.dotnet.parent / "shared/Microsoft.NETCore.App").glob("3.1.*"))))

    def compile(self, name, language, output):
        """Compiles the package for a target framework."""
        references = [str(path) for path in sorted(self.framework().glob("*.dll"))
                      if path.name.startswith("System.") and "Native" not in path.name or path.name in ("mscorlib.dll", "netstandard.dll")]
        stubs = [HERE / "roslyn/Stubs.cs"] if name in MODERN else []
        return package.run([self.dotnet, "exec", "--depsfile", self.folder / "AutoRest.CSharp.deps.json", "--runtimeconfig",
                            self.folder / "Compile.runtimeconfig.json", self.folder / "Compile.exe", language,
                            ";".join(SYMBOLS[name]), ";".join(references), output, *stubs, *package.library_sources()],
                           env=self.environment)


def main():
    source, dotnet = compiler_folder(), package.core_runtime()
    if not shutil.which("mcs") or source is None or dotnet is None:
        print("SKIPPED: mcs, the package dotnetcore2 of LOOM_PYTHON or Roslyn (tools/npm_packages.sh roslyn) is missing")
        return package.SKIPPED
    library = str(pathlib.Path(sys.argv[1]).resolve())
    environment = {**os.environ, "WELVET_LIBRARY": library, "DOTNET_CLI_HOME": "/tmp"}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        roslyn = Roslyn(dotnet, source, folder / "compiler")
        for framework, language in frameworks().items():
            (folder / framework).mkdir()
            printed = roslyn.compile(framework, language, folder / framework / "Welvet.dll")
            imports = int(re.search(r"(\d+) library imports, 0 errors", printed)[1])
            expected = (package.SOURCES / "Abi.cs").read_text().count("[LibraryImport(") if framework in MODERN else 0
            if imports != expected:
                raise SystemExit(f"{framework} has {imports} library imports, expected {expected}")
        modern = folder / "net8.0"
        package.compile_files(package.sources(package.ROOT / "tests/csharp"), modern / "tests.exe",
                              f"-r:{modern}/Welvet.dll", *package.core_references(dotnet))
        (modern / "tests.runtimeconfig.json").write_text(package.CONFIG)
        package.run([dotnet, modern / "tests.exe"], env=environment)
    return 0


if __name__ == "__main__":
    sys.exit(main())
