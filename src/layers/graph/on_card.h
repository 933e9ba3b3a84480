#pragma once
// Plans on a graphics card. Operations whose form is recorded there (Op::has_form) find their floats there; all others
// are computed here, for which what they read is brought and what they give is sent when somebody there reads it.
// Whole numbers, and with them shapes and indices, stay here; a truth value is a word there.

#include "layers/graph/plan.h"

namespace loom::graph {

// Finds the forms of the steps, on the device of `like`. The last thing of a plan.
Result<void> plan_card(Plan& plan, int opset, const Exec& like);

// Program::run() of such a plan.
Result<void> run_on_card(const Exec& exec, const Plan& plan, int opset, Work& work);

// A value of a run that is over, where the caller wants it: its numbers as Work says where they are not yet.
Result<const Value*> value_here(const Exec& exec, const Plan& plan, Work& work, std::size_t slot);
// Of f32 and truth values alone.
Result<const Value*> value_there(const Exec& exec, const Plan& plan, Work& work, std::size_t slot);

// What a run of the plan does, for a choice between this computer and the card that it is for.
struct PlanWork {
  double multiply_adds = 0, weight_bytes = 0, activation_bytes = 0, steps = 0;
  double kernels = 0;  // that run one behind the other there
  double trips = 0;    // values that the card waits for, or is waited for, in the middle
};
PlanWork work_of(const Plan& plan, int opset, const Exec& like);

// One step over these values, in `exec`; its outputs have memory in `values`.
Result<void> run_step(const Exec& exec, const Step& step, int opset, std::span<const Value* const> ins,
                      std::vector<Value>& values);

}  // namespace loom::graph
