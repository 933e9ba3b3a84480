#pragma once
// The plans that the owner of a network keeps beside it. Either may be null.

#include <memory>

#include "network/plan/forward_plan.h"
#include "network/plan/step_plan.h"

namespace loom {

struct Plans {
  std::shared_ptr<const ForwardPlan> forward{};
  std::shared_ptr<const StepPlan> steps{};

  // Drops the plans that an edit of the network ended.
  void drop_old(const Network& network) {
    if (forward != nullptr && !forward->is_of(network)) forward.reset();
    if (steps != nullptr && !steps->is_of(network)) steps.reset();
  }
  // Returns whether shapes are known: of forward passes, or else of the step mesh.
  bool know_shapes() const { return forward != nullptr || steps != nullptr; }
  const Shape& input() const { return forward != nullptr ? forward->input() : steps->input(); }
  const Shape& shape_after(std::size_t cell) const {
    return forward != nullptr ? forward->shape_after(cell) : steps->cells()[cell].output;
  }
};

}  // namespace loom
