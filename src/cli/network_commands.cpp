// run, morph, diff, schema: networks of any layers, from a JSON spec or an .entity.

#include <algorithm>
#include <cstdio>

#include "cli/auto_morph_command.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/receipt_option.h"
#include "cli/run_graph.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/files_read.h"
#include "evolution/run/config.h"
#include "host/compare.h"
#include "host/load_any.h"
#include "host/morph.h"
#include "host/run_network.h"
#include "io/network_file.h"
#include "io/onnx/graph_file.h"
#include "io/npy/npy.h"
#include "training/train_config.h"

namespace loom::cli {
namespace {

Result<Network> open_network(const std::string& path, bool lenient, const CommonOptions& common,
                             const std::string& hints = {}) {
  LOOM_TRY(OpenedNetwork opened, open_any_network(path, {hints}, {.strict = !lenient, .max_bytes = common.max_memory}));
  if (!common.quiet)
    for (const std::string& warning : opened.loaded.warnings) warn(warning);
  return std::move(opened.loaded.network);
}

void add_hints(CLI::App& app, std::string& hints) {
  add_path(app, "--hints", hints, "JSON that describes bare tensors (.safetensors, .npz) where their shapes do not");
}

void print_cells(const std::vector<CellFigures>& cells) {
  std::fprintf(stderr, "%-16s %-16s %-18s %10s %12s %12s %12s  %s\n", "cell", "type", "output", "ms", "least", "mean",
               "largest", "hash");
  for (const CellFigures& c : cells)
    std::fprintf(stderr, "%-16s %-16s %-18s %10.3f %12.5g %12.5g %12.5g  %.12s\n", c.place.c_str(), c.kind.c_str(),
                 Json(c.shape.extents()).dump().c_str(), c.ms, c.least, c.mean, c.largest, to_hex(c.hash).c_str());
}

Result<TensorValues> input_of(const RunFlags& o, const Network& network) {
  if (!o.inputs.empty()) return read_tensor(o.inputs[0]);
  auto drawn = drawn_input(network, o.batch, o.seed, o.common.max_memory);
  if (!drawn && drawn.error().code == Code::InvalidArgument)
    drawn.error().message += ": give --input FILE.npy or FILE.json";
  return drawn;
}

Result<void> write_output(const std::string& path, const NetworkOutput& y) {
  if (path.ends_with(".npy"))
    return write_npy(path, y.element == Element::f64 ? DType::float64 : DType::float32, y.shape.extents(), y.bytes);
  const std::string text = dump_json(nested_json(y.view())) + "\n";
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

Result<Receipt> receipt_of_run(const RunFlags& o, const NetworkOutput& y, const FilesRead& read) {
  Receipt::NetworkInput input{.seed = o.seed, .batch = o.batch, .hints = {{}, o.hints, {}}, .lenient = o.lenient};
  for (const std::string& file : o.inputs) input.files.push_back({{}, file, {}});
  return receipt_of(o.network, std::move(input), y, read.paths());
}

Result<int> run_network_command(const RunFlags& o) {
  LOOM_TRY_VOID(check_receipt(o.receipt, o.common));
  LOOM_TRY(const Identified identified, identify_any(o.network));
  if (identified.is_graph()) return run_graph(o);
  if (o.inputs.size() > 1)
    return fail(Code::InvalidArgument, "a network has one --input, {} are given", o.inputs.size());
  const std::string file = o.inputs.empty() ? std::string() : o.inputs[0];
  if (!o.output.empty())
    LOOM_TRY_VOID(check_output(o.output, o.output.ends_with(".npy") ? OutputKind::npy : OutputKind::tensor, o.overwrite,
                               {o.network, file}));
  const FilesRead read;
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common, o.hints));
  LOOM_TRY(const TensorValues input, input_of(o, network));
  if (file.empty() && !o.common.quiet)
    std::fprintf(stderr, "loom: no --input: values drawn from seed %llu\n", static_cast<unsigned long long>(o.seed));
  NetworkRunOptions options;
  options.threads = o.common.threads, options.max_bytes = o.common.max_memory, options.cells = o.cells;
  options.input_name = file, options.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.isa, isa_from_name(o.common.isa));
  }
  NetworkSessionOptions session;
  LOOM_TRY_VOID(name_device(o.common, session, 1));
  options.device = session.device, options.choose_device = session.choose_device;
  watch_interrupts();
  LOOM_TRY(const NetworkOutput y, run_network(network, input, options));
  if (!o.output.empty()) LOOM_TRY_VOID(write_output(o.output, y));
  LOOM_TRY(const Json receipt, give_receipt(o.receipt, o.common, [&] { return receipt_of_run(o, y, read); }));
  if (o.common.json) {
    Json out = to_json(y, o.output.empty(), o.cells);
    out["receipt"] = receipt;
    print_json(out);
  } else {
    if (o.cells) print_cells(y.cells);
    if (o.output.empty()) std::printf("%s\n", dump_json(nested_json(y.view())).c_str());
    if (!o.common.quiet)
      std::fprintf(stderr, "%s -> %s  hash %s%s\n", y.input_shape.text().c_str(), y.shape.text().c_str(),
                   to_hex(y.hash).c_str(), hash_note(y.precision).c_str());
  }
  // Whoever asked for the output gets it; but a run with such numbers has not succeeded.
  if (y.non_finite)
    return fail(Code::NonFinite, "{}: element {} of the output is not finite", o.network, *y.non_finite);
  return kOk;
}

