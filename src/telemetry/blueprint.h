#pragma once
// Structure of a network (engine E-41): every layer, nested ones included, with exact counts.

#include <string>
#include <vector>

#include "core/json_fwd.h"
#include "network/plan/plans.h"

namespace loom {

struct WeightTelemetry {
  std::string name, dtype;
  Shape shape;
  std::size_t parameters = 0;
  bool shared = false;  // a tied weight: counted where it is owned
};

struct LayerTelemetry {
  std::string path, kind, dtype;
  Address cell;
  std::size_t depth = 0;  // 0: a cell of the grid
  bool disabled = false, trainable = true;
  std::vector<WeightTelemetry> weights;
  std::size_t parameters = 0;                         // of its own weights, children and ties left out
  std::size_t bytes = 0;                              // that they take in memory now
  std::size_t total_parameters = 0, total_bytes = 0;  // children included
  std::optional<Shape> output;                        // of a cell, where the plans know it
};

struct NetworkBlueprint {
  std::string id;
  GridSize grid;
  std::size_t parameters = 0, bytes = 0;
  std::vector<LayerTelemetry> layers;  // cells ascending, a container before its children
};

NetworkBlueprint blueprint(const Network& network, const Plans& plans = {});
Json to_json(const NetworkBlueprint& blueprint);

}  // namespace loom
