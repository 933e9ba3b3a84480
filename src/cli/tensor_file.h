#pragma once
// Tensors that commands read: .npy, .npz and nested lists in JSON.

#include <string>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

namespace loom::cli {

struct Input {
  std::vector<double> values;
  Shape shape;
};

// FILE.npy, or JSON of nested lists. ShapeMismatch for ragged lists.
Result<Input> read_tensor(const std::string& path);

struct Examples {
  Input inputs, targets;
  bool has_targets = false;
};

// FILE.npz with the arrays inputs (or x) and targets (or y), JSON {"inputs": .., "targets": ..}, or what read_tensor()
// reads, inputs alone.
Result<Examples> read_examples(const std::string& path);

}  // namespace loom::cli
