#include "io/network_file.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "core/file.h"
#include "core/json.h"
#include "core/system.h"
#include "io/byte_reader.h"
#include "io/entity/entity.h"
#include "io/entity/entity_layout.h"
#include "io/onnx/graph_file.h"
#include "io/output_file.h"
#include "io/safetensors/safetensors.h"
#include "io/weight_tensors.h"
#include "legacy/files/loom08.h"

namespace loom {
namespace {

// The writer points into `weights`.
Result<EntityWriter> entity_of(const Network& network, const SaveOptions& options, WeightTensors& weights) {
  LOOM_TRY(weights, WeightTensors::of(network, {.keep_master = options.keep_master}));
  EntityWriter writer;
  LOOM_TRY(std::string spec, dump_canonical(network_to_json(network)));
  LOOM_TRY_VOID(writer.add_text("network", 0, kSectionMandatory, std::move(spec)));
  LOOM_TRY_VOID(weights.add_to(writer));
  return writer;
}

Result<SpecResult> network_from_onnx(std::span<const std::byte> bytes, const OnnxOptions& options) {
  LOOM_TRY(graph::Model model, parse_onnx(bytes, options));
  LOOM_TRY(Network network, network_of_graph(std::move(model)));
  Plans plans;
  if (network.settings.input_shape) {
    LOOM_TRY(plans.forward, ForwardPlan::create(network, network.with_batch(*network.settings.input_shape, 1)));
  }
  return SpecResult{std::move(network), {}, std::move(plans)};
}

Result<SpecResult> network_from_reader(const EntityReader& reader, SpecOptions options) {
  LOOM_TRY_VOID(reader.verify());  // gaps too: every section is read anyway
  LOOM_TRY_VOID(check_holds_network(reader));
  LOOM_TRY(const auto spec, reader.section("network"));
  options.initialise = false;
  if (as_text(spec).starts_with(kModelSpecBegin))
    return fail(Code::Unsupported,
                "this .entity holds a language model: loom generate, chat, logits, perplexity and inspect read it");
  if (as_text(spec).starts_with(kGraphSpecBegin)) {
    LOOM_TRY(const auto bytes, reader.section("weights"));
    return network_from_onnx(bytes, {});
  }
  LOOM_TRY(SpecResult result,
           network_from_json(std::string_view(reinterpret_cast<const char*>(spec.data()), spec.size()), options));
  LOOM_TRY(const std::vector<EntityTensor> tensors, read_entity_tensors(reader));
  LOOM_TRY_VOID(restore_weights(result.network, tensors));
  return result;
}

// "weights" of every layer in a written spec, nested ones too: paths lead to the JSON objects.
void put_weights(Json& layer, const std::string& path,
                 const std::map<std::string, std::vector<std::pair<std::string, Json>>>& weights) {
  if (const auto found = weights.find(path); found != weights.end()) {
    Json own = Json::object();
    for (const auto& [name, value] : found->second) own[name] = value;
    layer["weights"] = std::move(own);
  }
  std::vector<std::string> keys;
  for (const auto& [key, value] : layer.items())
    if (key != "weights" && key != "metadata") keys.push_back(key);
  for (const std::string& key : keys) {
    Json& value = layer[key];
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i)
        if (value[i].is_object()) put_weights(value[i], fmt::format("{}.{}.{}", path, key, i), weights);
    } else if (value.is_object()) {
      put_weights(value, fmt::format("{}.{}", path, key), weights);
    }
  }
}

bool is_entity(std::span<const std::byte> bytes) {
  return bytes.size() >= 6 && std::memcmp(bytes.data(), "ENTITY", 6) == 0;
}

Result<SpecResult> network_from_text(std::string_view text, const SpecOptions& options) {
  LOOM_TRY(Json document, parse_json(text));
  if (loom08::is_checkpoint(document)) return loom08::network_from_checkpoint(std::move(document), options);
  return network_from_json(document, options);
}

}  // namespace

Result<void> check_holds_network(const EntityReader& file) {
  if (file.find("network") != nullptr) return {};
  if (file.find("kvcache") != nullptr)
    return fail(Code::Unsupported,
                "this .entity holds a prompt that was read (loom generate --save-kv), neither a model nor a network: "
                "--kv reads it beside its model");
  std::vector<std::string_view> kinds;
  for (const EntitySection& s : file.sections()) kinds.push_back(s.kind);
  return fail(Code::Unsupported, "this .entity holds neither a model nor a network; its sections: {}",
              kinds.empty() ? "none" : fmt::format("{}", fmt::join(kinds, ", ")));
}

