#pragma once
// Samples in memory: whole batches and parts of them.

#include <cstdint>
#include <span>

#include "backend/exec.h"

namespace loom {

// Inputs [B, ...] with class ids for the losses that take them (others see one-hot rows), or with target values.
struct Samples {
  ConstView inputs;                       // [B, ...]; f32 is widened for networks of f64
  std::span<const std::int32_t> classes;  // [B, ...] of class ids
  ConstView values;                       // as many per sample as the output has
  std::size_t size() const { return inputs.shape[0]; }
};

// Returns a view of samples [first, first + count).
Samples part_of(const Samples& batch, std::size_t first, std::size_t count);

// Positions [first, first + count) of every sequence of a batch [B, T, ...], copied.
class SequenceChunk {
 public:
  // ShapeMismatch unless classes or values are given for each position.
  Result<Samples> cut(const Samples& batch, std::size_t first, std::size_t count);

 private:
  Buffer inputs_, values_;
  std::vector<std::int32_t> classes_;
};

// A batch in f64, for networks that compute in it.
class WideBatch {
 public:
  Result<Samples> widened(const Samples& batch);

 private:
  Buffer inputs_, values_;
};

}  // namespace loom
