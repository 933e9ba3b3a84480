#pragma once
// y = (x - offset) * scale, in f32, snapped, with figures that were fitted on the training part or given.

#include <span>
#include <vector>

#include "data/dataset.h"

namespace loom {

// Elements that share one offset and scale: all, each element on its own, or those with the same index on the first
// axis (channels of an image) or on the last (features).
enum class NormaliseBy { whole, element, first_axis, last_axis };

struct Normalisation {
  NormaliseBy by = NormaliseBy::whole;
  std::vector<float> offset, scale;  // one per group; empty: nothing is done
  // ShapeMismatch unless offset and scale have one number per group of `shape`; NonFinite.
  Result<void> check(const Shape& shape) const;
  void apply(const Shape& shape, std::span<float> sample) const;
};

// Mean and population deviation in f64 over `samples`. An element's sum is taken over the samples in their order by
// chain64 (numerics 2), a group's over its elements in ascending order; squares are of x - mean, in a second reading. A
// deviation of 0 scales by 1. InvalidArgument without samples.
Result<Normalisation> fit_mean_std(const Dataset& data, std::span<const std::uint32_t> samples, NormaliseBy by);
// To [0, 1]: offset = least, scale = 1 / (greatest - least), 1 where they are equal.
Result<Normalisation> fit_min_max(const Dataset& data, std::span<const std::uint32_t> samples, NormaliseBy by);

}  // namespace loom
