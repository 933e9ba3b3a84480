#pragma once
// Settings of a network's spec beside its layers (engine J-01).

#include <memory>
#include <optional>
#include <string>

#include "backend/exec.h"
#include "core/json_fwd.h"
#include "dtypes/dtype.h"

namespace loom {

struct NetworkSettings {
  std::string id = "network", name;
  std::uint64_t seed = 0;
  std::string init = "auto";
  double init_scale = 0;
  Element activations = Element::f32;
  // what inputs of matrices of integers with group scales are rounded to
  Activations quantized_inputs = Activations::int8;
  std::optional<Shape> input_shape;  // of one sample, without the batch
  DType default_dtype = DType::float32;
  std::shared_ptr<const Json> metadata;  // the caller's object, kept as it is; null: none
};

}  // namespace loom
