#include "host/load_any.h"

#include "core/file.h"
#include "core/json.h"
#include "io/bare_network.h"
#include "io/network_file.h"
#include "io/network_tensors.h"
#include "io/onnx/graph_file.h"
#include "lm/hub.h"

namespace loom {
namespace {

Result<Json> read_hints(const LoadHints& hints) {
  if (hints.path.empty()) return Json();
  LOOM_TRY(const std::string text, read_text_file(hints.path));
  auto json = parse_json(text);
  if (!json) return at(hints.path, std::move(json).error());
  return json;
}

Result<void> refuse_hints(const std::string& path, const LoadHints& hints) {
  if (hints.path.empty()) return {};
  return fail(Code::InvalidArgument, "{}: hints are for bare tensors in .safetensors or .npz", path);
}

Result<void> refuse_unused(const Identified& file, const AnyOptions& options) {
  const bool is_graph = file.is_graph(), is_network = !is_graph && (file.is_network() || file.is_tensors());
  if ((is_graph || is_network) && (options.model.decoder.dtype || options.encoder.dtype))
    return fail(Code::InvalidArgument, "{}: dtype is for language models and text encoders, this is {}", file.path,
                describe(file.kind));
  if (is_network && (options.model.pool != nullptr || options.model.threads != 0))
    return fail(Code::InvalidArgument,
                "{}: threads are for models, encoders and graphs, this is {}: give its sessions threads", file.path,
                describe(file.kind));
  if (!is_network && !options.spec.strict)
    return fail(Code::InvalidArgument, "{}: lenient is for the spec of a network, this is {}", file.path,
                describe(file.kind));
  return {};
}

Result<AnyModel> load_graph(const Identified& file) {
  LOOM_TRY(graph::Model read, read_graph(file));
  auto made = graph::Program::create(std::move(read));
  if (!made) return at(file.path, std::move(made).error());
  return AnyModel{std::shared_ptr<const graph::Program>(std::move(*made)), {"onnx", {}}, {}};
}

Result<OpenedNetwork> from_tensors(const Identified& file, const LoadHints& hints, const SpecOptions& options) {
  const bool zipped = file.kind == FileKind::Npz;
  if (!zipped) {
    LOOM_TRY(const SafetensorsFile tensors, SafetensorsFile::parse(file.source));
    if (holds_network(tensors)) {
      if (!hints.path.empty())
        return fail(Code::InvalidArgument, "{}: holds its network's spec: leave out --hints", file.path);
      LOOM_TRY(SpecResult loaded, network_from_tensors(tensors, options));
      return OpenedNetwork{std::move(loaded), {"safetensors of a network", {}}};
    }
  }
  LOOM_TRY(const Json json, read_hints(hints));
  LOOM_TRY(std::vector<BareTensor> tensors, read_bare_tensors(file));
  auto made = network_from_bare(std::move(tensors), json, options);
  if (!made) return tl::make_unexpected(std::move(made).error());
  made->report.format = zipped ? "npz" : "safetensors";
  return OpenedNetwork{{std::move(made->network), {}, std::move(made->plans)}, std::move(made->report)};
}

Result<AnyModel> load_model(const Identified& file, const std::string& given, const ModelOptions& options) {
  LOOM_TRY(LanguageModel language,
           file.is_folder() ? load_language_model(file.path, options) : load_language_model(file.source, options));
  language.path = given;
  LoadReport report{std::string(name(language.format)), {}};
  return AnyModel{std::move(language), std::move(report), {}};
}

}  // namespace

Result<Identified> identify_any(const std::string& given) {
  LOOM_TRY(const std::string path, find_model(given));
  return identify(path);
}

Result<OpenedNetwork> open_any_network(const Identified& file, const LoadHints& hints, const SpecOptions& options) {
  if (file.is_tensors()) {
    auto opened = from_tensors(file, hints, options);
    if (opened || opened.error().text().starts_with(file.path)) return opened;  // the reader has named the file
    return at(file.path, std::move(opened).error());
  }
  LOOM_TRY_VOID(refuse_hints(file.path, hints));
  LOOM_TRY(SpecResult loaded, load_network(file, options));
  const char* const format = file.kind == FileKind::Json ? "json" : file.is_graph() ? "onnx" : "entity";
  return OpenedNetwork{std::move(loaded), {format, {}}};
}

Result<OpenedNetwork> open_any_network(const std::string& given, const LoadHints& hints, const SpecOptions& options) {
  LOOM_TRY(const Identified file, identify_any(given));
  return open_any_network(file, hints, options);
}

Result<AnyModel> load_any(const std::string& given, const LoadHints& hints, const AnyOptions& options) {
  LOOM_TRY(const Identified file, identify_any(given));
  LOOM_TRY_VOID(refuse_unused(file, options));
  if (!file.is_graph() && (file.is_network() || file.is_tensors())) {
    LOOM_TRY(OpenedNetwork opened, open_any_network(file, hints, options.spec));
    return AnyModel{std::move(opened.loaded.network), std::move(opened.report), std::move(opened.loaded.warnings),
                    std::move(opened.loaded.plans)};
  }
  LOOM_TRY_VOID(refuse_hints(file.path, hints));
  if (file.is_graph()) return load_graph(file);
  if (file.kind != FileKind::EncoderFolder) return load_model(file, given, options.model);
  LOOM_TRY(TextEncoder encoder, TextEncoder::load(file.path, options.encoder));
  LoadReport report = encoder.report();
  return AnyModel{std::move(encoder), std::move(report), {}};
}

}  // namespace loom
