#include "host/inspect.h"

#include <map>

#include "host/graph_run.h"
#include "io/identify.h"
#include "io/onnx/graph_file.h"
#include "lm/language_model.h"
#include "training/checkpoint.h"

namespace loom {
namespace {

Result<ModelFacts> inspect_model(const Identified& file) {
  LOOM_TRY(ModelContents contents, file.is_folder() ? read_model(file.path) : read_model(file.source));
  DecoderSource source = std::move(contents.source);
  ModelFacts facts;
  facts.path = file.path, facts.config = std::move(source.config);
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

Result<NetworkFacts> inspect_network(const Identified& file, const LoadHints& hints) {
  LOOM_TRY(OpenedNetwork opened, open_any_network(file, hints, {.strict = false, .initialise = false}));
  opened.loaded.network.release_masters();
  NetworkFacts facts = network_facts(opened.loaded.network);
  facts.path = file.path, facts.warnings = std::move(opened.loaded.warnings), facts.report = std::move(opened.report);
  return facts;
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
  LOOM_TRY(const Identified file, identify_any(given));
  if (file.kind == FileKind::AdapterCheckpoint) return inspect_checkpoint(file.path);
  if (file.is_graph()) {
    LOOM_TRY(const graph::Model model, read_graph(file));
    return GraphFacts{graph_facts(model)};
  }
  if (file.is_tensors() || file.is_network()) return inspect_network(file, hints);
  return inspect_model(file);
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
  if (const auto* graph = std::get_if<GraphFacts>(&facts)) return graph->facts;
  return to_json(*std::get_if<CheckpointFacts>(&facts));
}

}  // namespace loom