struct MorphOptions {
  CommonOptions common;
  std::string network, output, dtype, hints;
  std::vector<std::string> cells;
  bool keep_master = false, lenient = false, overwrite = false;
  AutoMorphFlags automatic;
};

Result<int> run_auto_morph(const MorphOptions& o) {
  if (!o.cells.empty()) return fail(Code::InvalidArgument, "--auto chooses a type for every layer: leave out --cell");
  if (!o.dtype.empty())
    return fail(Code::InvalidArgument,
                "--auto chooses the types: leave out --dtype (--types names those to choose from)");
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common, o.hints));
  LOOM_TRY(const AutoMorphReport report, choose_types(network, o.automatic, o.common));
  if (!o.keep_master) network.release_masters();
  LOOM_TRY(const Digest root, save_network(o.output, network, {o.keep_master}));
  print_report(report, o.output, root, o.common);
  return kOk;
}

// "z,y,x,l", or a path as inspect prints it.
Result<std::string> path_of(const Network& network, const std::string& text) {
  if (text.find_first_not_of("0123456789,") != text.npos) return text;
  std::array<std::size_t, 4> a{};
  std::size_t axis = 0, digits = 0;
  for (const char c : text) {
    axis += c == ',', digits += c != ',';
    if (axis >= a.size() || digits > 32) break;
    if (c != ',') a[axis] = std::min<std::size_t>(a[axis] * 10 + static_cast<std::size_t>(c - '0'), 1 << 20);
  }
  if (axis != 3)
    return fail(Code::InvalidArgument, "--cell \"{}\": an address z,y,x,l or a layer's path expected",
                text.substr(0, 40));
  LOOM_TRY(const std::size_t index, network.index_of({a[0], a[1], a[2], a[3]}));
  return Network::path(index);
}

Result<int> run_morph(const MorphOptions& o) {
  LOOM_TRY_VOID(check_output(o.output, OutputKind::network, o.overwrite, {o.network, o.automatic.data}));
  if (o.automatic.automatic) return run_auto_morph(o);
  if (o.automatic.given())
    return fail(Code::InvalidArgument, "--max-bytes, --max-loss, --data and --types belong to --auto");
  if (o.common.device != "cpu" || o.common.precision != "strict")
    return fail(Code::InvalidArgument, "--device belongs to --auto: nothing is computed without it");
  if (o.dtype.empty())
    return fail(Code::InvalidArgument, "give --dtype TYPE, or --auto with --data and --max-bytes or --max-loss");
  LOOM_TRY(const DType dtype, dtype_from_name(o.dtype));
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common, o.hints));
  const std::size_t before = network.resident_bytes();
  for (const std::string& cell : o.cells) {
    LOOM_TRY(const std::string path, path_of(network, cell));
    LOOM_TRY_VOID(network.morph(path, dtype));
  }
  if (o.cells.empty()) {
    LOOM_TRY_VOID(network.morph_all(dtype));
  }
  if (!o.keep_master) network.release_masters();
  LOOM_TRY(const Digest root, save_network(o.output, network, {o.keep_master}));
  if (o.common.json) {
    print_json(to_json(MorphResult{o.output, dtype, network.resident_bytes(), before, root}));
  } else if (!o.common.quiet) {
    std::printf("%s: %s, %zu bytes in memory (%zu before), root hash %s\n", o.output.c_str(),
                std::string(name(dtype)).c_str(), network.resident_bytes(), before, to_hex(root).c_str());
  }
  return kOk;
}

