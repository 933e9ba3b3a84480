// inspect, quantize.

#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/json.h"
#include "host/content_hash.h"
#include "host/convert.h"
#include "host/inspect.h"

namespace loom::cli {
namespace {

std::string shape_text(std::span<const std::size_t> shape) {
  std::string text;
  for (const std::size_t d : shape) text += (text.empty() ? "" : " x ") + fmt::format("{}", d);
  return text;
}

struct InspectFlags {
  CommonOptions common;
  std::string model, hints;
  bool tensors = false;
};

void print_facts(const ModelFacts& facts, bool with_tensors) {
  const ModelConfig& c = facts.config;
  std::printf("%s: %s, %.1f M parameters, %.1f MB of weights\n", terminal_text(facts.path).c_str(),
              terminal_text(c.architecture).c_str(), static_cast<double>(facts.parameters) / 1e6,
              static_cast<double>(facts.weight_bytes) / 1e6);
  std::printf(
      "%ld layers, width %ld, feed-forward %ld, %ld heads (%ld key-value) of %ld, vocabulary %ld, context %ld\n",
      static_cast<long>(c.num_hidden_layers), static_cast<long>(c.hidden_size), static_cast<long>(c.intermediate_size),
      static_cast<long>(c.num_attention_heads), static_cast<long>(c.num_key_value_heads), static_cast<long>(c.head_dim),
      static_cast<long>(c.vocab_size), static_cast<long>(c.max_position_embeddings));
  for (const auto& [type, of] : facts.types)
    std::printf("  %-10s %4zu tensors %10.2f MB\n", type.c_str(), of.tensors, static_cast<double>(of.bytes) / 1e6);
  if (!with_tensors) return;
  for (const TensorFacts& t : facts.tensors)
    std::printf("  %-48s %-9s %s\n", terminal_text(t.name).c_str(), std::string(name(t.dtype)).c_str(),
                shape_text(t.shape).c_str());
}

void print_facts(const NetworkFacts& facts) {
  const GridSize& size = facts.grid;
  std::printf("%s: \"%s\", grid %zu x %zu x %zu, %zu layers per cell, %zu bytes of weights in memory\n",
              terminal_text(facts.path).c_str(), terminal_text(facts.id).c_str(), size.depth, size.rows, size.cols,
              size.layers_per_cell, facts.resident_bytes);
  for (const LayerFacts& r : facts.layers)
    std::printf("  %-52s %-16s %-9s %10zu weights %12zu bytes%s\n", terminal_text(r.path).c_str(), r.kind.c_str(),
                r.dtype.c_str(), r.weights, r.resident_bytes, r.is_disabled ? "  disabled" : "");
  for (const TensorReport& t : facts.report.tensors) {
    const std::string to = t.reason.empty() ? fmt::format("{}", fmt::join(t.paths, ", ")) : "left out: " + t.reason;
    std::printf("  %-40s %-9s %-16s -> %s\n", terminal_text(t.name).c_str(), std::string(name(t.dtype)).c_str(),
                shape_text(t.shape).c_str(), terminal_text(to).c_str());
  }
  for (const auto& [type, of] : facts.types)
    std::printf("%-10s %12zu weights %12zu bytes, %.2f bits each\n", type.c_str(), of.weights, of.resident_bytes,
                of.weights == 0 ? 0.0 : static_cast<double>(of.resident_bytes) * 8 / static_cast<double>(of.weights));
}

void print_facts(const CheckpointFacts& facts, bool with_slots) {
  std::printf("%s: checkpoint of a fine-tuning at step %s, %llu values of adapters and optimiser, %zu bytes\n",
              facts.path.c_str(), dump_json(facts.step).c_str(), static_cast<unsigned long long>(facts.values),
              facts.bytes);
  const std::pair<const char*, const Json*> rows[] = {
      {"config", &facts.config}, {"text", &facts.text}, {"base", &facts.base}};
  for (const auto& [key, value] : rows) std::printf("  %-8s %s\n", key, dump_json(*value).c_str());
  if (!with_slots) return;
  for (const CheckpointFacts::Slot& slot : facts.slots)
    std::printf("  %-64s %10llu values\n", dump_json(slot.name).c_str(),
                static_cast<unsigned long long>(slot.elements));
}

void print_facts(const GraphFacts& facts) {
  for (const auto& [key, value] : facts.facts.items())
    std::printf("%-15s %s\n", key.c_str(),
                terminal_text(value.is_string() ? value.get<std::string>() : dump_json(value)).c_str());
}

// Facts with "content_hash", as receipts name the file.
Result<int> print_with_hash(const std::string& path, Json facts) {
  watch_interrupts();
  LOOM_TRY(const Digest hash, content_hash(path, HashCache::use, &interrupt_flag()));
  facts["content_hash"] = to_hex(hash);
  print_json(facts);
  return kOk;
}

Result<int> run_inspect(const InspectFlags& o) {
  LOOM_TRY(const FileFacts facts, inspect_file(o.model, {o.hints}));
  const auto* model = std::get_if<ModelFacts>(&facts);
  const auto* network = std::get_if<NetworkFacts>(&facts);
  if (network != nullptr)
    for (const std::string& warning : network->warnings) warn(warning);
  if (o.common.json) return print_with_hash(o.model, to_json(facts, o.tensors));
  if (model != nullptr)
    print_facts(*model, o.tensors);
  else if (network != nullptr)
    print_facts(*network);
  else if (const auto* graph = std::get_if<GraphFacts>(&facts))
    print_facts(*graph);
  else
    print_facts(*std::get_if<CheckpointFacts>(&facts), o.tensors);
  return kOk;
}

struct QuantizeFlags {
  CommonOptions common;
  std::string model, output, dtype;
  bool overwrite = false;
};

Result<int> run_quantize(const QuantizeFlags& o) {
  LOOM_TRY(const DType dtype, dtype_from_name(o.dtype));
  LOOM_TRY_VOID(check_output(o.output, OutputKind::gguf, o.overwrite, {o.model}));
  watch_interrupts();
  Progress bar("quantizing", o.common.quiet);
  QuantizeFileOptions options;
  options.dtype = dtype;
  options.progress = [&](std::size_t done, std::size_t total) {
    bar.update(static_cast<double>(done) / static_cast<double>(total));
    return !interrupted();
  };
  options.stop = interrupted;
  LOOM_TRY(const QuantizeFileResult result, quantize_file(o.model, o.output, options));
  if (o.common.json)
    print_json(to_json(result));
  else if (!o.common.quiet)
    std::printf("%s written\n", terminal_text(o.output).c_str());
  return kOk;
}

}  // namespace

Run inspect_command(CLI::App& app) {
  auto o = std::make_shared<InspectFlags>();
  add_path(app, "FILE", o->model, "GGUF file, Hugging Face folder, JSON spec, .entity, .safetensors, .npz or .onnx")
      ->required();
  add_path(app, "--hints", o->hints, "JSON that describes bare tensors (.safetensors, .npz) where their shapes do not");
  app.add_flag("--tensors", o->tensors, "List every tensor");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_quiet(app, o->common);
  return [o] { return finish(naming({o->model, o->hints}, run_inspect(*o))); };
}

Run quantize_command(CLI::App& app) {
  auto o = std::make_shared<QuantizeFlags>();
  add_path(app, "MODEL", o->model, "GGUF file")->required();
  add_path(app, "-o,--output,OUTPUT", o->output, "GGUF file to write")->required();
  app.add_option("--dtype", o->dtype, "float32, float16, bfloat16, q8_0, q4_0, q4_1 or tq2_0")
      ->required()
      ->check(dtype_name());
  add_overwrite(app, o->overwrite);
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  add_quiet(app, o->common);
  return [o] { return finish(naming({o->model, o->output}, run_quantize(*o))); };
}

}  // namespace loom::cli
