#pragma once
// Axes that go and axes that stay, which reductions, distributions and their gradients share.

#include "graph/operation.h"

namespace loom::graph {

// The reduced axes in order, as offsets of their elements, and the kept ones likewise.
struct Reduction {
  Dims dims;                               // of the result
  std::vector<std::size_t> kept, reduced;  // offsets
  Dims kept_dims, reduced_dims;
  std::vector<std::size_t> kept_strides, reduced_strides;
};

// No axes: all of them.
Result<Reduction> reduction_of(Op& op, std::span<const std::int64_t> axes, bool keeps);

// Lines of `n` elements, `inner` apart. Before opset 13 all axes from the given one on were one line.
struct Lines {
  std::size_t lines = 0, n = 0, inner = 1;
  std::size_t first(std::size_t line) const { return line / inner * n * inner + line % inner; }
};
Result<Lines> lines_of(const Op& op);

}  // namespace loom::graph
