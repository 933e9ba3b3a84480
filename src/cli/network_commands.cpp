// run, morph, diff, schema: networks of any layers, from a JSON spec or an .entity.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <map>

#include "cli/auto_morph_command.h"
#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/file.h"
#include "core/philox.h"
#include "evolution/run/config.h"
#include "host/compare.h"
#include "host/graph_run.h"
#include "host/tensor_file.h"
#include "io/network_file.h"
#include "io/onnx/graph_file.h"
#include "io/npy/npy.h"
#include "network/network_session.h"
#include "training/train_config.h"

namespace loom::cli {
namespace {

Result<Network> open_network(const std::string& path, bool lenient, const CommonOptions& common) {
  LOOM_TRY(SpecResult loaded, load_network(path, {.strict = !lenient, .max_bytes = common.max_memory}));
  if (!common.quiet)
    for (const std::string& warning : loaded.warnings) warn(warning);
  return std::move(loaded.network);
}

// Values in [0, 1) that are a function of the seed alone: a first look at a network needs no data.
Result<TensorValues> drawn_input(const Network& network, std::size_t batch, std::uint64_t seed,
                                 std::uint64_t max_bytes) {
  if (!network.settings.input_shape)
    return fail(Code::InvalidArgument, "the network names no input_shape: give --input FILE.npy or FILE.json");
  TensorValues input{{}, Network::with_batch(*network.settings.input_shape, batch)};
  constexpr std::size_t kBytes = sizeof(double) + sizeof(float);  // as drawn, and as most networks take it
  if (input.shape.elements() > max_bytes / kBytes)
    return fail(Code::OutOfMemory, "input_shape: a batch {} takes {:.1f} GB, at most {:.1f} GB are allowed",
                input.shape.text(), static_cast<double>(input.shape.elements()) * kBytes / 1e9,
                static_cast<double>(max_bytes) / 1e9);
  const RandomStream stream{seed, RandomDomain::Noise, 0, random_site("input")};
  input.values.reserve(input.shape.elements());
  for (std::size_t i = 0; i < input.shape.elements(); ++i)
    input.values.push_back(static_cast<double>(stream.uniform(i)));
  return input;
}

template <class T>
Json nested(const T* values, const Shape& shape, std::size_t axis, std::size_t& at) {
  Json list = Json::array();
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    if (axis + 1 < shape.rank()) {
      list.push_back(nested(values, shape, axis + 1, at));
      continue;
    }
    const auto v = static_cast<double>(values[at++]);
    list.push_back(std::isnan(v)   ? Json("NaN")
                   : std::isinf(v) ? Json(v > 0 ? "Infinity" : "-Infinity")
                                   : Json(values[at - 1]));
  }
  return list;
}

Json nested(const ConstView& view) {
  std::size_t at = 0;
  return with_element(view.element, [&]<class T>() { return nested(view.as<T>(), view.shape, 0, at); });
}

// Numbers beyond f32 pass through a network by the rules of IEEE, and whoever asked for the output gets it; but such a
// run has not succeeded.
Result<void> check_finite(const std::string& network, const ConstView& y) {
  const std::size_t count = y.shape.elements();
  const std::size_t at = with_element(y.element, [&]<class T>() {
    return static_cast<std::size_t>(std::find_if(y.as<T>(), y.as<T>() + count, [](T v) { return !std::isfinite(v); }) -
                                    y.as<T>());
  });
  if (at == count) return {};
  return fail(Code::NonFinite, "{}: element {} of the output is not finite", network, at);
}

struct NetworkRunOptions {
  CommonOptions common;
  std::string network, output;
  std::vector<std::string> inputs;  // one FILE, or NAME=FILE of a graph
  std::size_t batch = 1;
  std::uint64_t seed = 0;
  bool lenient = false, overwrite = false, cells = false;
};

// CellWatch records the output of every cell, as a hash and three figures, and the time that the cell took. Where two
// runs part ways, the first hash that differs names the cell.
class CellWatch final : public PassWatch {
 public:
  explicit CellWatch(const Network& network) {
    for (std::size_t i = 0; i < network.num_cells(); ++i)
      if (network.cell(i).layer) places_[network.cell(i).layer.get()] = network.place_text(i);
  }
  void begin(PassKind, std::uint64_t) override { last_ = std::chrono::steady_clock::now(); }
  void after_forward(const Layer& layer, const ConstView&, const ConstView& y) override {
    const auto place = places_.find(&layer);
    if (place == places_.end()) return;
    const auto now = std::chrono::steady_clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - last_).count();
    Sha256 hash;
    hash.update(std::span(y.as<std::byte>(), y.shape.elements() * bytes_of(y.element)));
    double least = 0, most = 0, sum = 0;
    for (std::size_t i = 0; i < y.shape.elements(); ++i) {
      const double v = with_element(y.element, [&]<class T>() { return static_cast<double>(y.as<T>()[i]); });
      least = i == 0 ? v : std::min(least, v), most = i == 0 ? v : std::max(most, v), sum += v;
    }
    const double mean = y.shape.elements() == 0 ? 0 : sum / static_cast<double>(y.shape.elements());
    cells.push_back({{"cell", place->second},
                     {"type", layer.kind()},
                     {"shape", y.shape.extents()},
                     {"ms", ms},
                     {"least", least},
                     {"mean", mean},
                     {"largest", most},
                     {"hash", to_hex(hash.finish())}});
    last_ = std::chrono::steady_clock::now();
  }
  void after_backward(const Layer&, const ConstView&, const ConstView&) override {}

