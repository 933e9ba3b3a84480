#pragma once
// Random changes of a network (engine 9.3, after Stanley & Miikkulainen 2002): weights, activations, kinds, cells
// switched on and off, new paths through other cells; grown and pruned cells and numeric types where asked for. Every
// child can be planned for the input it is bred for and keeps the shape of its output. Draws are domain 6 keyed by
// (seed, generation, individual, path).

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/config_visitor.h"
#include "layers/activation_fields.h"
#include "network/plan/forward_plan.h"

namespace loom {

struct MutationConfig {
  double weight_perturb_rate = 0.8;  // of a layer; every weight then moves by a uniform draw from +-scale
  double weight_perturb_scale = 0.05;
  double activation_rate = 0.1;        // of a layer with an activation
  double node_rate = 0.1;              // of a layer: another kind of the list
  double layer_toggle_rate = 0.02;     // of a layer: off or on, where shapes still fit
  double connection_add_rate = 0.05;   // of a network
  double connection_drop_rate = 0.02;  // likewise
  double dtype_rate = 0;               // of a layer with weights: one step in `dtypes`
  double cell_grow_rate = 0;           // of an empty cell: a layer that changes nothing yet
  double layer_prune_rate = 0;         // of a layer: removed, where shapes still fit

  std::vector<std::string> layer_types = {"dense",
                                          "mha",
                                          "swiglu",
                                          "rmsnorm",
                                          "cnn1",
                                          "cnn2",
                                          "cnn3",
                                          "rnn",
                                          "lstm",
                                          "layernorm",
                                          "convtransposed1",
                                          "convtransposed2",
                                          "convtransposed3",
                                          "embedding",
                                          "kmeans",
                                          "softmax",
                                          "residual"};
  std::vector<Activation> activations = {Activation::Relu, Activation::Silu,    Activation::Gelu,
                                         Activation::Tanh, Activation::Sigmoid, Activation::Linear};
  std::vector<DType> dtypes = {DType::float32, DType::float16, DType::int8, DType::int4};
  std::size_t d_model = 0;      // embedding width and what filters follow from; 0: the layer's input width, at most 16
  std::size_t num_heads = 4;    // 1 below 4 features; fewer where they do not divide the width
  std::size_t in_channels = 1;  // that a sample without axes for channels and places is cut into, where they divide it
  std::size_t filters = 0;      // 0: max(1, d_model / 4)
  std::size_t kernel_size = 3;
  std::size_t vocab_size = 256;
  std::size_t num_clusters = 8;
  std::size_t max_layers = 4096;  // nothing is added beyond
  // layers that run in one forward pass, each use through a link counted
  std::size_t max_operations = 4096;
  std::size_t max_adapter_weights = std::size_t{1} << 20;  // of a Dense that repairs a shape
  std::uint64_t seed = 0;

  template <class Self, class Visit>
  static void rates(Self& self, Visit&& visit) {
    visit(Key{"weight_perturb_rate", "Chance of a layer: every weight moves by a uniform draw"},
          self.weight_perturb_rate);
    visit(Key{"activation_rate", "Of a layer with an activation: another one"}, self.activation_rate);
    visit(Key{"node_rate", "Of a layer: another kind"}, self.node_rate);
    visit(Key{"layer_toggle_rate", "Of a layer: off or on, where shapes still fit"}, self.layer_toggle_rate);
    visit(Key{"connection_add_rate", "Of a network: a path through another cell"}, self.connection_add_rate);
    visit(Key{"connection_drop_rate", "Of a network: one path less"}, self.connection_drop_rate);
    visit(Key{"dtype_rate", "Of a layer with weights: one step in `dtypes`"}, self.dtype_rate);
    visit(Key{"cell_grow_rate", "Of an empty cell: a layer that changes nothing yet"}, self.cell_grow_rate);
    visit(Key{"layer_prune_rate", "Of a layer: removed, where shapes still fit"}, self.layer_prune_rate);
  }
};

enum class Mutation : std::uint8_t {
  Perturb,
  Activation,
  Type,
  Toggle,
  AddConnection,
  DropConnection,
  Dtype,
  Grow,
  Prune
};
inline constexpr std::size_t kNumMutations = 9;
std::string_view name(Mutation mutation);

// The report counts how often each mutation was made, and how often it was drawn but no place or shape allowed it.
struct MutationReport {
  std::array<std::size_t, kNumMutations> made{}, skipped{};
  std::size_t of(Mutation m) const { return made[static_cast<std::size_t>(m)]; }
  std::size_t skips(Mutation m) const { return skipped[static_cast<std::size_t>(m)]; }
};

// Identifies one individual of one generation.
struct MutationKey {
  std::uint32_t generation = 0, individual = 0;
};

// Changes the network and returns its plan for `input` (with its batch). Errors only of networks that cannot be planned
// as they are.
Result<std::shared_ptr<const ForwardPlan>> mutate(Network& network, const Shape& input, const MutationConfig& config,
                                                  const MutationKey& key, MutationReport* report = nullptr);

// A layer of that kind from shape `in` to shape `out`, wrapped in a Sequential with a reshape and a Dense where it
// cannot be alone (engine E-22); weights are drawn from `seed`. Unsupported, LimitExceeded and what shapes report when
// there is no such layer.
Result<LayerPtr> repaired_layer(std::string_view kind, const Shape& in, const Shape& out, const Encoding& encoding,
                                const MutationConfig& config, std::uint64_t seed, Activation activation);

}  // namespace loom
