#pragma once
// Tensors that a person or a script hands over in a file: .npy, .npz and nested lists in JSON.

#include <string>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

namespace loom {

struct TensorValues {
  std::vector<double> values;
  Shape shape;
};

// FILE.npy, or JSON of nested lists. ShapeMismatch for ragged lists.
Result<TensorValues> read_tensor(const std::string& path);

struct Examples {
  TensorValues inputs, targets;
  bool has_targets = false;
};

// FILE.npz with the arrays inputs (or x) and targets (or y), JSON {"inputs": .., "targets": ..}, or what read_tensor()
// reads, inputs alone.
Result<Examples> read_examples(const std::string& path);

}  // namespace loom
