#pragma once
// Tensors that a person or a script hands over in a file, known by its content: NumPy's arrays and archives, IDX,
// nested lists in JSON, and tables of numbers (CSV); all of them gzip'd as well.

#include <string>
#include <vector>

#include "core/error.h"
#include "core/shape.h"

namespace loom {

struct TensorValues {
  std::vector<double> values;
  Shape shape;
};

// One array: .npy, .npz that holds one or names it "inputs" or "x", IDX, JSON of nested lists, or a table [rows,
// columns] whose first record may name the columns. ShapeMismatch for ragged lists and records; CorruptData.
Result<TensorValues> read_tensor(const std::string& path);

struct Examples {
  TensorValues inputs, targets;
  bool has_targets = false;
};

// An .npz with the arrays inputs (or x) and targets (or y), JSON {"inputs": .., "targets": ..}, or what read_tensor()
// reads, inputs alone.
Result<Examples> read_examples(const std::string& path);

}  // namespace loom
