"""Other languages: declarations have the layout of C, packages pass their tests, examples give the README's answer.

  bindings.py LANGUAGE libloom.so [--whole]

LANGUAGE is layout, cpp, rust, go, java, kotlin, swift, csharp or typescript. --whole adds what takes long: Go's race detector, a folder of a whole model.

A language whose compiler is missing ends with 77, which CTest shows as skipped.
"""

import ctypes
import glob
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ANSWER = "The capital of France is Paris.\nhash 99554f0d"
SKIPPED = 77
WHOLE = "--whole" in sys.argv
# Programs that tools/npm_packages.sh package has fetched.
NPM = os.path.join(os.environ.get("LOOM_NPM") or os.path.expanduser("~/.cache/loom/npm"), "package/node_modules/.bin")


class Missing(Exception):
    """A compiler that this machine does not have."""


def tool(*names):
    for name in names:
        if found := shutil.which(name) or shutil.which(name, path=NPM):
            return found
    raise Missing(f"none of {', '.join(names)} is installed")


def run(command, folder, **environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.returncode}\n{done.stdout}{done.stderr}")
    if "warning" in done.stderr:
        raise SystemExit(f"{' '.join(words)}: {done.stderr}")
    return done.stdout


def ask(command, folder, shows_progress=True, **environment):
    """The example with a right and with a wrong model."""
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    answer = run([*command, model, "What is the capital of France?"], folder, **environment)
    print(answer)
    if not answer.startswith(ANSWER) or ("progress was shown" in answer) != shows_progress or "no progress" in answer:
        raise SystemExit("expected the answer of the README")
    wrong = subprocess.run([*map(str, command), __file__, "x"], cwd=folder, capture_output=True, text=True,
                           env={**os.environ, **environment})
    print(wrong.stderr)
    if wrong.returncode != 1 or not wrong.stderr.lower().startswith("ask: unsupported: "):
        raise SystemExit("expected a model that is none to be unsupported")


def programs(language):
    """The programs of docs/guide/languages.md in a language: a tour, and an evolution."""
    page = (ROOT / "docs/guide/languages.md").read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    if len(found) != 2:
        raise SystemExit(f"languages.md has {len(found)} programs in {language}, expected two")
    return found


def pages(tour, breed, folder, **environment):
    """Those programs, which print the lines of the page."""
    model = pathlib.Path(os.environ["LOOM_DATA"], "llm/SmolLM2-135M-Instruct.Q4_1.gguf")
    for command, expected in zip(([*tour, model], breed), programs("text")):
        printed = run(command, folder, **environment)
        if printed != expected:
            raise SystemExit(f"{command[0]} of languages.md printed\n{printed}expected\n{expected}")


def of_c(folder):
    """{(struct, field): (offset, size)} and {(struct, None): size} as a C89 compiler has them."""
    run([tool("cc", "gcc", "clang"), "-std=c89", "-pedantic", "-Wall", "-Wextra", "-Werror", "-DLOOM_PRINT_LAYOUT",
         f"-I{ROOT}/include", ROOT / "bindings/c/layout.c", "-o", "layout"], folder)
    places = {}
    for line in run(["./layout"], folder).splitlines():
        words = line.split()
        places[words[0], words[1] if len(words) > 2 else None] = tuple(map(int, words[2:] or words[1:]))
    return places


def of_python():
    """Sizes and offsets of the ctypes module of the package."""
    spec = importlib.util.spec_from_file_location("_abi", ROOT / "python/welvet/_abi.py")
    abi = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(abi)
    places = {}
    for made in vars(abi).values():
        if isinstance(made, type) and issubclass(made, ctypes.Structure) and made is not ctypes.Structure:
            name = "loom" + re.sub("([A-Z])", r"_\1", made.__name__).lower()
            places[name, None] = (ctypes.sizeof(made),)
            for field, *_ in made._fields_:
                places[name, field] = (getattr(made, field).offset, getattr(made, field).size)
    return places


def layout(_, folder):
    c, python = of_c(folder), of_python()
    differing = [f"{key}: {c.get(key)} in C, {python.get(key)} in Python" for key in sorted(c.keys() | python.keys(), key=str)
                 if c.get(key) != python.get(key)]
    if differing:
        raise SystemExit("\n".join(differing))
    print(f"{len(c)} sizes and offsets are equal in C and Python")
    if clang := shutil.which("clang-19") or shutil.which("clang"):  # the static checks of 32 bits
        run([clang, "--target=wasm32-wasi", "-std=c89", "-pedantic", "-Werror", "-fsyntax-only", f"-I{ROOT}/include",
             ROOT / "bindings/c/layout.c"], folder)
        print("and as declared in wasm32")


