#pragma once
// Plans on a graphics card. Operations that are recorded for the card (Op::has_form) find their floats in its memory.
// The host computes all others: their inputs are copied to the host, and their outputs to the card when an operation of
// the card reads them. Whole numbers, and with them shapes and indices, stay on the host; a truth value is a word on
// the card.

#include "graph/plan.h"

namespace loom::graph {

// Finds the forms of the steps, on the device of `like`. The last thing of a plan.
Result<void> plan_card(Plan& plan, int opset, const Exec& like);

// Program::run() of such a plan.
Result<void> run_on_card(const Exec& exec, const Plan& plan, int opset, Work& work);

// A value of a finished run, on the host: it is copied from the card if the host does not have it (Work::place).
Result<const Value*> host_value(const Exec& exec, const Plan& plan, Work& work, std::size_t slot);
// Like host_value(), on the card; for f32 and truth values alone.
Result<const Value*> device_value(const Exec& exec, const Plan& plan, Work& work, std::size_t slot);

// The work of a run of the plan, for a choice between the host and the plan's card.
struct PlanWork {
  double multiply_adds = 0, weight_bytes = 0, activation_bytes = 0, steps = 0;
  double kernels = 0;  // that run one after the other on the card
  double trips = 0;    // values that the card or the host waits for in the middle
};
PlanWork work_of(const Plan& plan, int opset, const Exec& like);

// One step over these values, in `exec`; its outputs have memory in `values`.
Result<void> run_step(const Exec& exec, const Step& step, int opset, std::span<const Value* const> ins,
                      std::vector<Value>& values);

}  // namespace loom::graph
