#pragma once
// Operations that are steps of a formula (ops/formula): what each is, and formulas that stand for several of them.

#include "graph/operation.h"
#include "ops/decide/decide.h"

namespace loom::graph {

// Operations that a plan computes at once.
struct Fused {
  Formula formula;
  Type type = Type::none;
  Dims dims;
};

// The step that the operation is over its inputs (operand i is input i). Null where it is none: inputs that are no
// floats of one type, and bounds that only a run knows.
std::optional<FormulaStep> step_of(const Node& node, int opset, std::span<const Value* const> ins);

// The operation by its step_of().
Result<void> by_formula(Op& op, const FormulaStep& step);
// On a card: the operation over its first inputs, whose words are f32 or truth values on the device.
Result<void> by_decision(Op& op, Decision how, const Value& y);
// Runs the formula of op.fused.
Result<void> fused_op(Op& op);

}  // namespace loom::graph