def cpp(library, folder):
    """loom.hpp with exceptions and without, by every installed compiler; the names of the specification."""
    strict = ["-std=c++17", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror", f"-I{ROOT}/include"]
    link = [f"-L{library.parent}", "-lloom", f"-Wl,-rpath,{library.parent}"]
    compilers = [found for name in ("g++", "clang++-19", "clang++") if (found := shutil.which(name))]
    if not compilers:
        raise Missing("neither g++ nor clang++ is installed")
    for compiler in compilers:
        run([compiler, *strict, ROOT / "examples/cpp/ask.cpp", *link, "-o", "ask"], folder)
        run([compiler, *strict, ROOT / "bindings/cpp/names.cpp", *link, "-o", "names"], folder)
        run([compiler, *strict, "-fno-exceptions", ROOT / "tests/outside/no_exceptions.cpp", *link, "-o", "values"], folder)
        run([compiler, *strict, ROOT / "tests/outside/other_abi.cpp", *link, "-o", "other"], folder)
        run(["./names"], folder)
        run(["./values"], folder)
        run(["./other"], folder)
    ask([folder / "ask"], folder, False)
    run([compilers[0], *strict, "-pthread", ROOT / "tests/outside/cpp_use.cpp", *link, "-o", "use"], folder)
    data = pathlib.Path(os.environ["LOOM_DATA"])
    print(run(["./use", data / "llm/SmolLM2-135M-Instruct.Q4_1.gguf", data / "minilm"], folder))
    for name, text in zip(("tour", "breed"), programs("cpp")):
        (folder / f"{name}.cpp").write_text(text)
        run([compilers[0], *strict, folder / f"{name}.cpp", *link, "-o", name], folder)
    pages([folder / "tour"], [folder / "breed"], folder)


def rust(library, folder):
    cargo = tool("cargo")
    version = subprocess.run([cargo, "--version"], capture_output=True, text=True).stdout
    if (m := re.match(r"cargo 1\.(\d+)", version)) and int(m[1]) < 77:
        raise Missing(f"{version.strip()} is installed, bindings/rust needs 1.77")
    # Compiled objects stay beside the library from one run to the next.
    environment = {"WELVET_LIBRARY": str(library), "CARGO_TARGET_DIR": str(library.parent / "cargo"),
                   "RUSTFLAGS": "-D warnings", "RUSTDOCFLAGS": "-D warnings", "RUST_BACKTRACE": "0"}
    crate = ROOT / "bindings/rust"
    print(run([cargo, "test", "--offline", "--locked", "--quiet"], crate, **environment))
    run([cargo, "doc", "--offline", "--no-deps", "--quiet"], crate, **environment)
    ask([library.parent / "cargo/debug/examples/ask"], folder, False)
    (folder / "src/bin").mkdir(parents=True)
    for name, text in zip(("tour", "breed"), programs("rust")):
        (folder / f"src/bin/{name}.rs").write_text(text)
    (folder / "Cargo.toml").write_text('[package]\nname = "tour"\nversion = "0.1.0"\nedition = "2021"\n\n'
                                       f'[dependencies]\nwelvet = {{path = "{crate}"}}\n')
    run([cargo, "build", "--offline", "--quiet"], folder, **environment)
    built = library.parent / "cargo/debug"
    pages([built / "tour"], [built / "breed"], folder, LD_LIBRARY_PATH=str(library.parent))
    for check, words in (("clippy", ["--offline", "--all-targets", "--quiet", "--", "-D", "warnings"]), ("fmt", ["--check"])):
        if subprocess.run([cargo, check, "--version"], capture_output=True).returncode:
            print(f"cargo {check} is not installed, so it does not check the crate")
        else:
            run([cargo, check, *words], crate, **environment)


def go(library, folder):
    compiler = tool("go")
    version = subprocess.run([compiler, "env", "GOVERSION"], capture_output=True, text=True,
                             env={**os.environ, "GOTOOLCHAIN": "local"})
    if (m := re.match(r"go1\.(\d+)", version.stdout)) and int(m[1]) < 23:
        raise Missing(f"{version.stdout.strip()} is installed, bindings/go needs go1.23")
    # as the head of ask.go says, with the go.mod beside it
    environment = {"CGO_ENABLED": "1", "CGO_LDFLAGS": f"-L{library.parent} -Wl,-rpath,{library.parent}",
                   "GOFLAGS": "-mod=readonly", "GOPROXY": "off", "GOTOOLCHAIN": "local", "GODEBUG": "cgocheck=1"}
    run([compiler, "vet", "./..."], ROOT / "bindings/go", **environment)
    how = ["-race"] if WHOLE else ["-short"]
    print(run([compiler, "test", "-count=1", *how, "./..."], ROOT / "bindings/go", **environment))
    run([compiler, "vet", "./..."], ROOT / "examples/go", **environment)
    run([compiler, "build", "-o", folder / "ask", "."], ROOT / "examples/go", **environment)
    ask([folder / "ask"], folder, False)
    (folder / "go.mod").write_text((ROOT / "examples/go/go.mod").read_text().replace("../..", str(ROOT)))
    for name, text in zip(("tour", "breed"), programs("go")):
        (folder / name).mkdir()
        (folder / name / "main.go").write_text(text)
        run([compiler, "build", "-o", f"{name}/{name}", f"./{name}"], folder, **environment)
    pages([folder / "tour/tour"], [folder / "breed/breed"], folder)
    if unformatted := run([pathlib.Path(compiler).with_name("gofmt"), "-l", ROOT / "bindings/go", ROOT / "examples/go"], folder):
        raise SystemExit(f"gofmt would change {unformatted}")


def java_home():
    """A JDK with java.lang.foreign as it stays: 22 or later."""
    homes = [os.environ.get("JAVA_HOME"), *sorted(glob.glob("/usr/lib/jvm/*"), reverse=True)]
    found = shutil.which("javac")
    homes.append(str(pathlib.Path(found).resolve().parent.parent) if found else None)
    for home in filter(None, homes):
        if not (compiler := pathlib.Path(home, "bin/javac")).is_file():
            continue
        words = subprocess.run([compiler, "-version"], capture_output=True, text=True)
        if (m := re.search(r"javac (\d+)", words.stdout + words.stderr)) and int(m[1]) >= 22:
            return pathlib.Path(home)
    raise Missing("no JDK 22 or later is installed")


def java(library, folder):
    home = java_home()
    package = ROOT / "bindings/java/src"
    for name, text in zip(("Tour", "Breed"), programs("java")):
        (folder / f"{name}.java").write_text(text)
    sources = [*package.rglob("*.java"), ROOT / "examples/java/Ask.java", folder / "Tour.java", folder / "Breed.java"]
    quick = "-XX:TieredStopAtLevel=1"  # of a machine that starts and ends at once
    run([home / "bin/javac", f"-J{quick}", "-Xlint:all,-restricted,-serial", "-Werror", "--release", "22", "-d", folder,
         *sources], folder)
    start = [home / "bin/java", quick, "-cp", folder, "--enable-native-access=ALL-UNNAMED"]
    tests = [f"welvet.{path.stem}" for path in sorted((package / "test/java/welvet").glob("*Test.java"))]
    print(run([*start, "welvet.Runner", *tests], folder, WELVET_LIBRARY=str(library)))
    ask([*start, f"-Dloom.library={library}", "Ask"], folder, False)
    pages([*start, "Tour"], [*start, "Breed"], folder, WELVET_LIBRARY=str(library))
    run([home / "bin/javadoc", f"-J{quick}", "-quiet", "-Xdoclint:all", "-Werror", "--release", "22", "-sourcepath",
         package / "main/java", "-d", folder / "pages", "welvet"], folder)


def kotlin(library, folder):
    home, compiler = java_home(), tool("kotlinc")
    sources = (ROOT / "bindings/java/src/main").rglob("*.java")
    run([home / "bin/javac", "--release", "22", "-d", folder, *sources], folder)
    run([compiler, "-include-runtime", "-cp", folder, "-d", "ask.jar", ROOT / "examples/kotlin/Ask.kt"], folder)
    ask([home / "bin/java", "-cp", f"{folder}:ask.jar", "--enable-native-access=ALL-UNNAMED", "AskKt"], folder, False,
        WELVET_LIBRARY=str(library))


def swift(library, folder):
    run([tool("swiftc"), "-I", ROOT / "include", "-L", library.parent, "-lloom", ROOT / "examples/swift/Ask.swift",
         "-o", "ask"], folder)
    ask([folder / "ask"], folder, False, LD_LIBRARY_PATH=str(library.parent))


def csharp(library, folder):
    compiler, runner = tool("mcs"), tool("mono")
    shown = folder / "Layouts.cs"
    shown.write_text(LAYOUTS_OF_CSHARP)
    sources = [ROOT / "bindings/csharp/Abi.cs", ROOT / "examples/csharp/Ask.cs",
               *sorted((ROOT / "bindings/csharp/Welvet").glob("*.cs"))]
    run([compiler, "-unsafe", "-langversion:7.2", "-warnaserror", *sources, "-out:ask.exe"], folder)
    run([compiler, "-unsafe", "-langversion:7.2", sources[0], shown, "-out:layouts.exe"], folder)
    compared = 0
    c = {(struct, (field or "").replace("_", "")): place for (struct, field), place in of_c(folder).items()}
    for line in run([runner, "layouts.exe"], folder).splitlines():
        struct, field, at = line.split(" ")
        key = ("loom" + re.sub("([A-Z])", r"_\1", struct).lower(), field.lower())
        if c[key][0] != int(at):
            raise SystemExit(f"{key}: {at} in C#, {c[key]} in C")
        compared += 1
    if compared != len(c):
        raise SystemExit(f"C# has {compared} sizes and offsets, C {len(c)}")
    ask([runner, "ask.exe"], folder, WELVET_LIBRARY=str(library))


LAYOUTS_OF_CSHARP = """
using System;
using System.Reflection;
using System.Runtime.InteropServices;

public static class Layouts
{
    public static void Main()
    {
        foreach (Type type in typeof(Welvet.Interop.Abi).Assembly.GetTypes())
        {
            if (!type.IsValueType || type.Namespace != "Welvet.Interop" || type.IsNested) continue;
            Console.WriteLine(type.Name + "  " + Marshal.SizeOf(type));
            foreach (FieldInfo field in type.GetFields())
                Console.WriteLine(type.Name + " " + field.Name + " " + Marshal.OffsetOf(type, field.Name));
        }
    }
}
"""


def typescript(_, folder):
    node = tool("node")
    script = folder / "layouts.mjs"
    (folder / "loom_abi.mjs").write_text((ROOT / "js/src/abi/loom_abi.js").read_text())
    script.write_text("""
import * as abi from './loom_abi.mjs';
for (const [name, { size, fields }] of Object.entries(abi.layouts.lp64)) {
  console.log(name, '-', size, 0);
  for (const [field, at] of Object.entries(fields)) console.log(name, field, at.offset, at.size);
}
if (abi.BUSY !== 30 || abi.STOP_LENGTH !== 3 || abi.layouts.wasm32.step.fields.text_size.offset !== 8) throw 'constants';
""")
    c, compared = of_c(folder), 0
    for line in run([node, script], folder).splitlines():
        struct, field, at, size = line.split(" ")
        expected = c[f"loom_{struct}", None if field == "-" else field]
        if expected != ((int(at),) if field == "-" else (int(at), int(size))):
            raise SystemExit(f"{line}: {expected} in C")
        compared += 1
    if compared != len(c):
        raise SystemExit(f"JavaScript has {compared} sizes and offsets, C {len(c)}")
    print(f"{compared} sizes and offsets are equal in C and JavaScript")
    use = folder / "use.ts"
    (folder / "loom_abi.d.ts").write_text((ROOT / "js/src/abi/loom_abi.d.ts").read_text())
    use.write_text("""
import { layouts, OK, STOP_EOS, type Functions, type Handle, type Stop } from './loom_abi.js';
export function kind(loom: Functions, handle: Handle, room: number): number {
  const stop: Stop = STOP_EOS;
  const at: number = layouts.wasm32.generation.fields.hash.offset;
  return loom.loom_kind_of(handle, room) === OK ? at + stop : -1;
}
""")
    run([tool("tsc"), "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022", use], folder)


def main():
    language, library = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        try:
            globals()[language](library, pathlib.Path(folder))
        except Missing as missing:
            print(f"SKIPPED: {missing}, so the declarations of {language} are not tested")
            return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main())
