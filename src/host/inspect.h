#pragma once
// Describes files: a language model, a network of any layers, a graph, or the checkpoint of a fine-tuning.

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "dtypes/dtype.h"
#include "host/load_any.h"
#include "lm/model_config.h"
#include "network/network.h"

namespace loom {

// The facts of one tensor of a language model.
struct TensorFacts {
  std::string name;
  DType dtype = DType::float32;
  std::vector<std::size_t> shape;
  std::size_t bytes = 0;
};
struct ModelFacts {
  std::string path;
  ModelConfig config;
  std::size_t parameters = 0, weight_bytes = 0;
  struct OfType {
    std::size_t tensors = 0, bytes = 0;
  };
  std::vector<std::pair<std::string, OfType>> types;  // by name, in alphabetical order
  std::vector<TensorFacts> tensors;
};

// The facts of a layer that holds weights, or of a cell.
struct LayerFacts {
  std::string path, kind, dtype;
  std::size_t weights = 0, resident_bytes = 0;
  bool is_disabled = false;
};
std::vector<LayerFacts> layer_facts(const Network& network);

// A network's weights by layer and type, as stored in memory.
struct NetworkFacts {
  std::string path, id;
  GridSize grid{};
  std::size_t resident_bytes = 0;
  struct OfType {
    std::size_t weights = 0, resident_bytes = 0;
  };
  std::vector<std::pair<std::string, OfType>> types;  // by name, in alphabetical order; "vectors" are biases and such
  std::vector<LayerFacts> layers;
  std::vector<std::string> warnings;  // of the file
  LoadReport report;                  // of bare tensors: where each went
};
NetworkFacts network_facts(const Network& network);

// A checkpoint that holds no network of its own: the masters of what learns, and the optimiser's slots. Values
// that the file lacks are null.
struct CheckpointFacts {
  std::string path;
  Json step, epoch, config, text, base;
  std::uint64_t values = 0;  // of the slots
  std::size_t bytes = 0;     // of the optimiser's section
  struct Slot {
    std::string name;
    std::uint64_t elements = 0;
  };
  std::vector<Slot> slots;
};

struct GraphFacts {
  Json facts;  // graph_facts() of host/graph_run.h
};

using FileFacts = std::variant<ModelFacts, NetworkFacts, CheckpointFacts, GraphFacts>;
// Errors of identify(), read_checkpoint(), read_graph(), open_any_network() and read_model().
Result<FileFacts> inspect_file(const std::string& path, const LoadHints& hints = {});

// "tensors" stands in the JSON of a model when it is asked for.
Json to_json(const ModelFacts& facts, bool with_tensors);
Json to_json(const NetworkFacts& facts);
Json to_json(const CheckpointFacts& facts);
Json to_json(const FileFacts& facts, bool with_tensors);

}  // namespace loom
