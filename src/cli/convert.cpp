// convert: a language model of any format, or a graph in ONNX, as one .entity file, a network as .entity or JSON.

#include <algorithm>
#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/json.h"
#include "host/convert.h"
#include "host/load_any.h"
#include "io/onnx/graph_file.h"

namespace loom::cli {
namespace {

struct ConvertFlags {
  CommonOptions common;
  std::string model, output, adapter;
  std::vector<std::string> keep;
  int entity_version = 2;
  bool overwrite = false, allow_loss = false;

  bool is_for_models() const { return !common.dtype.empty() || !adapter.empty() || !keep.empty(); }
};

Result<int> convert_a_network(const ConvertFlags& o) {
  if (o.is_for_models())
    return fail(Code::InvalidArgument,
                "{}: a network; --dtype, --adapter and --keep-adapter are for language models (loom morph)", o.model);
  LOOM_TRY_VOID(check_output(o.output, OutputKind::network, o.overwrite, {o.model}));
  LOOM_TRY(const ConvertNetworkResult result, convert_network(o.model, o.output, {o.entity_version, o.allow_loss}));
  for (const std::string& line : result.losses) warn(line);
  if (o.common.json)
    print_json(to_json(result));
  else if (!o.common.quiet)
    std::printf("%s: %.1f MB, hash %s\n", o.output.c_str(), static_cast<double>(result.bytes) / 1e6,
                to_hex(result.hash).c_str());
  return kOk;
}

Result<int> run_convert_onnx(const ConvertFlags& o) {
  if (o.is_for_models())
    return fail(Code::InvalidArgument, "--dtype, --adapter and --keep-adapter are for language models; {} is a graph",
                o.model);
  LOOM_TRY(const Digest root, convert_onnx(o.model, o.output));
  if (o.common.json)
    print_json(Json{{"output", o.output}, {"root_hash", to_hex(root)}});
  else if (!o.common.quiet)
    std::printf("%s: a graph, root hash %s\n", terminal_text(o.output).c_str(), to_hex(root).c_str());
  return kOk;
}

Result<int> run_convert(const ConvertFlags& o) {
  // A graph becomes an .entity as it is, of which networks are read too, or a spec with the graph in a cell.
  LOOM_TRY(const Identified file, identify_any(o.model));
  const bool is_graph = file.kind == FileKind::Onnx;
  if (file.is_network() && !(is_graph && o.output.ends_with(".entity"))) return convert_a_network(o);
  if (o.entity_version != 2 || o.allow_loss)
    return fail(Code::Unsupported, "{}: language models are written as .entity of version 2 alone, without loss",
                o.output);
  if (!o.output.ends_with(".entity"))
    return fail(Code::InvalidArgument, "{}: the output must end in .entity", o.output);
  LOOM_TRY_VOID(check_output(o.output, is_graph ? OutputKind::graph : OutputKind::model, o.overwrite, {o.model}));
  if (is_graph) return run_convert_onnx(o);
  ConvertModelOptions options;
  options.threads = o.common.threads, options.adapter = o.adapter, options.beside = o.keep;
  if (!o.common.dtype.empty()) {
    LOOM_TRY(options.dtype, dtype_from_name(o.common.dtype));
  }
  watch_interrupts();
  std::optional<Progress> bar(std::in_place, "converting", o.common.quiet);
  options.progress = [&](std::size_t done, std::size_t total) {
    bar->update(static_cast<double>(done) / static_cast<double>(total));
    return !interrupted();
  };
  options.stop = interrupted;
  LOOM_TRY(const ConvertModelResult result, convert_model(o.model, o.output, options));
  bar.reset();
  constexpr double kNearlyAll = 0.95;
  if (const double share = result.adapter_share.value_or(1); share < kNearlyAll)
    warn(fmt::format(
        "{:.0f} % of the adapter's change is in {}: the rest is smaller than the steps of the weights' type; "
        "--dtype float16 keeps it, and so does "
        "--adapter beside the model",
        100 * std::max(share, 0.0), o.output));
  if (o.common.json)
    print_json(to_json(result));
  else if (!o.common.quiet)
    std::printf("%s: %.1f MB, root hash %s\n", o.output.c_str(), static_cast<double>(result.bytes) / 1e6,
                to_hex(result.root).c_str());
  return kOk;
}

}  // namespace

Run convert_command(CLI::App& app) {
  auto o = std::make_shared<ConvertFlags>();
  add_path(app, "MODEL", o->model,
           "GGUF file, Hugging Face folder or .entity of a language model; .entity or JSON of a network, of 0.8x too; "
           "an .onnx file")
      ->required();
  add_path(app, "-o,--output,OUTPUT", o->output,
           "FILE.entity to write: weights, tokenizer and chat template; of a network also FILE.json")
      ->required();
  add_model_dtype(app, o->common);
  add_path(app, "--adapter", o->adapter,
           "Folder of a low-rank adapter (loom finetune, PEFT) to merge into the weights, which keep their type")
      ->type_name("DIR");
  add_path(app, "--keep-adapter", o->keep,
           "Folder of an adapter to keep beside the weights, named by the last part of its path; may be given several "
           "times")
      ->type_name("DIR");
  app.add_option("--entity-version", o->entity_version, "1: a network as Loom 0.8x reads it")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();
  app.add_flag("--allow-loss", o->allow_loss, "Write also what the format cannot hold as it is, and say what");
  add_overwrite(app, o->overwrite);
  app.add_option("-t,--threads", o->common.threads, "Threads (default: one per physical core)")
      ->check(CLI::Range(1, ThreadPool::kMaxThreads));
  app.add_flag("-q,--quiet", o->common.quiet, "No progress bars and notes on stderr");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o] { return finish(naming({o->model, o->output, o->adapter}, run_convert(*o))); };
}

}  // namespace loom::cli
