// export: a network or a language model in the files of others.

#include <charconv>
#include <cstdio>

#include "cli/commands.h"
#include "cli/output_file.h"
#include "cli/terminal_text.h"
#include "core/json.h"
#include "host/export.h"

namespace loom::cli {
namespace {

struct ExportFlags {
  CommonOptions common;
  std::string input, output, input_shape, hints;
  bool dequantize = false, overwrite = false;
};

// "3,224,224"
Result<Shape> shape_from(const std::string& text) {
  std::vector<std::size_t> extents;
  const char *at = text.data(), *const end = at + text.size();
  while (true) {
    std::size_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || (next != end && *next != ','))
      return fail(Code::InvalidArgument, "--input-shape: \"{}\" is no list of extents such as 3,224,224", text);
    extents.push_back(extent);
    if (next == end) break;
    at = next + 1;
  }
  return Shape::create(extents);
}

Result<int> run_export(const ExportFlags& o) {
  const OutputKind kind = o.output.ends_with(".onnx")          ? OutputKind::onnx
                          : o.output.ends_with(".safetensors") ? OutputKind::safetensors
                                                               : OutputKind::gguf;
  LOOM_TRY_VOID(check_output(o.output, kind, o.overwrite, {o.input}));
  ExportOptions options;
  options.dequantize = o.dequantize, options.hints = o.hints;
  if (!o.input_shape.empty()) {
    LOOM_TRY(options.input_shape, shape_from(o.input_shape));
  }
  if (!o.common.dtype.empty()) {
    LOOM_TRY(options.dtype, dtype_from_name(o.common.dtype));
  }
  watch_interrupts();
  std::optional<Progress> bar(std::in_place, "exporting", o.common.quiet);
  options.progress = [&](std::size_t done, std::size_t total) {
    bar->update(static_cast<double>(done) / static_cast<double>(total));
    return !interrupted();
  };
  options.stop = interrupted;
  LOOM_TRY(const ExportResult result, export_file(o.input, o.output, options));
  bar.reset();
  for (const std::string& warning : result.warnings) warn(warning);
  if (o.common.json)
    print_json(to_json(result));
  else if (!o.common.quiet)
    std::printf("%s: %s, %.2f MB, SHA-256 %s\n", terminal_text(result.output).c_str(), result.format.c_str(),
                static_cast<double>(result.bytes) / 1e6, to_hex(result.sha256).c_str());
  return kOk;
}

}  // namespace

Run export_command(CLI::App& app) {
  auto o = std::make_shared<ExportFlags>();
  add_path(app, "INPUT", o->input,
           "Network (JSON spec, JSON checkpoint, .entity) or language model (GGUF file, Hugging Face folder, .entity)")
      ->required();
  add_path(
      app, "-o,--output,OUTPUT", o->output,
      "Of a network FILE.onnx or FILE.safetensors; of a language model FILE.gguf (not of a BitNet), or a folder as "
      "Hugging Face has it")
      ->required();
  app.add_option("--input-shape", o->input_shape, "onnx: shape of one sample, as 3,224,224 (default: the network's)");
  app.add_flag("--dequantize", o->dequantize, "Integer weights of a network as the float32 values that they stand for");
  add_path(app, "--hints", o->hints, "JSON that describes bare tensors (.safetensors, .npz) where their shapes do not");
  add_model_dtype(app, o->common);
  add_overwrite(app, o->overwrite);
  app.add_flag("-q,--quiet", o->common.quiet, "No progress bars and notes on stderr");
  app.add_flag("--json", o->common.json, "One JSON object on stdout");
  return [o] { return finish(naming({o->input, o->output, o->hints}, run_export(*o))); };
}

}  // namespace loom::cli
