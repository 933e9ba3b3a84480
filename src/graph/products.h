#pragma once
// Shapes of products, convolutions and pools, which forward passes and gradients share: their attributes, as ONNX has
// them, for one to three axes.

#include <array>

#include "graph/operation.h"
#include "ops/conv/conv.h"
#include "ops/pool/pool.h"

namespace loom::graph {

struct Window {
  std::size_t axes = 0;  // spatial
  std::vector<std::size_t> kernel, stride, dilation, begin, end, out;
};

// Settings of a window over x [N, C, in...], its output extents too. ShapeMismatch, InvalidConfig, Unsupported.
Result<Window> window_of(const Op& op, const Value& x, std::vector<std::size_t> kernel, bool ceil_mode);

// One to three spatial axes, padded in front with axes of extent 1.
inline ConvGeometry::Axes three(const std::vector<std::size_t>& sizes, std::size_t fill) {
  ConvGeometry::Axes axes{fill, fill, fill};
  for (std::size_t i = 0; i < sizes.size(); ++i) axes[3 - sizes.size() + i] = sizes[i];
  return axes;
}

struct Convolution {
  Window window;
  ConvSizes sizes;
  PatchLayout layout;
  Dims dims;
};

Result<Convolution> convolution_of(const Op& op, const Value& x, const Value& w);
// The convolution of ConvTranspose, whose weight is [channels, filters of a group, ...].
Result<Convolution> transposed_convolution_of(const Op& op, const Value& x, const Value& w);

Result<Window> pool_window(const Op& op);
// The pool as ops/pool has it: of floats on one to three axes, every window meets the input.
std::optional<PoolGeometry> pool_geometry(const Value& x, const Window& w);
// Returns the geometry of an average; none where its divisor differs from that of ops/pool.
std::optional<PoolGeometry> average_geometry(const Op& op, const Value& x, const Window& w);

// The shapes of a product of stacks of matrices: vectors are a row on the left and a column on the right.
struct Product {
  std::size_t m = 1, k = 0, n = 1;
  Dims batch, dims;
  std::vector<std::size_t> a, b;  // for each product the first element
};

Result<Product> product_of(const Op& op, const Value& a, const Value& b);

// The labels of the inputs' axes and of the result, and all of them with their extents: the result's first, the others
// in the order in which they appear.
struct Equation {
  std::vector<std::string> terms;
  std::string order;
  Dims walked;
  std::size_t result = 0;  // how many belong to the result
};

Result<Equation> equation_of(const Op& op);
// For each input its strides by the labels in order.
std::vector<std::vector<std::size_t>> strides_of(const Op& op, const Equation& e);

// MatMul whose constant matrix is packed, plus a row: a constant of as many f32 as the result has columns (input 2).
Result<void> product_and_row(Op& op);

// Conv of one group and few positions, whose weight is constant: sixteen filters across the lanes instead of sixteen
// positions. The same bits.
Result<void> conv_by_matrix(Op& op);

}  // namespace loom::graph