struct DiffOptions {
  CommonOptions common;
  std::string a, b;
  bool lenient = false;
};

std::string line_of(const WeightDifference& d) {
  if (!d.note.empty()) return fmt::format("{:<56} {}", d.path, d.note);
  if (d.equal) return fmt::format("{:<56} {:<9} equal", d.path, d.dtype_a);
  return fmt::format("{:<56} {:<9} {:<9} largest difference {:.6g}, cosine {:.9f}", d.path, d.dtype_a, d.dtype_b,
                     d.largest, d.cosine);
}

// One line per weight of either network; status 1 when they differ, as diff(1).
Result<int> run_diff(const DiffOptions& o) {
  LOOM_TRY(const Network a, open_network(o.a, o.lenient, o.common));
  LOOM_TRY(const Network b, open_network(o.b, o.lenient, o.common));
  const NetworkComparison comparison = compare_networks(a, b);
  if (o.common.json) {
    print_json(to_json(comparison));
  } else {
    for (const WeightDifference& d : comparison.weights) std::printf("%s\n", terminal_text(line_of(d)).c_str());
    std::printf("%s\n", comparison.equal ? "the networks are equal" : "the networks differ");
  }
  return comparison.equal ? kOk : kFailed;
}

}  // namespace

Run run_command(CLI::App& app) {
  auto o = std::make_shared<RunFlags>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint, .entity, .safetensors, .npz or .onnx")->required();
  auto* const input = app.add_option("-i,--input", o->inputs,
                                     "Input tensor: FILE.npy or FILE.json (nested lists); NAME=FILE for a graph of "
                                     "several inputs, may be repeated; without it, values drawn from --seed")
                          ->check(not_empty());
  add_path(app, "-o,--output", o->output, "Output tensor: FILE.npy or FILE.json; without it, JSON on stdout");
  add_overwrite(app, o->overwrite);
  add_hints(app, o->hints);
  app.add_option("--batch", o->batch, "Samples of a drawn input")->check(CLI::Range(1, 65536))->excludes(input);
  app.add_option("--seed", o->seed, "Seed of a drawn input")->check(whole_number())->excludes(input);
  add_receipt(app, o->receipt);
  app.add_flag("--cells", o->cells, "Each cell's output too: time, least, mean and largest number, hash");
  add_network_flags(app, o->common, o->lenient);
  add_device(app, o->common);
  return [o] {
    return finish(naming({o->network, o->inputs.empty() ? std::string() : o->inputs[0], o->output, o->hints},
                         run_network_command(*o)));
  };
}

Run morph_command(CLI::App& app) {
  auto o = std::make_shared<MorphOptions>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint, .entity, .safetensors or .npz")->required();
  add_path(app, "-o,--output,OUTPUT", o->output, "FILE.entity or FILE.json to write")->required();
  app.add_option("--dtype", o->dtype, "One of the 21 types")->check(network_dtype_name());
  app.add_option(
         "--cell", o->cells,
         "Only this layer and those in it: z,y,x,l or a path of inspect, layers.0.sequential_layers.1; may be repeated")
      ->check(not_empty());
  add_overwrite(app, o->overwrite);
  add_hints(app, o->hints);
  add_auto_morph(app, o->automatic);
  add_device(app, o->common);
  app.add_flag("--keep-master", o->keep_master, "Store the exact masters too");
  add_network_flags(app, o->common, o->lenient);
  return [o] { return finish(naming({o->network, o->output, o->automatic.data, o->hints}, run_morph(*o))); };
}

Run diff_command(CLI::App& app) {
  auto o = std::make_shared<DiffOptions>();
  add_path(app, "A", o->a, "JSON spec, JSON checkpoint or .entity")->required();
  add_path(app, "B", o->b, "The other")->required();
  app.add_flag("--lenient", o->lenient, "Unknown keys are warnings");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_max_memory(app, o->common);
  add_quiet(app, o->common);
  return [o] { return finish(run_diff(*o)); };
}

Run schema_command(CLI::App& app) {
  auto what = std::make_shared<std::string>("network");
  app.add_option("what", *what, "The config that the schema describes: network, training or evolution")
      ->check(CLI::IsMember({"network", "training", "evolution"}))
      ->capture_default_str();
  return [what] {
    print_json(*what == "training" ? train_schema() : *what == "evolution" ? evolution_schema() : spec_schema());
    return static_cast<int>(kOk);
  };
}

}  // namespace loom::cli
