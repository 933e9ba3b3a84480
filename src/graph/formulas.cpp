#include "graph/formulas.h"

#include <algorithm>
#include <array>

namespace loom::graph {
namespace {

struct KindRow {
  std::string_view op;
  FormulaKind kind;
  Activation activation = Activation::Linear;
};
constexpr std::array kKinds{
    KindRow{"Add", FormulaKind::Add},
    KindRow{"Sub", FormulaKind::Subtract},
    KindRow{"Mul", FormulaKind::Multiply},
    KindRow{"Div", FormulaKind::Divide},
    KindRow{"Max", FormulaKind::Larger},
    KindRow{"Min", FormulaKind::Smaller},
    KindRow{"Clip", FormulaKind::Clip},
    KindRow{"HardSigmoid", FormulaKind::HardSigmoid},
    KindRow{"Neg", FormulaKind::Negate},
    KindRow{"Abs", FormulaKind::Size},
    KindRow{"Pow", FormulaKind::Square},
    KindRow{"Sqrt", FormulaKind::Root},
    KindRow{"Reciprocal", FormulaKind::Inverse},
    KindRow{"Exp", FormulaKind::Exp},
    KindRow{"Log", FormulaKind::Log},
    KindRow{"Erf", FormulaKind::Erf},
    KindRow{"Relu", FormulaKind::Activate, Activation::Relu},
    KindRow{"LeakyRelu", FormulaKind::Activate, Activation::LeakyRelu},
    KindRow{"Tanh", FormulaKind::Activate, Activation::Tanh},
    KindRow{"Sigmoid", FormulaKind::Activate, Activation::Sigmoid},
    KindRow{"Softsign", FormulaKind::Activate, Activation::Softsign},
    KindRow{"HardSwish", FormulaKind::Activate, Activation::HardSwish},
    KindRow{"Mish", FormulaKind::Activate, Activation::Mish},
    KindRow{"Gelu", FormulaKind::Activate, Activation::GeluExact},
};

double number_of(const Node& node, std::string_view key, double fallback) {
  const Attribute* const a = node.find(key);
  return a != nullptr && a->kind == Attribute::Kind::number ? a->number : fallback;
}

// False where a bound is no number that is known.
bool read_bounds(const Node& node, int opset, std::span<const Value* const> ins, FormulaStep& step) {
  constexpr double kInfinity = __builtin_huge_val();
  if (opset < 11) {
    step.low = number_of(node, "min", -kInfinity), step.high = number_of(node, "max", kInfinity);
    return true;
  }
  step.low = -kInfinity, step.high = kInfinity;
  for (std::size_t i = 1; i < std::min<std::size_t>(ins.size(), 3); ++i) {
    if (ins[i] == nullptr) continue;
    if (!ins[i]->known || ins[i]->elements() != 1 || ins[i]->type != ins[0]->type) return false;
    (i == 1 ? step.low : step.high) = ins[i]->number(0);
  }
  return true;
}

// Null where there is no stretched form.
Result<Dims> dims_of(std::span<const Value* const> ins, std::size_t n) {
  Dims dims = ins[0]->dims;
  for (std::size_t i = 1; i < n; ++i) {
    LOOM_TRY(dims, broadcast(dims, ins[i]->dims));
  }
  return dims;
}

void run(const Exec& exec, const Formula& formula, std::span<const Value* const> ins, const Value& y) {
  std::array<std::vector<std::size_t>, kFormulaInputs> strides;
  std::array<FormulaInput, kFormulaInputs> inputs;
  for (std::size_t i = 0; i < formula.num_inputs(); ++i) {
    strides[i] = stretched_strides(ins[i]->dims, y.dims);
    inputs[i] = {ins[i]->data, strides[i]};
  }
  evaluate(exec, formula, std::span(inputs).first(formula.num_inputs()), y.dims, y.data, element_of_value(y));
}

}  // namespace

std::optional<FormulaStep> step_of(const Node& node, int opset, std::span<const Value* const> ins) {
  const auto row = std::ranges::find(kKinds, std::string_view(node.op), &KindRow::op);
  if (row == kKinds.end() || ins.empty() || ins[0] == nullptr || !is_float(ins[0]->type)) return std::nullopt;
  FormulaStep step;
  step.kind = row->kind, step.fn = row->activation;
  if (has_two_operands(step.kind)) {
    if (ins.size() != 2 || ins[1] == nullptr || ins[1]->type != ins[0]->type) return std::nullopt;
    step.b = 1;
  }
  switch (step.kind) {
    case FormulaKind::Clip:
      if (!read_bounds(node, opset, ins, step)) return std::nullopt;
      break;
    case FormulaKind::HardSigmoid:
      step.low = number_of(node, "alpha", 0.2), step.high = number_of(node, "beta", 0.5);
      break;
    case FormulaKind::Square:  // the only power that is a step
      if (ins.size() != 2 || ins[1] == nullptr || !ins[1]->known || ins[1]->elements() != 1 || ins[1]->number(0) != 2 ||
          ins[1]->rank() > ins[0]->rank())
        return std::nullopt;
      break;
    case FormulaKind::Activate:
      if (step.fn.kind == Activation::LeakyRelu)
        step.fn.leaky_slope = static_cast<double>(static_cast<float>(number_of(node, "alpha", 0.01)));
      if (const Attribute* const form = node.find("approximate"); form != nullptr && form->text == "tanh")
        step.fn.kind = Activation::Gelu;
      break;
    default: break;
  }
  return step;
}

Result<void> by_formula(Op& op, const FormulaStep& step) {
  LOOM_TRY(const Dims dims, dims_of(op.ins, has_two_operands(step.kind) ? 2 : 1));
  LOOM_TRY(Value* const y, op.out(0, op.in(0).type, dims));
  op.has_form(has_two_operands(step.kind) ? 3 : 1);
  run(op.exec, *Formula::create({&step, 1}), op.ins, *y);
  if (!op.measures()) round_to_type(*y);
  return {};
}

Result<void> by_decision(Op& op, Decision how, const Value& y) {
  const std::size_t n = how == Decision::Choose ? 3 : how == Decision::IsNan || how == Decision::Not ? 1 : 2;
  op.has_form((1u << n) - 1, true);
  if (!op.is_on_card() || op.form == 0) return {};
  std::array<std::vector<std::size_t>, 3> strides;
  std::array<FormulaInput, 3> inputs;
  for (std::size_t i = 0; i < n; ++i) {
    strides[i] = stretched_strides(op.in(i).dims, y.dims);
    inputs[i] = {op.in(i).data, strides[i]};
  }
  decide(op.exec, how, std::span(inputs).first(n), y.dims, y.data);
  return {};
}

Result<void> fused_op(Op& op) {
  LOOM_TRY(Value* const y, op.out(0, op.fused->type, op.fused->dims));
  op.has_form((1u << op.fused->formula.num_inputs()) - 1);
  run(op.exec, op.fused->formula, op.ins, *y);
  return {};
}

}  // namespace loom::graph
