#pragma once
// Pooling windows over one to three spatial axes, x [planes, in...] -> y [planes, out...]; engine 3.6. Axes are padded in front with
// extents of 1. Maximum: the largest value, ties to the lowest index, padding and NaN never win. Average: the sum by chain64 over
// the window's positions, row-major, holes included, divided by the count. Stored values are snapped.

#include <array>

#include "backend/exec.h"

namespace loom {

struct PoolGeometry {
  using Axes = std::array<std::size_t, 3>;
  Axes in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  bool ceil_mode = false;           // a last window that leaves the padded input counts when it starts inside
  bool count_include_pad = true;    // average: the divisor counts padding

  // InvalidConfig for a kernel, stride or dilation of 0 and a padding above half the kernel; ShapeMismatch when nothing comes out.
  Result<Axes> out() const;
};

void max_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x, std::size_t planes, Tensor y);
void average_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x, std::size_t planes, Tensor y);

}  // namespace loom