  Json cells = Json::array();

 private:
  std::map<const Layer*, std::string> places_;
  std::chrono::steady_clock::time_point last_;
};

void print_cells(const Json& cells) {
  std::fprintf(stderr, "%-16s %-16s %-18s %10s %12s %12s %12s  %s\n", "cell", "type", "output", "ms", "least", "mean",
               "largest", "hash");
  for (const Json& c : cells)
    std::fprintf(stderr, "%-16s %-16s %-18s %10.3f %12.5g %12.5g %12.5g  %.12s\n", c["cell"].get<std::string>().c_str(),
                 c["type"].get<std::string>().c_str(), c["shape"].dump().c_str(), c["ms"].get<double>(),
                 c["least"].get<double>(), c["mean"].get<double>(), c["largest"].get<double>(),
                 c["hash"].get<std::string>().c_str());
}

// A graph may have several inputs and outputs, of any type.
Result<int> run_graph(const NetworkRunOptions& o) {
  if (!o.output.empty())
    LOOM_TRY_VOID(check_output(o.output, o.output.ends_with(".npy") ? OutputKind::npy : OutputKind::tensors,
                               o.overwrite, {o.network}));
  if (o.cells) return fail(Code::InvalidArgument, "--cells is for networks; {} is a graph", o.network);
  GraphRunOptions options;
  options.inputs = o.inputs, options.seed = o.seed, options.max_bytes = o.common.max_memory;
  options.runner.threads = o.common.threads, options.runner.cancel = &interrupt_flag();
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.runner.isa, isa_from_name(o.common.isa));
  }
  watch_interrupts();
  LOOM_TRY(const GraphRunResult result, run_graph_file(o.network, options));
  if (!result.drawn.empty() && !o.common.quiet)
    std::fprintf(stderr, "loom: no --input: values of %s drawn from seed %llu\n",
                 fmt::format("{}", fmt::join(result.drawn, ", ")).c_str(), static_cast<unsigned long long>(o.seed));
  if (o.output.ends_with(".npy")) {
    if (result.outputs.size() != 1)
      return fail(Code::InvalidArgument, "{}: {} outputs do not fit in one array: give FILE.json", o.output,
                  result.outputs.size());
    LOOM_TRY_VOID(write_value_npy(o.output, result.outputs[0].second));
  } else if (!o.output.empty()) {
    Json named = Json::object();
    for (const auto& [name, value] : result.outputs) named[name] = nested_json(value);
    const std::string text = dump_json(named) + "\n";
    LOOM_TRY_VOID(write_file_atomically(o.output, std::as_bytes(std::span(text))));
  }
  if (o.common.json) {
    print_json(to_json(result, o.output.empty()));
    return kOk;
  }
  for (const auto& [name, value] : result.outputs) {
    if (o.output.empty()) std::printf("%s\n", dump_json(nested_json(value)).c_str());
    if (!o.common.quiet)
      std::fprintf(stderr, "%s %s %s\n", terminal_text(name).c_str(), graph::name_of(value.type).c_str(),
                   graph::text_of(value.dims).c_str());
  }
  if (!o.common.quiet) std::fprintf(stderr, "hash %s\n", to_hex(result.digest).c_str());
  return kOk;
}

