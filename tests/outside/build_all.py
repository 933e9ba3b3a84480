"""tools/build_all without a build: its readers of programs, its table, its checks, and errors of arguments.

usage: build_all.py LOOM      LOOM: a program of this system, which its reader has to know

Building a target takes minutes: `tools/build_all --target x86_64-linux-musl` does, by hand or in a nightly run.
"""

import importlib.machinery
import importlib.util
import json
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))
sys.dont_write_bytecode = True

import binaries
import binary_sizes
import zig_targets

loader = importlib.machinery.SourceFileLoader("build_all", str(ROOT / "tools/build_all"))
build_all = importlib.util.module_from_spec(importlib.util.spec_from_loader("build_all", loader))
loader.exec_module(build_all)

RUN = {"how": "natively", "isa": "avx2", "digest": "aa" * 32, "training_steps": "bb" * 32, "answer": "cc" * 32}
ROW = {"target": "x86_64-windows", "program": {"file": "loom.exe", "bytes": 9_940_000, "needs": ["KERNEL32.dll", "api-ms-win-crt-heap-l1-1-0.dll"]},
       "library": {"file": "loom.dll", "bytes": 6_900_000, "needs": ["KERNEL32.dll", "api-ms-win-crt-math-l1-1-0.dll"]}, "run": RUN}


def expect(condition, what):
    if not condition:
        raise SystemExit(f"expected {what}")


def error_of(call, *arguments):
    try:
        call(*arguments)
    except (ValueError, build_all.Failed, SystemExit, zig_targets.CannotRun) as error:
        return str(error)
    return ""


def pe_file(names):
    """A PE file of 64 bits with one section, which holds the table of imports."""
    base, raw, table = 0x1000, 0x400, 20 * (len(names) + 1)
    texts, entries = b"", b""
    for name in names:
        entries += struct.pack("<IIIII", 0, 0, 0, base + table + len(texts), 0)
        texts += name.encode() + b"\0"
    section = entries + b"\0" * 20 + texts
    optional = struct.pack("<H", 0x20B).ljust(112, b"\0") + struct.pack("<IIII", 0, 0, base, table)
    header = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0)
    sections = b".idata\0\0" + struct.pack("<IIII", len(section), base, len(section), raw)
    return (header + optional + sections).ljust(raw, b"\0") + section


