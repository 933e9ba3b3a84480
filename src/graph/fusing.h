#pragma once
// Steps of a plan that become one:
//   - a convolution and steps that scale and shift its channels by constants (BatchNormalization, Mul, Div, Add, Sub):
//     the constants go into its weight and bias, each computed in f64 and rounded once;
//   - a product with a constant matrix and the constant row that is added to it;
//   - a convolution of few positions goes by rows of filters;
//   - steps of formulas whose results nobody else reads (ops/formula).
// Only the first changes bits. It follows from the graph, its constants and which of its values are asked for: values
// with another reader are not folded, nor is anything inside of an unrolled loop. So a value of a cell whose "output"
// leaves other outputs out may have other bits than the whole graph gives for it.

#include "graph/plan.h"

namespace loom::graph {

// `like` has the threads and kernels of the runs. Errors of steps that are measured again.
Result<void> fuse(Plan& plan, int opset, const Exec& like, FoldedWeights& folded);

}  // namespace loom::graph
