#pragma once
// Data sets over two arrays whose first axis counts samples. The elements stay as their file has them until a batch
// asks for them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "dtypes/dtype.h"

namespace loom {

// Row-major elements of a numeric type with whole bytes, in either byte order, at any address.
struct RawArray {
  std::string name;  // for messages
  DType dtype = DType::float32;
  bool big_endian = false;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

struct ArrayOptions {
  std::optional<TargetKind> targets = {};     // empty: classes where the targets are integers, one per sample
  std::size_t classes = 0;                    // 0: the greatest label + 1
  std::optional<std::int64_t> ignored = {};   // a label that may be outside of the classes: its rows do not count
  std::vector<std::string> class_names = {};  // empty, or one per class
  std::vector<std::string> columns = {};      // of the inputs, by name
  std::optional<Shape> input = {};            // another shape for a sample, of as many elements
};

// InvalidConfig, ShapeMismatch for arrays of different lengths or without samples; OutOfRange for a label outside [0,
// classes), with its sample; LimitExceeded beyond 2^32 - 1 samples or 2^24 classes. Labels are checked at once, inputs
// when they are read.
Result<std::unique_ptr<Dataset>> dataset_of(RawArray inputs, RawArray targets, const Digest& sha256,
                                            const ArrayOptions& options = {});

// Elements [first, first + to.size()) to f32: rounded to nearest, snapped.
void read_elements(const RawArray& array, std::size_t first, std::span<float> to);

}  // namespace loom