def mach_file(processor, names):
    commands = b""
    for name in names:
        text = (name.encode() + b"\0").ljust((len(name) + 8) // 8 * 8, b"\0")
        commands += struct.pack("<IIIIII", 0xC, 24 + len(text), 24, 0, 0, 0) + text
    return b"\xcf\xfa\xed\xfe" + struct.pack("<IIIIIII", processor, 0, 2, len(names), len(commands), 0, 0) + commands


def check_readers(program):
    elf = binaries.read(pathlib.Path(program).read_bytes())
    expect(elf.system == "linux" and elf.processor == zig_targets.native()[0] and "libc.so.6" in elf.needs and elf.glibc > (2, 0), "this system's program")
    foreign = binaries.Binary("linux", "x86_64", ["libc.so.6", "libpng16.so.16", "libcap.so.2"])
    expect(foreign.strangers() == ["libcap.so.2", "libpng16.so.16"], "libraries of other packages to be named")
    windows = binaries.read(pe_file(["KERNEL32.dll", "libpng16.dll"]))
    expect((windows.system, windows.processor) == ("windows", "x86_64") and windows.needs == ["KERNEL32.dll", "libpng16.dll"], "the imports of a PE file")
    expect(windows.strangers() == ["libpng16.dll"], "a library of no system to be named")
    system = "/usr/lib/libSystem.B.dylib"
    intel, arm = mach_file(0x01000007, [system]), mach_file(0x0100000C, [system])
    both = binaries.universal(intel, arm)
    expect(binaries.parts_of(both) == [intel, arm], "the parts of a universal file as they were")
    expect(binaries.read(both).processor == "universal" and binaries.read(both).needs == [system], "a universal file to be read")
    starts = [at for at, _ in (struct.unpack_from(">II", both, 16 + 20 * i) for i in range(2))]
    expect(all(at % (1 << binaries.PAGE_BITS) == 0 for at in starts), "parts at the beginning of pages")
    mixed = binaries.universal(intel, mach_file(0x0100000C, [system, "/opt/lib/libpng.dylib"]))
    expect("different libraries" in error_of(binaries.read, mixed), "parts with different libraries to be refused")
    expect("Mach-O" in error_of(binaries.universal, intel, pe_file(["KERNEL32.dll"])), "a part of another system to be refused")
    expect("Mach-O" in error_of(binaries.read, b"#!/bin/sh"), "a script to be refused")
    expect("nothing" in error_of(binaries.read, b""), "an empty file to be refused")
    expect("big-endian" in error_of(binaries.read, b"\x7fELF\x02\x02" + b"\0" * 60), "a big-endian file to be refused")
    for whole in (pathlib.Path(program).read_bytes()[:4096], pe_file(["KERNEL32.dll"]), intel):
        for length in (5, 33, 66):
            expect(error_of(binaries.read, whole[:length]), "a file that ends early to be refused")


def check_table():
    made = build_all.table({"x86_64-windows": ROW, "aarch64-macos": {"target": "aarch64-macos", "failed": "why"}})
    lines = {line.split("|")[1].strip(): line for line in made.splitlines()[2:]}
    expect(list(lines) == list(zig_targets.BY_NAME), "a row for each target")
    expect("| 9.9 | 6.9 | KERNEL32.dll, api-ms-win-crt-*.dll | natively | avx2 | equal | equal | equal |" in lines["x86_64-windows"], "the row of a record")
    expect("| failed |" in lines["aarch64-macos"] and "| not tried |" in lines["wasm32"], "targets without values to say why")
    expect(len({line.count("|") for line in made.splitlines()}) == 1, "as many cells in each row")
    kept = build_all.rows_of_page(f"{build_all.BEGIN}\n\n{made}\n{build_all.END}")
    later = build_all.table({"aarch64-macos": {**ROW, "target": "aarch64-macos"}}, kept)
    expect(lines["x86_64-windows"] in later and "| aarch64-macos | 9.9 |" in later, "targets without a record to keep the page's rows")
    expect(later.count("\n") == made.count("\n"), "no row twice")


def check_log(folder):
    """Programs that take minutes write into a file, whose end the error of a failed one has."""
    log = pathlib.Path(folder, "build.log")
    program = "import sys; print('[1/2] compiled'); sys.exit('undefined symbol: main' if sys.argv[1] == 'bad' else 0)"
    build_all.run([sys.executable, "-c", program, "good"], log)
    expect(log.read_text("utf-8") == "[1/2] compiled\n", "what a program prints in the log")
    wrong = error_of(build_all.run, [sys.executable, "-c", program, "bad"], log)
    expect("ended with 1" in wrong and "undefined symbol: main" in wrong, f"the end of the log in the error, got {wrong}")


def check_values():
    reference = build_all.references()
    expect(reference["answer"].startswith("99554f0d") and reference["digest"].startswith("42541715"), "the values of the sources")
    good = {**reference, "isa": "avx2"}
    build_all.check_values("the program", good, "avx2", reference)
    wrong = error_of(build_all.check_values, "the program", {**good, "digest": "00" * 32}, "avx2", reference)
    expect("the program: digest is 0000" in wrong, "another digest to be named")
    weak = error_of(build_all.check_values, "the library", {**good, "isa": "sse4"}, "avx2", reference)
    expect(weak == "the library chose sse4, expected avx2, the best of this machine", "a weaker instruction set to be named")
    best = lambda name, *flags, **more: zig_targets.best_isa(zig_targets.BY_NAME[name], set(flags), **more)
    expect(best("x86_64-windows", "avx2", "fma", "f16c", "bmi2", "sse4_1", "ssse3") == "avx2", "AVX2 by the flags of a processor")
    expect(best("x86_64-linux-musl", "avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx2") == "avx512", "AVX-512 by the flags")
    tiles = ("avx512f", "avx512bw", "avx512vl", "avx512dq", "avx512_vnni", "avx2", "amx_tile", "amx_bf16")
    expect(best("x86_64-linux-musl", *tiles) == "amx" and best("x86_64-windows", *tiles) == "avx512", "AMX by the flags, on Linux")
    expect(best("aarch64-linux-musl", machine="x86_64") == "neoni8mm" and best("armv7-linux-musl") == "scalar", "the sets of emulated processors")
    expect(best("i686-linux-musl", "avx2", "sse4_1") == "scalar", "plain kernels for i686")
    on_arm = [best("aarch64-linux-musl", *flags, machine="aarch64") for flags in (["asimd", "asimddp", "i8mm"], ["asimd", "asimddp"], ["asimd"], [])]
    expect(on_arm == ["neoni8mm", "neondot", "neon", None], f"products of int8 where an AArch64 machine lists them, got {on_arm}")
    compiled = {isa for target in zig_targets.TARGETS for isa in target.isas.split(";") if isa}
    known = set(re.findall(r"^LOOM_SIMD_TARGET\((\w+), (?:any|x86|arm),", (ROOT / "src/simd/targets.inc").read_text("utf-8"), re.MULTILINE))
    expect(compiled == known, f"the instruction sets of src/simd/targets.inc, {sorted(known)}, in some target, got {sorted(compiled)}")
    expect(zig_targets.BY_NAME["armv7-linux-gnu"].glibc == (2, 17) and zig_targets.BY_NAME["x86_64-linux-musl"].glibc is None, "versions of glibc")
    expect(error_of(zig_targets.runner, zig_targets.BY_NAME["aarch64-macos"]) == "linked only", "macOS to be linked only")


def check_sizes():
    """tools/binary_sizes.py on lines of nm, one of them a name that it cannot demangle."""
    lines = ["0000000000000010 0000000000000100 t void loom::avx2::(anonymous namespace)::softmax_row<double>(double const*)",
             "0000000000000110 0000000000000020 t loom::avx2::dot(float const*)", "0000000000000130 0000000000000003 T loom_release",
             "0000000000000140 0000000000000040 t _ZZZN4loom4sse412_GLOBAL__N_12xE", "                 U malloc",
             "0000000000000180 0000000000000008 t loom::neondot::dot(float const*)"]
    sizes = binary_sizes.count(binary_sizes.read_symbols("\n".join(lines)))
    expect(sizes == {("avx2", "float64"): 256, ("avx2", "float32 and the rest"): 32, ("none", ""): 3, ("sse4", "float32 and the rest"): 64,
                     ("neondot", "float32 and the rest"): 8},
           f"bytes by instruction set and kind, got {sizes}")
    expect(binary_sizes.table(sizes).splitlines()[0] == "| kB | sse4 | avx2 | neondot |", "columns of the instruction sets that a file has")


def check_arguments(folder):
    def said(*arguments):
        return subprocess.run([sys.executable, "-B", ROOT / "tools/build_all", *arguments], capture_output=True, text=True, check=False)

    unknown = said("--target", "sparc-linux")
    expect(unknown.returncode == 2 and "there is no target sparc-linux; targets: x86_64-linux-musl," in unknown.stderr, "an unknown target to be named")
    expect("--jobs 0" in said("--jobs", "0").stderr, "a number of jobs to be checked")
    expect("have no effect" in said("--report", "--twice").stderr, "options without effect to be refused")
    expect(said("--list").stdout.split() == list(zig_targets.BY_NAME), "the list of targets")
    record = pathlib.Path(folder, "targets.json")
    record.write_text(json.dumps([ROW]), "utf-8")
    shown = said("--report", "--json", "--out", folder)
    expect(json.loads(shown.stdout) == [ROW] and not pathlib.Path(folder, "SHA256SUMS").exists(), "a record without a build")
    record.write_text('[{"target": "sparc-linux"}]', "utf-8")
    expect("expected a list of records" in said("--report", "--out", folder).stderr, "a record of no target to be refused")


def check_configured(folder):
    """With programs that only write down their arguments: a target whose instruction sets changed is configured again."""
    scripts = {"cmake": f"touch {folder}/work/build.ninja", "ninja": f"touch {folder}/work/libloom_core.a", "zig": f"cat >>{folder}/said; touch {folder}/work/libloom.a"}
    for name, body in scripts.items():
        path = pathlib.Path(folder, name)
        path.write_text(f'#!/bin/sh\necho {name} "$@" >>{folder}/said\n{body}\n', "utf-8")
        path.chmod(0o755)
    work, variables = pathlib.Path(folder, "work"), {"PATH": f"{folder}:/usr/bin:/bin"}
    for isas in ("neon", "neon;other"):
        target = zig_targets.Target("aarch64-linux-musl", "aarch64-linux-musl", isas, shared=False)
        files = build_all.configure_and_build(target, ROOT, work, f"{folder}/zig", 1, variables)
        expect(files == {"loom": work / "bin/loom", "libloom.a": work / "libloom.a"}, f"the files of a static target, got {files}")
    said = pathlib.Path(folder, "said").read_text("utf-8")
    configured = re.findall(r"^cmake .*-DLOOM_TARGETS=(\S+) -DLOOM_SHARED=OFF", said, re.MULTILINE)
    expect(configured == ["neon", "neon;other"], f"each build to be configured, got {configured}")
    expect(said.count(f"addlib {work}/libloom_core.a\nsave\n") == 2, "an archive of the modules that exist")


def options_of_neondot():
    """The option that the build passes to Zig for the features of the row neondot: cmake/zig.cmake and src/simd/targets.inc."""
    before = re.search(r"set\(LOOM_ARM_FEATURES ([^)]+)\)", (ROOT / "cmake/zig.cmake").read_text("utf-8"))[1]
    return before + "+".join(features_of("neondot"))


def options_of_neoni8mm():
    """The option for the row neoni8mm, a variant of neondot: that one's, and its own features."""
    return "+".join([options_of_neondot(), *features_of("neoni8mm")])


def features_of(name):
    row = re.search(rf"^LOOM_SIMD_\w+\({name}, .*$", (ROOT / "src/simd/targets.inc").read_text("utf-8"), re.MULTILINE)[0]
    return re.findall(r"LOOM_NEEDS\((\w+)\)", row)


def options_of_arm():
    """The processor that cmake/zig.cmake asks Zig for on 32-bit ARM."""
    return [re.search(r'APPEND target_options " (-mcpu=[^"]+)"', (ROOT / "cmake/zig.cmake").read_text("utf-8"))[1]]


def check_zig(folder):
    """The toolchain file, where Zig is installed: a target that it does not know is refused before anything is compiled."""
    found = zig_targets.installed_zig()
    if not found or not shutil.which("cmake"):
        print("Zig is not installed: the toolchain file was not tried")
        return
    done = subprocess.run(["cmake", "-G", "Ninja", "-S", ROOT, "-B", f"{folder}/build", "--toolchain", ROOT / "cmake/zig.cmake", "-DLOOM_ZIG_TARGET=sparc-linux-gnu",
                           f"-DLOOM_ZIG={found}"], capture_output=True, text=True, check=False)
    expect(done.returncode != 0 and 'LOOM_ZIG_TARGET is "sparc-linux-gnu"' in done.stderr, "an unknown target to be refused")
    # Registers q and d of vectors belong to NEON, whose results differ for subnormal numbers: see cmake/zig.cmake.
    source, code = pathlib.Path(folder, "lanes.c"), pathlib.Path(folder, "lanes.s")
    source.write_text("typedef float lanes __attribute__((vector_size(64)));\nvoid f(lanes* a, lanes* b) { *a = *a * *b + *a; }\n", "utf-8")
    wide = (r"\bq\d", "arm-linux-musleabihf", options_of_arm(), False), (r"\bzmm\d", "x86_64-linux-musl", ["-mavx512f", "-mprefer-vector-width=512"], True)
    for registers, target, options, used in wide:
        subprocess.run([found, "cc", "-target", target, *options, "-O3", "-ffp-contract=off", "-S", source, "-o", code], check=True, capture_output=True)
        expect(bool(re.search(registers, code.read_text("utf-8"))) == used, f"{'' if used else 'no '}registers {registers} in code for {target}")
    for call, option, instruction in (("vdotq_s32", options_of_neondot(), "sdot"), ("vmmlaq_s32", options_of_neoni8mm(), "smmla")):
        source.write_text(f"#include <arm_neon.h>\nint32x4_t f(int32x4_t a, int8x16_t b, int8x16_t c) {{ return {call}(a, b, c); }}\n", "utf-8")
        done = subprocess.run([found, "cc", "-target", "aarch64-linux-musl", option, "-O3", "-S", source, "-o", code], capture_output=True, text=True, check=False)
        expect(done.returncode == 0 and instruction in code.read_text("utf-8"), f"{instruction} in code for aarch64, got {done.stderr[-300:]}")


def main():
    check_readers(sys.argv[1])
    check_table()
    check_values()
    check_sizes()
    with tempfile.TemporaryDirectory() as folder:
        check_log(folder)
        check_configured(folder)
        check_arguments(folder)
        check_zig(folder)


if __name__ == "__main__":
    main()
