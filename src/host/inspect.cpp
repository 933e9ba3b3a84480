#include "host/inspect.h"

#include <map>

#include "io/entity/entity.h"
#include "io/network_file.h"
#include "lm/hub.h"
#include "lm/language_model.h"
#include "lm/model_entity.h"
#include "training/checkpoint.h"

namespace loom {
namespace {

Result<ModelFacts> inspect_model(const std::string& path) {
  LOOM_TRY(DecoderSource source, read_source(path));
  ModelFacts facts;
  facts.path = path, facts.config = std::move(source.config);
  std::map<std::string, ModelFacts::OfType> types;
  for (const SourceTensor& t : source.tensors) {
    std::size_t elements = 1;
    for (const std::size_t d : t.shape) elements *= d;
    facts.parameters += elements, facts.weight_bytes += t.bytes.size();
    ModelFacts::OfType& type = types[std::string(name(t.dtype))];
    ++type.tensors, type.bytes += t.bytes.size();
    facts.tensors.push_back({std::string(t.name), t.dtype, {t.shape.begin(), t.shape.end()}, t.bytes.size()});
  }
  facts.types.assign(types.begin(), types.end());
  return facts;
}

Result<NetworkFacts> inspect_network(const std::string& path, const LoadHints& hints) {
  LOOM_TRY(OpenedNetwork opened, open_any_network(path, hints, {.strict = false, .initialise = false}));
  opened.loaded.network.release_masters();
  NetworkFacts facts = network_facts(opened.loaded.network);
  facts.path = path, facts.warnings = std::move(opened.loaded.warnings), facts.report = std::move(opened.report);
  return facts;
}

bool is_adapter_checkpoint(const std::string& path) {
  const auto reader = EntityReader::open(path);
  return reader && reader->find("train") != nullptr && reader->find("network") == nullptr;
}

Result<CheckpointFacts> inspect_checkpoint(const std::string& path) {
  LOOM_TRY(const Checkpoint checkpoint, read_checkpoint(path));
  const auto part = [&](const char* object, const char* key) {
    const Json* found = find(checkpoint.train, object);
    found = found == nullptr ? nullptr : find(*found, key);
    return found == nullptr ? Json() : *found;
  };
  CheckpointFacts facts;
  facts.path = path, facts.bytes = checkpoint.optimizer.size();
  facts.step = part("state", "steps"), facts.epoch = part("position", "epoch");
  facts.config = part("identity", "config"), facts.text = part("identity", "text");
  facts.base = part("identity", "base");
  const Json* slots = find(checkpoint.train, "slots");
  if (slots == nullptr || !slots->is_array()) return facts;
  for (const Json& slot : *slots) {
    const Json *name = find(slot, "name"), *elements = find(slot, "elements");
    if (name == nullptr || elements == nullptr || as_string(*name) == nullptr || as_int(*elements).value_or(-1) < 0)
      continue;
    facts.slots.push_back({*as_string(*name), static_cast<std::uint64_t>(*as_int(*elements))});
    facts.values += facts.slots.back().elements;
  }
  return facts;
}

}  // namespace

NetworkFacts network_facts(const Network& network) {
  NetworkFacts facts;
  facts.id = network.settings.id, facts.grid = network.size();
  facts.resident_bytes = network.resident_bytes(), facts.layers = layer_facts(network);
  std::map<std::string, NetworkFacts::OfType> types;
  network.visit_weights([&](const std::string&, const Weight& w, const Layer&) {
    auto& type = types[w.role() == WeightRole::Vector ? "vectors" : std::string(name(w.dtype()))];
    type.weights += w.elements(), type.resident_bytes += w.resident_bytes();
  });
  facts.types.assign(types.begin(), types.end());
  return facts;
}

std::vector<LayerFacts> layer_facts(const Network& network) {
  std::vector<LayerFacts> rows;
  network.each_layer([&](std::size_t, const std::string& path, Layer& layer) {
    LayerFacts row{path, std::string(layer.kind()), {}, 0, 0, layer.common.is_disabled};
    layer.visit_all_weights([&](Weight& w) {
      if (w.is_tied()) return;
      row.weights += w.elements();
      row.resident_bytes += w.resident_bytes();
      if (row.dtype.empty() || w.role() == WeightRole::Matrix) row.dtype = std::string(name(w.dtype()));
    });
    rows.push_back(std::move(row));
  });
  return rows;
}

Result<FileFacts> inspect_file(const std::string& given, const LoadHints& hints) {
  LOOM_TRY(const std::string path, find_model(given));
  if (is_adapter_checkpoint(path)) return inspect_checkpoint(path);
  if (is_tensor_file(path) || (is_network_file(path) && !is_model_entity(path))) return inspect_network(path, hints);
  return inspect_model(path);
}

Json to_json(const ModelFacts& facts, bool with_tensors) {
  const ModelConfig& c = facts.config;
  Json types = Json::object(), tensors = Json::array();
  for (const auto& [type, of] : facts.types) types[type] = Json{{"tensors", of.tensors}, {"bytes", of.bytes}};
  Json out{{"path", facts.path},
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
           {"parameters", facts.parameters},
           {"weight_bytes", facts.weight_bytes},
           {"types", std::move(types)}};
  if (!with_tensors) return out;
  for (const TensorFacts& t : facts.tensors)
    tensors.push_back(Json{{"name", t.name}, {"dtype", name(t.dtype)}, {"shape", t.shape}, {"bytes", t.bytes}});
  out["tensors"] = std::move(tensors);
  return out;
}

Json to_json(const NetworkFacts& facts) {
  Json layers = Json::array(), types = Json::object();
  for (const LayerFacts& r : facts.layers)
    layers.push_back(Json{{"path", r.path},
                          {"type", r.kind},
                          {"dtype", r.dtype},
                          {"weights", r.weights},
                          {"resident_bytes", r.resident_bytes},
                          {"is_disabled", r.is_disabled}});
  for (const auto& [type, of] : facts.types)
    types[type] = Json{{"weights", of.weights}, {"resident_bytes", of.resident_bytes}};
  const GridSize& size = facts.grid;
  Json out{{"path", facts.path},
           {"id", facts.id},
           {"grid", {size.depth, size.rows, size.cols, size.layers_per_cell}},
           {"resident_bytes", facts.resident_bytes},
           {"types", std::move(types)},
           {"layers", std::move(layers)}};
  if (!facts.report.tensors.empty()) out["report"] = to_json(facts.report);
  return out;
}

Json to_json(const CheckpointFacts& facts) {
  Json slots = Json::array();
  for (const CheckpointFacts::Slot& slot : facts.slots)
    slots.push_back(Json{{"name", slot.name}, {"elements", slot.elements}});
  return {{"path", facts.path},     {"step", facts.step},   {"epoch", facts.epoch},
          {"config", facts.config}, {"text", facts.text},   {"base", facts.base},
          {"values", facts.values}, {"bytes", facts.bytes}, {"slots", std::move(slots)}};
}

Json to_json(const FileFacts& facts, bool with_tensors) {
  if (const auto* model = std::get_if<ModelFacts>(&facts)) return to_json(*model, with_tensors);
  if (const auto* network = std::get_if<NetworkFacts>(&facts)) return to_json(*network);
  return to_json(*std::get_if<CheckpointFacts>(&facts));
}

}  // namespace loom
