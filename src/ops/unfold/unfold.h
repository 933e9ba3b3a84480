#pragma once
// The patches of a convolution as rows of a matrix ("im2col"), so that a convolution is a matrix product, in every type:
//   patches[o, (c, k)] = x[c, o * stride - padding + k * dilation], or of a transposed convolution
//   patches[o, (c, k)] = x[c, i] where i * stride - padding + k * dilation = o;   +0 where no such element exists.
// Columns ascend by channel, then kernel position, row-major: the reduced index of numerics N-04, holes included. No sums here.

#include <array>

#include "backend/exec.h"

namespace loom {

// One to three spatial axes, padded in front with axes of extent 1.
struct ConvGeometry {
  using Axes = std::array<std::size_t, 3>;
  Axes in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1}, output_padding{0, 0, 0};
  bool transposed = false;

  static std::size_t product(const Axes& a) { return a[0] * a[1] * a[2]; }
  std::size_t taps() const { return product(kernel); }
  // Extents out (engine L-30, L-40). InvalidConfig for a kernel or stride of 0 and an output padding that reaches the stride and the
  // dilation; ShapeMismatch when nothing comes out; SizeOverflow.
  Result<Axes> out() const;
};

// Rows [first, first + patches.rows) of the patches of `channels` channels x [channels, in...]; patches.cols = channels * taps.
void unfold(const Exec& exec, const ConvGeometry& geometry, const ConvGeometry::Axes& out, const void* x, std::size_t channels, std::size_t first,
            Tensor patches);

// y[c, first + r] = rows[r, c]: rows of channels into planes of `positions` elements, the first of which y points to.
void store_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y);

}  // namespace loom
