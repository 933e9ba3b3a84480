#pragma once
// Steps of a plan that become one. What is fused:
//   - a convolution and what scales and shifts its channels by constants (BatchNormalization, Mul, Div, Add, Sub): the
//     constants go into its weight and bias, each computed in f64 and rounded once;
//   - a product with a constant matrix and the constant row that is added to it;
//   - a convolution of few positions goes by rows of filters;
//   - steps of formulas whose results nobody else reads (ops/formula).
// Only the first changes bits; all follow from the graph and its constants alone.

#include "layers/graph/plan.h"

namespace loom::graph {

// `like` has the threads and kernels of the runs. Errors of steps that are measured anew.
Result<void> fuse(Plan& plan, int opset, const Exec& like, FoldedWeights& folded);

}  // namespace loom::graph
