#include "ops/formula/formula.h"

#include <array>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/formula/formula_gpu.h"

namespace loom {

std::optional<Formula> Formula::create(std::span<const FormulaStep> steps) {
  if (steps.empty() || steps.size() > kFormulaSteps) return std::nullopt;
  Formula formula;
  std::array<std::size_t, kFormulaSteps> last_use{};
  const auto use = [&](std::uint8_t operand, std::size_t at) {
    if (operand < kFormulaInputs)
      formula.num_inputs_ = std::max<std::size_t>(formula.num_inputs_, operand + 1u);
    else
      last_use[operand - kFormulaInputs] = at;
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const std::uint8_t operand : {steps[i].a, has_two_operands(steps[i].kind) ? steps[i].b : steps[i].a}) {
      LOOM_ASSERT(operand < kFormulaInputs || operand - kFormulaInputs < i);
      use(operand, i);
    }
    formula.steps_[i] = steps[i];
  }
  // A result takes the lowest slot that no result holds which is still to be read: its own step reads element by
  // element, so it may take the place of an operand.
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    std::size_t taken = 0;
    for (std::size_t k = 0; k < i; ++k)
      if (last_use[k] > i) taken |= std::size_t{1} << formula.steps_[k].slot;
    std::uint8_t slot = 0;
    while ((taken >> slot & 1u) != 0) ++slot;
    if (slot >= kFormulaSlots) return std::nullopt;
    formula.steps_[i].slot = slot;
  }
  formula.num_steps_ = steps.size();
  return formula;
}

namespace {

template <class T>
FormulaTask<T> task_of(const Formula& formula, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
                       void* y) {
  FormulaTask<T> task;
  task.steps = formula.steps().data(), task.num_steps = formula.steps().size();
  task.num_inputs = inputs.size(), task.y = static_cast<T*>(y);
  for (std::size_t k = 0; k < inputs.size(); ++k) task.inputs[k] = static_cast<const T*>(inputs[k].data);
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] == 1) continue;
    const std::size_t n = task.num_axes;
    bool joins = n != 0;
    for (std::size_t k = 0; joins && k < inputs.size(); ++k)
      joins = task.strides[k][n - 1] == inputs[k].strides[axis] * dims[axis];
    const std::size_t to = joins ? n - 1 : n;
    task.dims[to] = joins ? task.dims[to] * dims[axis] : dims[axis];
    for (std::size_t k = 0; k < inputs.size(); ++k) task.strides[k][to] = inputs[k].strides[axis];
    task.num_axes = to + 1;
  }
  if (task.num_axes == 0) {
    task.num_axes = task.dims[0] = 1;
    for (std::size_t k = 0; k < inputs.size(); ++k) task.strides[k][0] = 0;
  }
  return task;
}

}  // namespace

void evaluate(const Exec& exec, const Formula& formula, std::span<const FormulaInput> inputs,
              std::span<const std::size_t> dims, void* y, Element element) {
  LOOM_ASSERT(inputs.size() == formula.num_inputs() && dims.size() <= kFormulaAxes);
  std::size_t n = 1;
  for (const std::size_t d : dims) n *= d;
  for (const Exec& host :
       dispatch(exec, [&] { gpu::evaluate(exec, formula, task_of<float>(formula, inputs, dims, y), n); }))
    with_element(element, [&]<class T>() {
      const FormulaTask<T> task = task_of<T>(formula, inputs, dims, y);
      const FormulaKernels<T>& kernels = host.kernels.formula.of<T>();
      for_ranges(host, pieces_of(n), kPieceElements * formula.steps().size(), [&](std::size_t begin, std::size_t end) {
        const std::size_t first = begin * kPieceElements, last = std::min(n, end * kPieceElements);
        kernels.evaluate(task, first, last - first);
      });
    });
}

}  // namespace loom
