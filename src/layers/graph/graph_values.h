#pragma once
// Limits and conversions of numbers that the forward and the backward pass of a graph in a cell share.

#include "graph/plan.h"
#include "layers/run.h"

namespace loom {

inline constexpr std::size_t kMostGraphPlans = 8;  // shapes of inputs that a layer keeps plans for
// Limits of all values of a plan; fixed inputs come from the file.
inline constexpr graph::ProgramOptions kGraphLimits{.max_bytes = std::uint64_t{1} << 32, .calls_give_inputs = false};

// Gives the plan's input the numbers of x, in its type. Numbers that need no change stay on the card.
Result<void> give_input(const Run& run, graph::Work& work, const graph::Plan& plan, std::size_t input,
                        const ConstTensor& x);
// Writes an output of the plan to y.
Result<void> take_output(const Run& run, const graph::Plan& plan, graph::Work& work, std::size_t output,
                         const Tensor& y);

}  // namespace loom