Result<int> run_network(const NetworkRunOptions& o) {
  if (is_graph_file(o.network)) return run_graph(o);
  if (o.inputs.size() > 1)
    return fail(Code::InvalidArgument, "a network has one --input, {} are given", o.inputs.size());
  const std::string file = o.inputs.empty() ? std::string() : o.inputs[0];
  if (!o.output.empty())
    LOOM_TRY_VOID(check_output(o.output, o.output.ends_with(".npy") ? OutputKind::npy : OutputKind::tensor, o.overwrite,
                               {o.network, file}));
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common));
  LOOM_TRY(const TensorValues input,
           file.empty() ? drawn_input(network, o.batch, o.seed, o.common.max_memory) : read_tensor(file));
  if (file.empty() && !o.common.quiet)
    std::fprintf(stderr, "loom: no --input: values drawn from seed %llu\n", static_cast<unsigned long long>(o.seed));
  if (auto checked = check_input(input.values, input.shape, network.settings.activations); !checked)
    return at(file, std::move(checked).error());
  LOOM_TRY_VOID(network.prepare(input.shape));
  NetworkSessionOptions options;
  options.threads = o.common.threads, options.max_bytes = o.common.max_memory;
  if (!o.common.isa.empty()) {
    LOOM_TRY(options.isa, isa_from_name(o.common.isa));
  }
  LOOM_TRY(const auto session, NetworkSession::create(network, options));
  watch_interrupts();
  std::vector<float> narrow;
  ConstView x{input.values.data(), input.shape, Element::f64};
  if (session->element() == Element::f32) {
    narrow.assign(input.values.begin(), input.values.end());
    x = {narrow.data(), input.shape, Element::f32};
  }
  CellWatch watch(network);
  if (o.cells) session->observe(&watch);
  LOOM_TRY(const ConstView y, session->forward(x, {.cancel = &interrupt_flag()}));
  const auto bytes = std::span(y.as<std::byte>(), y.shape.elements() * bytes_of(y.element));
  Sha256 hash;
  hash.update(bytes);
  const std::string digest = to_hex(hash.finish());
  if (o.output.ends_with(".npy")) {
    LOOM_TRY_VOID(
        write_npy(o.output, y.element == Element::f64 ? DType::float64 : DType::float32, y.shape.extents(), bytes));
  } else if (!o.output.empty()) {
    const std::string text = dump_json(nested(y)) + "\n";
    LOOM_TRY_VOID(write_file_atomically(o.output, std::as_bytes(std::span(text))));
  }
  if (o.common.json) {
    Json out{{"input_shape", input.shape.extents()},
             {"shape", y.shape.extents()},
             {"hash", digest},
             {"resident_bytes", network.resident_bytes()},
             {"scratch_bytes", session->scratch_bytes()},
             {"threads", session->threads()}};
    if (o.output.empty()) out["output"] = nested(y);
    if (o.cells) out["cells"] = watch.cells;
    print_json(out);
  } else {
    if (o.cells) print_cells(watch.cells);
    if (o.output.empty()) std::printf("%s\n", dump_json(nested(y)).c_str());
    if (!o.common.quiet)
      std::fprintf(stderr, "%s -> %s  hash %s\n", input.shape.text().c_str(), y.shape.text().c_str(), digest.c_str());
  }
  LOOM_TRY_VOID(check_finite(o.network, y));
  return kOk;
}

struct MorphOptions {
  CommonOptions common;
  std::string network, output, dtype;
  std::vector<std::string> cells;
  bool keep_master = false, lenient = false, overwrite = false;
  AutoMorphFlags automatic;
};

