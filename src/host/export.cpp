#include "host/export.h"

#include "core/file.h"
#include "core/json.h"
#include "host/export_model.h"
#include "host/load_any.h"
#include "io/identify.h"
#include "io/network_tensors.h"
#include "io/onnx_writer/onnx_export.h"

namespace loom {
namespace {

Digest sha256_of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

Result<ExportResult> export_onnx(const Network& network, const std::string& output, const ExportOptions& options) {
  LOOM_TRY(const OnnxModelText model, network_to_onnx(network, {options.input_shape, options.dequantize}));
  const auto bytes = std::as_bytes(std::span(model.bytes));
  LOOM_TRY_VOID(write_file_atomically(output, bytes));
  return ExportResult{output, "onnx", bytes.size(), 0, model.nodes, sha256_of(bytes)};
}

Result<ExportResult> export_tensors(const Network& network, const std::string& output, const ExportOptions& options) {
  LOOM_TRY(const std::size_t tensors, save_network_tensors(output, network, {options.dequantize}));
  LOOM_TRY(const auto written, MappedFile::open(output));
  return ExportResult{output, "safetensors", written->bytes().size(), tensors, 0, sha256_of(written->bytes())};
}

Result<void> check_network_output(const std::string& output) {
  if (output.ends_with(".gguf"))
    return fail(Code::Unsupported, "{}: GGUF holds language models; .onnx or .safetensors for a network", output);
  if (!output.ends_with(".onnx") && !output.ends_with(".safetensors"))
    return fail(Code::InvalidArgument, "{}: the output must end in .onnx or .safetensors", output);
  return {};
}

// InvalidArgument for an option that this kind of file or output does not use.
Result<void> check_model_options(const ExportOptions& options) {
  if (options.input_shape) return fail(Code::InvalidArgument, "input_shape: for networks, as .onnx; this is a model");
  if (options.dequantize)
    return fail(Code::InvalidArgument, "dequantize: for networks; dtype gives a language model's matrices a type");
  if (!options.hints.empty()) return fail(Code::InvalidArgument, "hints: for bare tensors; this is a language model");
  return {};
}
Result<void> check_network_options(const std::string& output, const ExportOptions& options) {
  if (options.dtype)
    return fail(Code::InvalidArgument, "dtype: for language models; loom morph gives a network another type");
  if (options.input_shape && !output.ends_with(".onnx"))
    return fail(Code::InvalidArgument, "input_shape: for .onnx; {} holds no shapes of inputs", output);
  return {};
}

}  // namespace

Result<ExportResult> export_file(const std::string& input, const std::string& output, const ExportOptions& options) {
  const bool onnx = output.ends_with(".onnx"), safetensors = output.ends_with(".safetensors"),
             gguf = output.ends_with(".gguf");
  LOOM_TRY(const Identified file, identify_any(input));
  if (!file.is_network() && !file.is_tensors()) {
    if (onnx)
      return fail(Code::Unsupported, "{}: a language model's graph would keep no cache; .gguf or a folder", output);
    if (safetensors)
      return fail(Code::Unsupported, "{}: a language model becomes a folder of config.json and model.safetensors",
                  output);
    LOOM_TRY_VOID(check_model_options(options));
    return gguf ? export_gguf(input, output, options) : export_folder(input, output, options);
  }
  LOOM_TRY_VOID(check_network_output(output));
  LOOM_TRY(OpenedNetwork opened, open_any_network(file, {options.hints}));
  return export_network(opened.loaded.network, output, options);
}

Result<ExportResult> export_network(const Network& network, const std::string& output, const ExportOptions& options) {
  LOOM_TRY_VOID(check_network_options(output, options));
  LOOM_TRY_VOID(check_network_output(output));
  return output.ends_with(".onnx") ? export_onnx(network, output, options) : export_tensors(network, output, options);
}

Json to_json(const ExportResult& r) {
  Json out{{"output", r.output}, {"format", r.format}, {"bytes", r.bytes}};
  if (r.format == "onnx")
    out["nodes"] = r.nodes;
  else
    out["tensors"] = r.tensors;
  out["sha256"] = to_hex(r.sha256);
  if (!r.warnings.empty()) out["warnings"] = r.warnings;
  return out;
}

}  // namespace loom
