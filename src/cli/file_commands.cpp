// inspect, quantize.

#include <cstdio>
#include <map>

#include "cli/commands.h"
#include "cli/network_report.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "dtypes/block_formats.h"
#include "io/entity/entity.h"
#include "io/gguf/gguf_writer.h"
#include "io/network_file.h"
#include "lm/model_entity.h"
#include "training/checkpoint.h"

namespace loom::cli {
namespace {

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text;
  for (const std::size_t d : shape) text += (text.empty() ? "" : " x ") + fmt::format("{}", d);
  return text;
}

struct InspectOptions {
  CommonOptions common;
  std::string model;
  bool tensors = false;
};

Result<int> run_inspect(const InspectOptions& o) {
  LOOM_TRY(const DecoderSource source, read_source(o.model));
  const ModelConfig& c = source.config;
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_type;  // count, bytes
  std::size_t parameters = 0, bytes = 0;
  for (const SourceTensor& t : source.tensors) {
    std::size_t elements = 1;
    for (const std::size_t d : t.shape) elements *= d;
    parameters += elements;
    bytes += t.bytes.size();
    auto& entry = by_type[std::string(name(t.dtype))];
    ++entry.first, entry.second += t.bytes.size();
  }
  if (o.common.json) {
    Json types = Json::object(), tensors = Json::array();
    for (const auto& [type, entry] : by_type) types[type] = Json{{"tensors", entry.first}, {"bytes", entry.second}};
    if (o.tensors)
      for (const SourceTensor& t : source.tensors)
        tensors.push_back(
            Json{{"name", t.name}, {"dtype", name(t.dtype)}, {"shape", t.shape}, {"bytes", t.bytes.size()}});
    Json out{{"path", o.model},
             {"architecture", c.architecture},
             {"layers", c.num_hidden_layers},
             {"hidden_size", c.hidden_size},
             {"intermediate_size", c.intermediate_size},
             {"heads", c.num_attention_heads},
             {"kv_heads", c.num_key_value_heads},
             {"head_dim", c.head_dim},
             {"vocab_size", c.vocab_size},
             {"context", c.max_position_embeddings},
             {"rope_theta", c.rope_theta},
             {"sliding_window", c.sliding_window},
             {"tied_head", c.tie_word_embeddings},
             {"parameters", parameters},
             {"weight_bytes", bytes},
             {"types", std::move(types)}};
    if (o.tensors) out["tensors"] = std::move(tensors);
    print_json(out);
    return kOk;
  }
  std::printf("%s: %s, %.1f M parameters, %.1f MB of weights\n", terminal_text(o.model).c_str(),
              terminal_text(c.architecture).c_str(), static_cast<double>(parameters) / 1e6,
              static_cast<double>(bytes) / 1e6);
  std::printf(
      "%ld layers, width %ld, feed-forward %ld, %ld heads (%ld key-value) of %ld, vocabulary %ld, context %ld\n",
      static_cast<long>(c.num_hidden_layers), static_cast<long>(c.hidden_size), static_cast<long>(c.intermediate_size),
      static_cast<long>(c.num_attention_heads), static_cast<long>(c.num_key_value_heads), static_cast<long>(c.head_dim),
      static_cast<long>(c.vocab_size), static_cast<long>(c.max_position_embeddings));
  for (const auto& [type, entry] : by_type)
    std::printf("  %-10s %4zu tensors %10.2f MB\n", type.c_str(), entry.first, static_cast<double>(entry.second) / 1e6);
  if (o.tensors)
    for (const SourceTensor& t : source.tensors)
      std::printf("  %-48s %-9s %s\n", terminal_text(t.name).c_str(), std::string(name(t.dtype)).c_str(),
                  shape_text(t.shape).c_str());
  return kOk;
}

// A network of any layers: bytes per layer and type, as they lie in memory.
Result<int> inspect_network(const InspectOptions& o) {
  LOOM_TRY(SpecResult loaded, load_network(o.model, {.strict = false, .initialise = false}));
  Network& network = loaded.network;
  for (const std::string& warning : loaded.warnings) warn(warning);
  network.release_masters();
  const std::vector<LayerRow> rows = layer_rows(network);
  std::map<std::string, std::pair<std::size_t, std::size_t>> by_type;  // weights, bytes
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    auto& entry = by_type[w.role() == WeightRole::Vector ? "vectors" : std::string(name(w.dtype()))];
    entry.first += w.elements(), entry.second += w.resident_bytes();
  });
  const GridSize& size = network.size();
  if (o.common.json) {
    Json layers = Json::array(), types = Json::object();
    for (const LayerRow& r : rows)
      layers.push_back(Json{{"path", r.path},
                            {"type", r.kind},
                            {"dtype", r.dtype},
                            {"weights", r.weights},
                            {"resident_bytes", r.resident_bytes},
                            {"is_disabled", r.disabled}});
    for (const auto& [type, entry] : by_type)
      types[type] = Json{{"weights", entry.first}, {"resident_bytes", entry.second}};
    print_json(Json{{"path", o.model},
                    {"id", network.settings.id},
                    {"grid", {size.depth, size.rows, size.cols, size.layers_per_cell}},
                    {"resident_bytes", network.resident_bytes()},
                    {"types", std::move(types)},
                    {"layers", std::move(layers)}});
    return kOk;
  }
  std::printf("%s: \"%s\", grid %zu x %zu x %zu, %zu layers per cell, %zu bytes of weights in memory\n",
              terminal_text(o.model).c_str(), terminal_text(network.settings.id).c_str(), size.depth, size.rows,
              size.cols, size.layers_per_cell, network.resident_bytes());
  for (const LayerRow& r : rows)
    std::printf("  %-52s %-16s %-9s %10zu weights %12zu bytes%s\n", terminal_text(r.path).c_str(), r.kind.c_str(),
                r.dtype.c_str(), r.weights, r.resident_bytes, r.disabled ? "  disabled" : "");
  for (const auto& [type, entry] : by_type)
    std::printf("%-10s %12zu weights %12zu bytes, %.2f bits each\n", type.c_str(), entry.first, entry.second,
                entry.first == 0 ? 0.0 : static_cast<double>(entry.second) * 8 / static_cast<double>(entry.first));
  return kOk;
}

