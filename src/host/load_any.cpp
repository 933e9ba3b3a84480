#include "host/load_any.h"

#include "core/file.h"
#include "core/json.h"
#include "io/bare_network.h"
#include "io/network_file.h"
#include "io/network_tensors.h"
#include "io/onnx/graph_file.h"
#include "lm/hub.h"
#include "lm/model_entity.h"

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

Result<AnyModel> load_graph(const std::string& path) {
  LOOM_TRY(graph::Model read, read_graph(path));
  auto made = graph::Program::create(std::move(read));
  if (!made) return at(path, std::move(made).error());
  return AnyModel{std::shared_ptr<const graph::Program>(std::move(*made)), {"onnx", {}}, {}};
}

bool is_encoder(const std::string& folder) {
  const auto text = read_text_file(folder + "/config.json");
  const auto json = text ? parse_json(*text) : Json();
  const Json* type = json ? find(*json, "model_type") : nullptr;
  return type != nullptr && as_string(*type) != nullptr && *as_string(*type) == "bert";
}

Result<OpenedNetwork> from_tensors(const std::string& path, const LoadHints& hints, const SpecOptions& options) {
  const bool zipped = path.ends_with(".npz");
  if (!zipped) {
    LOOM_TRY(const SafetensorsFile file, SafetensorsFile::open(path));
    if (holds_network(file)) {
      if (!hints.path.empty())
        return fail(Code::InvalidArgument, "{}: holds its network's spec, so that hints have no say", path);
      LOOM_TRY(SpecResult loaded, network_from_tensors(file, options));
      return OpenedNetwork{std::move(loaded), {"safetensors of a network", {}}};
    }
  }
  LOOM_TRY(const Json json, read_hints(hints));
  LOOM_TRY(std::vector<BareTensor> tensors, read_bare_tensors(path));
  auto made = network_from_bare(std::move(tensors), json, options);
  if (!made) return tl::make_unexpected(std::move(made).error());
  made->report.format = zipped ? "npz" : "safetensors";
  return OpenedNetwork{{std::move(made->network), {}}, std::move(made->report)};
}

}  // namespace

bool is_tensor_file(const std::string& path) {
  if (!is_file(path)) return false;
  const auto file = MappedFile::open(path);
  if (!file) return false;
  const std::string_view text(reinterpret_cast<const char*>((*file)->bytes().data()), (*file)->bytes().size());
  if (text.starts_with("PK\x03\x04")) return path.ends_with(".npz");
  return looks_like_safetensors((*file)->bytes(), path) || (path.ends_with(".npz") && text.size() < 4);
}

Result<OpenedNetwork> open_any_network(const std::string& given, const LoadHints& hints, const SpecOptions& options) {
  LOOM_TRY(const std::string path, find_model(given));
  if (is_tensor_file(path)) {
    auto opened = from_tensors(path, hints, options);
    if (opened || opened.error().text().starts_with(path)) return opened;  // the reader has named the file
    return at(path, std::move(opened).error());
  }
  LOOM_TRY_VOID(refuse_hints(path, hints));
  LOOM_TRY(SpecResult loaded, load_network(path, options));
  const char* const format = path.ends_with(".json") ? "json" : is_graph_file(path) ? "onnx" : "entity";
  return OpenedNetwork{std::move(loaded), {format, {}}};
}

Result<AnyModel> load_any(const std::string& given, const LoadHints& hints, const AnyOptions& options) {
  LOOM_TRY(const std::string path, find_model(given));
  if (is_graph_file(path)) {
    LOOM_TRY_VOID(refuse_hints(path, hints));
    return load_graph(path);
  }
  const bool model = is_directory(path) || is_model_entity(path) || (!is_network_file(path) && !is_tensor_file(path));
  if (!model) {
    LOOM_TRY(OpenedNetwork opened, open_any_network(path, hints, options.spec));
    return AnyModel{std::move(opened.loaded.network), std::move(opened.report), std::move(opened.loaded.warnings)};
  }
  LOOM_TRY_VOID(refuse_hints(path, hints));
  if (is_directory(path) && is_encoder(path)) {
    LOOM_TRY(TextEncoder encoder, TextEncoder::load(path, options.encoder));
    LoadReport report = encoder.report();
    return AnyModel{std::move(encoder), std::move(report), {}};
  }
  LOOM_TRY(LanguageModel language, load_language_model(path, options.model));
  LoadReport report{language.format, {}};
  return AnyModel{std::move(language), std::move(report), {}};
}

}  // namespace loom
