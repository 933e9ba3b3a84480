#include "telemetry/blueprint.h"

#include "core/json.h"
#include "dtypes/dtype.h"

namespace loom {
namespace {

// One layer, then those below it, or the operation of the cell whose link `layer` is; returns parameters and bytes of
// all.
std::pair<std::size_t, std::size_t> describe(const std::string& path, Layer& layer, const Address& cell,
                                             std::size_t depth, std::vector<LayerTelemetry>& all,
                                             Layer* behind = nullptr) {
  const std::size_t at = all.size();
  LayerTelemetry t;
  t.path = path, t.kind = layer.kind(), t.dtype = name(layer.common.encoding.dtype);
  t.cell = cell, t.depth = depth;
  t.disabled = layer.common.is_disabled, t.trainable = layer.common.trainable;
  layer.visit_all_weights([&](const Weight& w) {
    t.weights.push_back({w.name(), std::string(name(w.dtype())), w.shape(), w.elements(), w.is_tied()});
    if (w.is_tied()) return;
    t.parameters += w.elements(), t.bytes += w.resident_bytes();
  });
  std::size_t parameters = t.parameters, bytes = t.bytes;
  all.push_back(std::move(t));
  const auto add = [&](const std::string& place, Layer& child) {
    const auto [p, b] = describe(place, child, cell, depth + 1, all);
    parameters += p, bytes += b;
  };
  if (behind != nullptr) add(path, *behind);
  layer.visit_children([&](const std::string& below, Layer& child) { add(path + "." + below, child); });
  all[at].total_parameters = parameters, all[at].total_bytes = bytes;
  return {parameters, bytes};
}

}  // namespace

NetworkBlueprint blueprint(const Network& network, const Plans& plans) {
  NetworkBlueprint out;
  out.id = network.settings.id, out.grid = network.size();
  for (std::size_t i = 0; i < network.num_cells(); ++i) {
    const Cell& cell = network.cell(i);
    if (cell.is_empty()) continue;
    const std::size_t at = out.layers.size();
    const auto [p, b] = describe(Network::path(i), *cell.front(), network.address_of(i), 0, out.layers,
                                 cell.link ? cell.layer.get() : nullptr);
    out.parameters += p, out.bytes += b;
    if (plans.know_shapes()) out.layers[at].output = plans.shape_after(i);
  }
  return out;
}

Json to_json(const NetworkBlueprint& blueprint) {
  Json layers = Json::array();
  for (const LayerTelemetry& t : blueprint.layers) {
    Json weights = Json::array();
    for (const WeightTelemetry& w : t.weights)
      weights.push_back(Json{{"name", w.name},
                             {"dtype", w.dtype},
                             {"shape", w.shape.text()},
                             {"parameters", w.parameters},
                             {"shared", w.shared}});
    Json layer{{"path", t.path},
               {"kind", t.kind},
               {"dtype", t.dtype},
               {"z", t.cell.z},
               {"y", t.cell.y},
               {"x", t.cell.x},
               {"l", t.cell.l},
               {"depth", t.depth},
               {"disabled", t.disabled},
               {"trainable", t.trainable},
               {"parameters", t.parameters},
               {"bytes", t.bytes},
               {"total_parameters", t.total_parameters},
               {"total_bytes", t.total_bytes},
               {"weights", std::move(weights)}};
    if (t.output) layer["output"] = t.output->text();
    layers.push_back(std::move(layer));
  }
  return Json{{"id", blueprint.id},
              {"depth", blueprint.grid.depth},
              {"rows", blueprint.grid.rows},
              {"cols", blueprint.grid.cols},
              {"layers_per_cell", blueprint.grid.layers_per_cell},
              {"parameters", blueprint.parameters},
              {"bytes", blueprint.bytes},
              {"layers", std::move(layers)}};
}

}  // namespace loom