Result<std::vector<std::byte>> network_to_entity(const Network& network, const SaveOptions& options) {
  WeightTensors weights;
  LOOM_TRY(const EntityWriter writer, entity_of(network, options, weights));
  return writer.to_bytes();
}

Result<std::string> network_to_checkpoint(const Network& network) {
  std::map<std::string, std::vector<std::pair<std::string, Json>>> weights;
  std::optional<Error> error;
  network.visit_weights([&](const std::string& path, const Weight& w, const Layer&) {
    auto json = weight_to_json(w);
    if (!json) {
      if (!error) error = std::move(json.error().in_source(path));
      return;
    }
    weights[path.substr(0, path.size() - w.name().size() - 1)].emplace_back(w.name(), std::move(*json));
  });
  if (error) return tl::make_unexpected(*std::move(error));
  Json spec = network_to_json(network);
  for (Json& layer : spec["layers"]) {
    const Address a{static_cast<std::size_t>(*as_int(layer["z"])), static_cast<std::size_t>(*as_int(layer["y"])),
                    static_cast<std::size_t>(*as_int(layer["x"])), static_cast<std::size_t>(*as_int(layer["l"]))};
    LOOM_TRY(const std::size_t index, network.index_of(a));
    put_weights(layer, Network::path(index), weights);
  }
  return dump_canonical(spec);
}

Result<Digest> save_network(const std::string& path, const Network& network, const SaveOptions& options) {
  LOOM_TRY_VOID(check_ending(path, OutputKind::network));
  if (ending_of(path) != ".json") {
    WeightTensors weights;
    LOOM_TRY(const EntityWriter writer, entity_of(network, options, weights));
    return writer.write(path);
  }
  LOOM_TRY(const std::string text, network_to_checkpoint(network));
  LOOM_TRY_VOID(write_file_atomically(path, std::as_bytes(std::span(text))));
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text)));
  return hash.finish();
}

Result<SpecResult> network_from_entity(std::span<const std::byte> bytes, const SpecOptions& options) {
  if (loom08::is_entity(bytes)) return loom08::network_from_entity(bytes, options);
  LOOM_TRY(const EntityReader reader, EntityReader::parse(bytes));
  return network_from_reader(reader, options);
}

namespace {

// `folder`: of the file, for graphs that it names; empty: it is in memory.
Result<SpecResult> load_from(std::span<const std::byte> bytes, FileKind kind, const std::string& path,
                             const SpecOptions& options, const std::string& folder) {
  switch (kind) {
    case FileKind::Gguf:
      return fail(Code::Unsupported,
                  "{}: a language model in GGUF, no network; loom generate, inspect and convert read it", path);
    case FileKind::Safetensors:
      if (auto file = SafetensorsFile::parse(bytes); !file) return at(path, std::move(file).error());
      return fail(Code::Unsupported,
                  "{}: tensors without a network's spec; loom run --hints FILE.json says what they are", path);
    case FileKind::Npz:
    case FileKind::Npy:
    case FileKind::Zip:
      return fail(Code::Unsupported, "{}: {}; expected a network: an .entity, JSON or an ONNX file", path,
                  describe(kind));
    default: break;
  }
  auto result = is_entity(bytes)         ? network_from_entity(bytes, options)
                : kind == FileKind::Onnx ? network_from_onnx(bytes, {folder})
                                         : network_from_text(as_text(bytes), options);
  if (!result) return at(path, std::move(result).error());
  return result;
}

}  // namespace

Result<SpecResult> load_network(const Identified& file, const SpecOptions& options) {
  LOOM_TRY(const auto source, file.file());
  const std::size_t slash = file.path.find_last_of(os::kSeparators);
  const std::string folder = slash == file.path.npos ? "." : file.path.substr(0, slash + 1);
  SpecOptions with_files = options;
  if (!with_files.read_graph) with_files.read_graph = graphs_in(folder);
  return load_from(source->bytes(), file.kind, file.path, with_files, folder);
}

Result<SpecResult> load_network(const std::string& path, const SpecOptions& options) {
  LOOM_TRY(const Identified file, identify(path));
  return load_network(file, options);
}

Result<SpecResult> load_network(const std::shared_ptr<const ByteSource>& source, const SpecOptions& options) {
  LOOM_TRY_VOID(source->fill(source->size()));
  LOOM_TRY(const FileKind kind, kind_of(source->bytes(), source->name()));
  return load_from(source->bytes(), kind, source->name(), options, {});
}

}  // namespace loom
