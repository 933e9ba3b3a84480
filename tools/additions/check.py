#!/usr/bin/env python3
"""Follows docs/internals/adding.md in a scratch copy of the sources:  check.py SOURCE SCRATCH

A toy of each row of the page's first table is added, by the files of tools/additions/tree and the lines below, no more
files than the row says; the copy is built with the plain instruction set and the program uses them. Fails if a recipe
has become longer than it says.

  check.py SOURCE SCRATCH --files    lays the files out and counts them, without building
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

source, scratch = map(pathlib.Path, sys.argv[1:3])
tree = source / "tools" / "additions" / "tree"

# (file, a line of it, the line to put after that one, or a pair: a part of the line and its replacement)
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
        ("src/dtypes/dtype.h", "kNumDTypes = ", (r"\d+(?=;)", lambda m: str(int(m[0]) + 1))),
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
         "extern const LossRow kHalvedLoss;\nconstinit const LossRow kHalvedLoss = {.kind = LossKind::Halved, .by_element = true, "
         ".evaluate = elements<ElementLoss::Halved>};"),
        ("src/learning/losses/all.cpp", "// elements.cpp", "extern const LossRow kHalvedLoss;"),
        ("src/learning/losses/all.cpp", "std::array<const LossRow*, 12> all = {", ("12>", "13>")),
        ("src/learning/losses/all.cpp", "&kContrastiveLoss};", (r"\};", ", &kHalvedLoss};")),
        ("src/learning/loss.h", "  Contrastive", ("Contrastive", "Contrastive, Halved")),
        ("src/learning/loss.h", "std::string_view, 12> kLossNames", ("12>", "13>")),
        ("src/learning/loss.h", '"contrastive|info_nce"', ('info_nce"', 'info_nce", "halved"')),
    ]),
    "optimiser": (["src/ops/update/rules/halfway.h"], [
        ("src/ops/update/rules.inc", "LOOM_UPDATE(Lion)", "LOOM_UPDATE(Halfway)"),
        ("src/ops/update/rules/all.h", '#include "ops/update/rules/adam.h"', '#include "ops/update/rules/halfway.h"'),
    ]),
    "command": (["src/cli/toy.cpp"], [
        ("src/cli/commands.h", "Run evolve_command(CLI::App& app);", "Run toy_command(CLI::App& app);"),
        ("src/cli/main.cpp", "constexpr Command kCommands[] = {", '    {"toy", "Add two numbers", loom::cli::toy_command},'),
    ]),
    "function": ([], [
        ("api/loom.json", '{"name": "version", "returns": "text"',
         '      {"name": "add_numbers", "help": "Adds two numbers.", "params": [["a", "i32"], ["b", "i32"], ["sum", "out i64"]]},'),
        ("src/capi/library.cpp", "const char* loom_version(void)",
         "loom_status loom_add_numbers(int32_t a, int32_t b, int64_t* sum) {\n"
         "  return guard([&]() -> Result<void> {\n    LOOM_TRY_VOID(need_results(sum));\n    *sum = std::int64_t{a} + b;\n    return {};\n  });\n}"),
    ]),
    "file format": (["src/io/tagged"], [
        ("src/io/network_file.cpp", '#include "io/safetensors/safetensors.h"', '#include "io/tagged/tagged.h"'),
        ("src/io/identify.h", "  Npy,", "  Tagged,"),
        ("src/io/identify.cpp", '"an .npy array",', '      "a tagged network",'),
        ("src/io/identify.cpp", '#include "io/safetensors/safetensors.h"', '#include "io/tagged/tagged.h"'),
        ("src/io/identify.cpp", 'if (looks_like_gguf(bytes))', "  if (is_tagged(bytes)) return FileKind::Tagged;"),
        ("src/io/identify.cpp", "constexpr std::array kNetworks{", (r"kNetworks\{", "kNetworks{FileKind::Tagged, ")),
        ("src/io/network_file.cpp", "auto result = is_entity(bytes)",
         (r"auto result =", "auto result = is_tagged(bytes) ? network_from_tagged(bytes, options) :")),
    ]),
    "data format": (["src/data/pairs"], [
        ("src/training/data_config.cpp", '#include "data/numpy/numpy_dataset.h"', '#include "data/pairs/pairs.h"'),
        ("src/training/data_config.cpp", "enum class Format : std::uint8_t {", ("Series,", "Series, Pairs,")),
        ("src/training/data_config.cpp", '"images", "text", "series"', ('"series"', '"series", "pairs"')),
        ("src/training/data_config.cpp", "bool has_path() const {", (r"Format::Series\)", "Format::Series, Format::Pairs)")),
        ("src/training/data_config.cpp", "case Format::Series: return", "    case Format::Pairs: return open_pairs(file(c.path));"),
    ]),
    "task": (["src/evolution/tasks/halves.cpp"], [
        ("src/evolution/tasks/task.h", "std::unique_ptr<Task> xor_task();", "Result<std::unique_ptr<Task>> halves_task();"),
        ("src/evolution/tasks/task.h", "enum class TaskKind", (r"Idx }", "Idx, Halves }")),
        ("src/evolution/tasks/task.h", "std::string_view, 5> kTaskNames", (r'5> kTaskNames = \{(.*)\}', r'6> kTaskNames = {\1, "halves"}')),
        ("src/evolution/run/config.cpp", "case TaskKind::Xor: return xor_task();", "    case TaskKind::Halves: return halves_task();"),
    ]),
}
# The rows of the first table of docs/internals/adding.md, which says how many files each takes to run.
ROWS = {"op": "an op", "layer": "a layer kind", "type": "a block format", "loss": "a loss", "optimiser": "an optimiser", "command": "a command",
        "function": "a function of `loom.h`", "file format": "a file format", "data format": "a data format", "task": "an evolution task"}
FOLDERS = ("src", "cmake", "tools", "docs", "examples", "api", "include", "bindings", "python", "tests/support")


def most_files():
    """{addition: files that its recipe takes at most} by the page."""
    page = (source / "docs/internals/adding.md").read_text()
    return {what: int(re.search(rf"^\| {re.escape(row)} \| (\d+) \|", page, re.MULTILINE)[1]) for what, row in ROWS.items()}


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-6000:]}")
    return done.stdout


def edit(name, anchor, added):
    path = scratch / name
    lines = path.read_text().split("\n")
    at = [i for i, line in enumerate(lines) if anchor in line]
    assert at, f"{name}: expected a line with {anchor}"
    if isinstance(added, tuple):
        changed = re.sub(*added, lines[at[0]])
        assert changed != lines[at[0]], f"{name}: {added[0]} is not in {lines[at[0]]}"
        lines[at[0]] = changed
    else:
        # Rows that go on over several lines end where their brackets close.
        end, depth = at[0], 0
        while True:
            depth += lines[end].count("{") - lines[end].count("}")
            if depth <= 0 or anchor.endswith("{"):
                break
            end += 1
        lines.insert(end + 1, added)
    path.write_text("\n".join(lines))


def lay_out():
    """Copies the sources and adds everything; fails where a recipe takes more files than its row says."""
    most = most_files()
    shutil.rmtree(scratch, ignore_errors=True)
    for folder in FOLDERS:
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
        assert len(files) <= most[what], f"{what}: {sorted(files)}, docs/internals/adding.md speaks of {most[what]}"
    run(sys.executable, scratch / "tools/gen_bindings.py")
    for made in ("include/loom/loom.h", "src/capi/exports.map", "python/welvet/_abi.py", "docs/reference/c-abi.md"):
        assert "loom_add_numbers" in (scratch / made).read_text(), made


def main():
    lay_out()
    if "--files" in sys.argv:
        return
    build = scratch / "build"
    run("cmake", "-S", scratch, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1",
        "-DLOOM_TARGETS=scalar", "-DLOOM_TESTS=OFF")
    run("cmake", "--build", build, "--target", "loom", "loom_capi", "-j", str(os.cpu_count()))
    loom = build / "bin" / "loom"
    assert run(loom, "toy", "2", "3").strip() == "5"
    network = scratch / "net.json"
    network.write_text(json.dumps({"input_shape": [1, 4], "layers": [
        {"type": "halving"}, {"type": "dense", "input_height": 4, "output_height": 2, "bias": True}]}))
    one = scratch / "one.json"
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
    (scratch / "net.tagged").write_text("TAGGED\n" + network.read_text())
    hashes = {json.loads(run(loom, "run", file, "-i", one, "--json"))["hash"] for file in (network, scratch / "net.tagged")}
    assert len(hashes) == 1, hashes
    (scratch / "pairs.txt").write_text("\n".join(f"{i / 8} {i / 4}" for i in range(8)))
    config.write_text(json.dumps({
        "network": {"input_shape": [1, 1], "layers": [{"type": "dense", "input_height": 1, "output_height": 1}]},
        "data": {"format": "pairs", "path": str(scratch / "pairs.txt")}, "loss": "mse", "epochs": 2, "batch_size": 4}))
    assert json.loads(run(loom, "train", config, "-o", scratch / "pairs", "--json"))["loss_history"][0] > 0
    evolution = scratch / "evolve.json"
    evolution.write_text(json.dumps({
        "task": "halves", "population": 20, "generations": 200, "seed": 1, "mutation": {"weight_perturb_rate": 1, "weight_perturb_scale": 0.3},
        "network": {"input_shape": [1, 1], "layers": [{"type": "dense", "input_height": 1, "output_height": 1}]}}))
    assert json.loads(run(loom, "evolve", evolution, "-o", scratch / "evolved", "--json"))["solved"]
    print("built, and used")


main()