// A checkpoint that holds no network of its own: the masters of what learns, and the optimiser's slots.
bool is_adapter_checkpoint(const std::string& path) {
  const auto reader = EntityReader::open(path);
  return reader && reader->find("train") != nullptr && reader->find("network") == nullptr;
}

Result<int> inspect_checkpoint(const InspectOptions& o) {
  LOOM_TRY(const Checkpoint checkpoint, read_checkpoint(o.model));
  const auto part = [&](const char* object, const char* key) {
    const Json* found = find(checkpoint.train, object);
    found = found == nullptr ? nullptr : find(*found, key);
    return found == nullptr ? Json() : *found;
  };
  Json slots = Json::array();
  std::uint64_t values = 0;
  if (const Json* said = find(checkpoint.train, "slots"); said != nullptr && said->is_array())
    for (const Json& slot : *said) {
      const Json *name = find(slot, "name"), *elements = find(slot, "elements");
      if (name == nullptr || elements == nullptr || as_string(*name) == nullptr || as_int(*elements).value_or(-1) < 0)
        continue;
      slots.push_back(Json{{"name", *name}, {"elements", *elements}});
      values += static_cast<std::uint64_t>(*as_int(*elements));
    }
  const Json out{{"path", o.model},
                 {"step", part("state", "steps")},
                 {"epoch", part("position", "epoch")},
                 {"config", part("identity", "config")},
                 {"text", part("identity", "text")},
                 {"base", part("identity", "base")},
                 {"values", values},
                 {"bytes", checkpoint.optimizer.size()},
                 {"slots", std::move(slots)}};
  if (o.common.json) {
    print_json(out);
    return kOk;
  }
  std::printf("%s: checkpoint of a fine-tuning at step %s, %llu values of adapters and optimiser, %zu bytes\n",
              o.model.c_str(), dump_json(out["step"]).c_str(), static_cast<unsigned long long>(values),
              checkpoint.optimizer.size());
  for (const char* key : {"config", "text", "base"}) std::printf("  %-8s %s\n", key, dump_json(out[key]).c_str());
  if (o.tensors)
    for (const Json& slot : out["slots"])
      std::printf("  %-64s %10s values\n", dump_json(slot["name"]).c_str(), dump_json(slot["elements"]).c_str());
  return kOk;
}

