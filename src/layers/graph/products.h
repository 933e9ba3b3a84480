#pragma once
// Geometry that convolutions and pools of a graph share: their attributes, as ONNX has them, for one to three axes.

#include <array>

#include "layers/graph/operation.h"
#include "ops/unfold/unfold.h"

namespace loom::graph {

struct Window {
  std::size_t axes = 0;  // spatial
  std::vector<std::size_t> kernel, stride, dilation, begin, end, out;
};

// Settings of a window over x [N, C, in...], its output extents too. ShapeMismatch, InvalidConfig, Unsupported.
Result<Window> window_of(const Op& op, const Value& x, std::vector<std::size_t> kernel, bool ceil_mode);

// MatMul whose constant matrix is packed, plus a row: a constant of as many f32 as the result has columns (input 2).
Result<void> product_and_row(Op& op);

// Conv of one group and few positions, whose weight is constant: sixteen filters across the lanes instead of sixteen
// positions. The same bits.
Result<void> conv_by_matrix(Op& op);

}  // namespace loom::graph