Result<int> run_auto_morph(const MorphOptions& o) {
  if (!o.cells.empty())
    return fail(Code::InvalidArgument, "--auto chooses a type for every layer: --cell cannot stand beside it");
  if (!o.dtype.empty())
    return fail(Code::InvalidArgument,
                "--auto chooses the types: --dtype cannot stand beside it (--types names those to choose from)");
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common));
  LOOM_TRY(const AutoMorphReport report, choose_types(network, o.automatic, o.common));
  if (!o.keep_master) network.release_masters();
  LOOM_TRY(const Digest root, save_network(o.output, network, {o.keep_master}));
  print_report(report, o.output, to_hex(root), o.common);
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
  if (o.dtype.empty())
    return fail(Code::InvalidArgument, "give --dtype TYPE, or --auto with --data and --max-bytes or --max-loss");
  LOOM_TRY(const DType dtype, dtype_from_name(o.dtype));
  LOOM_TRY(Network network, open_network(o.network, o.lenient, o.common));
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
    print_json(Json{{"output", o.output},
                    {"dtype", name(dtype)},
                    {"resident_bytes", network.resident_bytes()},
                    {"resident_bytes_before", before},
                    {"root_hash", to_hex(root)}});
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
  auto o = std::make_shared<NetworkRunOptions>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint, .entity or .onnx")->required();
  auto* const input = app.add_option("-i,--input", o->inputs,
                                     "Input tensor: FILE.npy or FILE.json (nested lists); NAME=FILE for a graph of "
                                     "several inputs, may be repeated; without it, values drawn from --seed")
                          ->check(not_empty());
  add_path(app, "-o,--output", o->output, "Output tensor: FILE.npy or FILE.json; without it, JSON on stdout");
  add_overwrite(app, o->overwrite);
  app.add_option("--batch", o->batch, "Samples of a drawn input")->check(CLI::Range(1, 65536))->excludes(input);
  app.add_option("--seed", o->seed, "Seed of a drawn input")->check(whole_number())->excludes(input);
  app.add_flag("--cells", o->cells, "Each cell's output too: time, least, mean and largest number, hash");
  app.add_flag("--lenient", o->lenient, "Unknown keys are warnings");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_max_memory(app, o->common);
  add_common(app, o->common, false);
  return [o] {
    return finish(naming({o->network, o->inputs.empty() ? std::string() : o->inputs[0], o->output}, run_network(*o)));
  };
}

Run morph_command(CLI::App& app) {
  auto o = std::make_shared<MorphOptions>();
  add_path(app, "NETWORK", o->network, "JSON spec, JSON checkpoint or .entity")->required();
  add_path(app, "-o,--output,OUTPUT", o->output, "FILE.entity or FILE.json to write")->required();
  app.add_option("--dtype", o->dtype, "One of the 21 types")->check(network_dtype_name());
  app.add_option(
         "--cell", o->cells,
         "Only this layer and those in it: z,y,x,l or a path of inspect, layers.0.sequential_layers.1; may be repeated")
      ->check(not_empty());
  add_overwrite(app, o->overwrite);
  add_auto_morph(app, o->automatic);
  app.add_flag("--keep-master", o->keep_master, "Store the exact masters too");
  app.add_flag("--lenient", o->lenient, "Unknown keys are warnings");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_max_memory(app, o->common);
  add_common(app, o->common, false);
  return [o] { return finish(naming({o->network, o->output, o->automatic.data}, run_morph(*o))); };
}

Run diff_command(CLI::App& app) {
  auto o = std::make_shared<DiffOptions>();
  add_path(app, "A", o->a, "JSON spec, JSON checkpoint or .entity")->required();
  add_path(app, "B", o->b, "The other")->required();
  app.add_flag("--lenient", o->lenient, "Unknown keys are warnings");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_max_memory(app, o->common);
  add_common(app, o->common, false);
  return [o] { return finish(run_diff(*o)); };
}

Run schema_command(CLI::App& app) {
  auto what = std::make_shared<std::string>("network");
  app.add_option("what", *what, "What the schema describes: network, training or evolution")
      ->check(CLI::IsMember({"network", "training", "evolution"}))
      ->capture_default_str();
  return [what] {
    print_json(*what == "training" ? train_schema() : *what == "evolution" ? evolution_schema() : spec_schema());
    return static_cast<int>(kOk);
  };
}

}  // namespace loom::cli
