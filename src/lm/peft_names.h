#pragma once
// Names of adapters' tensors and the matrices that an adapter may add to.

#include "lm/tensor_names.h"

namespace loom {

constexpr std::string_view kPeftPrefix = "base_model.model.";

struct PeftTarget {
  std::string_view name;
  TensorPlace place;
};
// The matrices of every layer, then the embedding and the head.
std::vector<PeftTarget> adapter_places(const ModelConfig& model);

// The name without its last part: "model.layers.3.self_attn.q_proj".
std::string module_name(const TensorPlace& place);
// The name of A (0) or B (1) beside a matrix.
std::string half_name(const TensorPlace& place, int half);

}  // namespace loom
