#!/usr/bin/env python3
"""Follows docs/internals/adding.md in a scratch copy of the sources:  check.py SOURCE SCRATCH

A toy op, layer kind, numeric type, loss, optimiser and command are added, each by the files of tools/additions/tree and
the lines below, no more than its recipe names; the copy is built with the plain instruction set and the program uses
all of them. Fails if a recipe has become longer than it says.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys

source, scratch = map(pathlib.Path, sys.argv[1:3])
tree = source / "tools" / "additions" / "tree"

# (file, a line that stands there, the line to put behind it)
ADDITIONS = {
    "op": (["src/ops/halve"], [
        ("src/ops/kernels.inc", "LOOM_ELEMENT_KERNELS(gemm, GemmKernels)", "LOOM_ELEMENT_KERNELS(halve, HalveKernels)"),
    ]),
    "layer": (["src/layers/halving"], [
        ("src/layers/all.cpp", '#include "layers/groupnorm/groupnorm.h"', '#include "layers/halving/halving.h"'),
        ("src/layers/all.cpp", "    &S6::kKind,", "    &Halving::kKind,"),
    ]),
    "type": ([], [
        ("src/dtypes/dtype.h", "  mxfp4,", "  toy8,"),
        ("src/dtypes/dtype.h", "kNumDTypes = ", None),
        ("src/dtypes/dtype.h", '{T::mxfp4, "mxfp4"',
         '      {T::toy8, "toy8", 32, 34, 8, C::Block, -1, "", 0, {.kind = K::BlockBytes, .factors = F::F16}},'),
        ("src/dtypes/block_formats.cpp", "    {DType::mxfp4, {", "    {DType::toy8, {32, 32, false, 8, 0, -128, 127}},"),
        ("src/dtypes/block_formats.cpp", "    case DType::mxfp4: return",
         "    case DType::toy8: scales[0] = half(block); for (int i = 0; i < 32; ++i) codes[i] = "
         "static_cast<std::int8_t>(u8(block + 2 + i)); return;"),
    ]),
    "loss": ([], [
        ("src/ops/loss/element_losses.inc", "LOOM_ELEMENT_LOSS(Hinge)", "LOOM_ELEMENT_LOSS(Halved)"),
        ("src/ops/loss/element_loss_cpu.cpp", "struct Formulas {",
         "  static LOOM_INLINE Term<Lanes<T>> Halved(const Lanes<T>& o, const Lanes<T>& t, const Lanes<T>&) { const Lanes<T>"
         " e = snap(o - t); return {splat(T{0.5}) * (e * e), e}; }"),
        ("src/learning/losses/elements.cpp", "constinit const LossRow kHingeLoss",
         "extern const LossRow kHalvedLoss;\nconstinit const LossRow kHalvedLoss = {.names = \"halved\", .by_element = true, "
         ".evaluate = elements<ElementLoss::Halved>};"),
        ("src/learning/losses/all.cpp", "// elements.cpp", "extern const LossRow kHalvedLoss;"),
        ("src/learning/losses/all.cpp", "std::array<const LossRow*, 12> all = {", None),
    ]),
    "optimiser": (["src/ops/update/rules/halfway.h"], [
        ("src/ops/update/rules.inc", "LOOM_UPDATE(Lion)", "LOOM_UPDATE(Halfway)"),
        ("src/ops/update/rules/all.h", '#include "ops/update/rules/adam.h"', '#include "ops/update/rules/halfway.h"'),
    ]),
    "command": (["src/cli/toy.cpp"], [
        ("src/cli/commands.h", "Run evolve_command(CLI::App& app);", "Run toy_command(CLI::App& app);"),
        ("src/cli/main.cpp", "constexpr Command kCommands[] = {", '    {"toy", "Add two numbers", loom::cli::toy_command},'),
    ]),
}
# docs/internals/adding.md names at most so many files for each, tests and documents apart.
MOST_FILES = {"op": 5, "layer": 4, "type": 2, "loss": 4, "optimiser": 3, "command": 3}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return done.stdout


def edit(name, anchor, added):
    path = scratch / name
    lines = path.read_text().split("\n")
    at = [i for i, line in enumerate(lines) if anchor in line]
    assert at, f"{name}: {anchor} is not there"
    if added is not None:
        # Rows that go on over several lines end where their brackets close.
        end, depth = at[0], 0
        while True:
            depth += lines[end].count("{") - lines[end].count("}")
            if depth <= 0 or anchor.endswith("{"):
                break
            end += 1
        lines.insert(end + 1, added)
    elif "kNumDTypes" in anchor:
        before, number = lines[at[0]].rsplit("= ", 1)
        lines[at[0]] = f"{before}= {int(number.rstrip(';')) + 1};"
    else:
        lines[at[0]] = lines[at[0]].replace("12> all = {", "13> all = {&kHalvedLoss,")
    path.write_text("\n".join(lines))


def main():
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in ("src", "cmake", "tools", "docs", "examples"):
        shutil.copytree(source / folder, scratch / folder, dirs_exist_ok=True)
    for name in ("CMakeLists.txt", "CMakePresets.json"):
        shutil.copy2(source / name, scratch / name)
    for what, (new, edits) in ADDITIONS.items():
        files = {name for name, _, _ in edits}
        for path in new:
            if (tree / path).is_dir():
                shutil.copytree(tree / path, scratch / path)
                files |= {str(p) for p in (tree / path).iterdir()}
            else:
                shutil.copy2(tree / path, scratch / path)
                files.add(path)
        for name, anchor, added in edits:
            edit(name, anchor, added)
        print(f"{what}: {len(files)} files")
        assert len(files) <= MOST_FILES[what], f"{what}: {sorted(files)}, docs/internals/adding.md speaks of {MOST_FILES[what]}"

    build = scratch / "build"
    run("cmake", "-S", scratch, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DLOOM_TARGETS=scalar", "-DLOOM_TESTS=OFF")
    run("cmake", "--build", build, "--target", "loom", "-j", str(os.cpu_count()))
    loom = build / "bin" / "loom"
    assert run(loom, "toy", "2", "3").strip() == "5"
    network = scratch / "net.json"
    network.write_text(json.dumps({"input_shape": [1, 4], "layers": [
        {"type": "halving"}, {"type": "dense", "input_height": 4, "output_height": 2, "bias": True}]}))
    one, four = scratch / "one.json", scratch / "four.json"
    one.write_text("[[2, 4, 6, 8]]")
    cells = json.loads(run(loom, "run", network, "-i", one, "--json", "--cells"))["cells"]
    assert cells[0]["type"] == "halving" and cells[0]["largest"] == 4 and cells[0]["least"] == 1, cells
    assert "halving" in run(loom, "schema")
    # A type that is known is no wrong use; the model is missing.
    for dtype, status in (("toy8", 3), ("toy9", 2)):
        used = subprocess.run([loom, "generate", scratch / "none.gguf", "-p", "x", "--dtype", dtype], capture_output=True)
        assert used.returncode == status, f"--dtype {dtype}: exit code {used.returncode}, {status} expected"
    (scratch / "x.csv").write_text("\n".join(f"{i % 7},{i % 5},{i % 3},{i % 2},{i % 7 + i % 5}" for i in range(200)))
    config = scratch / "train.json"
    config.write_text(json.dumps({
        "network": {"input_shape": [1, 4], "layers": [{"type": "halving"},
                    {"type": "dense", "input_height": 4, "output_height": 1, "bias": True}]},
        "data": {"format": "csv", "path": str(scratch / "x.csv"), "header": False, "target_kind": "values",
                 "normalise": {"method": "mean_std", "by": "element"}},
        "loss": "halved", "optimizer": {"name": "halfway", "learning_rate": 0.05}, "epochs": 8, "batch_size": 10}))
    trained = json.loads(run(loom, "train", config, "-o", scratch / "run", "--json"))
    assert trained["final_loss"] < 0.1 * trained["loss_history"][0], trained
    print("built, and used")


main()
