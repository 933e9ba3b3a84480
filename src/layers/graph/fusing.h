#pragma once
// Steps of a plan that become one. What is fused:
//   - a convolution and what scales and shifts its channels by constants (BatchNormalization, Mul, Div, Add, Sub): the
//     constants go into its weight and bias, each computed in f64 and rounded once;
//   - a product with a constant matrix and the constant row that is added to it;
//   - steps of formulas whose results nobody else reads (ops/formula).
// Only the first changes bits; all follow from the graph and its constants alone.

#include "layers/graph/plan.h"

namespace loom::graph {

void fuse(Plan& plan, int opset, FoldedWeights& folded);

}  // namespace loom::graph