struct QuantizeOptions {
  CommonOptions common;
  std::string model, output, dtype;
  bool overwrite = false;
};

Result<std::vector<std::byte>> requantized(const GgufTensor& t, DType dtype) {
  LOOM_TRY(const Matrix m, Matrix::from_source(t.dtype, t.bytes, t.dims[0], t.dims[1], {}, nullptr, interrupted));
  LOOM_TRY(const std::size_t stride, row_bytes(dtype, m.cols()));
  std::vector<std::byte> out(stride * m.rows());
  std::vector<float> row(m.cols());
  const Stop stop = interrupted;
  StopCheck check(stop);
  for (std::size_t r = 0; r < m.rows() && !check.before(m.cols()); ++r) {
    m.decode_row(r, row.data());
    LOOM_TRY_VOID(encode_row(dtype, row, out.data() + r * stride));
  }
  LOOM_TRY_VOID(check.end());
  return out;
}

Result<int> run_quantize(const QuantizeOptions& o) {
  LOOM_TRY(const DType dtype, dtype_from_name(o.dtype));
  LOOM_TRY_VOID(check_output(o.output, OutputKind::gguf, o.overwrite, {o.model}));
  auto opened = GgufFile::open(o.model);
  if (!opened) return tl::make_unexpected(std::move(opened).error());
  const GgufFile& file = *opened;
  GgufWriter writer;
  for (const GgufValue& value : file.metadata()) writer.copy(value);
  Progress bar("quantizing", o.common.quiet);
  std::size_t done = 0;
  for (const GgufTensor& t : file.tensors()) {
    const bool matrix = t.rank == 2 && t.dims[1] % info(dtype).block_elements == 0;
    if (!matrix || t.dtype == dtype) {
      LOOM_TRY_VOID(writer.add_tensor(t.name, t.dtype, t.shape(), t.bytes));
      continue;
    }
    LOOM_TRY_VOID(
        writer.add_tensor(t.name, dtype, t.shape(),
                          [&t, dtype, &bar, &done, total = file.tensors().size()]() -> Result<std::vector<std::byte>> {
                            bar.update(static_cast<double>(++done) / static_cast<double>(total));
                            auto bytes = requantized(t, dtype);
                            if (interrupted()) return fail(Code::Cancelled, "interrupted; nothing was written");
                            if (!bytes) return at(std::string(t.name), std::move(bytes).error());
                            return bytes;
                          }));
  }
  watch_interrupts();
  LOOM_TRY_VOID(writer.write(o.output));
  if (o.common.json) {
    LOOM_TRY(const auto written, MappedFile::open(o.output));
    print_json(Json{{"output", o.output},
                    {"bytes", written->bytes().size()},
                    {"tensors", file.tensors().size()},
                    {"quantized", done},
                    {"dtype", name(dtype)}});
  } else if (!o.common.quiet) {
    std::printf("%s written\n", terminal_text(o.output).c_str());
  }
  return kOk;
}

}  // namespace

Run inspect_command(CLI::App& app) {
  auto o = std::make_shared<InspectOptions>();
  add_path(app, "FILE", o->model, "GGUF file, Hugging Face folder, JSON spec or .entity")->required();
  app.add_flag("--tensors", o->tensors, "List every tensor");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] {
    if (is_adapter_checkpoint(o->model)) return finish(inspect_checkpoint(*o));
    return finish(is_network_file(o->model) && !is_model_entity(o->model) ? inspect_network(*o) : run_inspect(*o));
  };
}

Run quantize_command(CLI::App& app) {
  auto o = std::make_shared<QuantizeOptions>();
  add_path(app, "MODEL", o->model, "GGUF file")->required();
  add_path(app, "-o,--output,OUTPUT", o->output, "GGUF file to write")->required();
  app.add_option("--dtype", o->dtype, "float32, float16, bfloat16, q8_0, q4_0, q4_1 or tq2_0")
      ->required()
      ->check(dtype_name());
  add_overwrite(app, o->overwrite);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_common(app, o->common, false);
  return [o] { return finish(naming({o->model, o->output}, run_quantize(*o))); };
}

}  // namespace loom::cli
