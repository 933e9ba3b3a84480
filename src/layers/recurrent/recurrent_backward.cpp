#include <algorithm>

#include "layers/adapter.h"
#include "layers/recurrent/recurrent.h"
#include "ops/elementwise/elementwise.h"
#include "ops/slices/slices.h"
#include "ops/until_cancelled.h"

namespace loom {

CellBackward Recurrent::task_back(const Run& run, const ConstView& x) const {
  CellBackward task;
  const bool fits = shape_of(run, x.shape, task.shape);
  LOOM_ASSERT(fits);  // forward has seen the same lengths
  return task;
}

// Takes the values that forward kept for this direction from the tape, and makes room for the gradients of its gates'
// sums.
void Recurrent::begin_direction(const Run& run, const ConstView& x, CellBackward& task) const {
  const Planes kept = planes(task.trace);
  for (std::size_t i = kept.count; i-- > 0;) {
    const ConstView plane = run.saved();
    // From now on the plane is only read; it is not const because forward writes through the same struct.
    *kept.all[i] = {const_cast<void*>(plane.data), plane.shape.rows(), plane.shape.cols(), plane.element};
  }
  const std::size_t sums = task.shape.cell == CellKind::Gru ? 4 : num_gates();
  for (std::size_t k = 0; k < sums; ++k) task.dsums[k] = run.tensor(x.shape.rows(), task.shape.units, x.element);
}

// Shared by the steps of a direction: their own gradients, and W_hh of all gates packed for the backward pass.
PackedOperand Recurrent::begin_steps(const Run& run, const ConstView& dy, CellBackward& task,
                                     std::size_t direction) const {
  const std::size_t batch = task.shape.batch, units = task.shape.units, gates = num_gates();
  task.dstep = run.tensor(batch, gates * units, dy.element);
  task.dh = run.tensor(batch, units, dy.element);
  fill_zero(run, task.dh);
  const std::size_t stride = dy.shape.cols();
  return with_element(dy.element, [&]<class T>() {
    const T* const from = dy.as<T>() + direction * units;
    if (config_.return_sequence)
      task.dy = from, task.dy_stride = stride;
    else
      move_slices(run, {batch, units}, dy, {direction * units, stride}, task.dh, {0, units});
    std::array<Operand, kMaxGates> weights;
    for (std::size_t g = 0; g < gates; ++g)
      weights[g] = {adapted_values<T>(run, gate(direction, g).weight_hh), units, 1};
    return pack(run, {weights.data(), gates}, units, units, dy.element);
  });
}

void Recurrent::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  CellBackward task = task_back(run, x);
  for (std::size_t d = num_directions(); d-- > 0;) {
    const ArenaScope direction(run.arena());
    begin_direction(run, x, task);
    steps_back(run, dy, task, d);
    add_products(run, x, task, d, dx);
  }
}

// Gradients of the weights of a direction, and dx. All gates meet the same x and h, and both products of a gate mostly
// the same sums: many rows are packed and laid out once.
void Recurrent::add_products(const Run& run, const ConstView& x, const CellBackward& task, std::size_t direction,
                             const View& dx) const {
  const std::size_t rows = x.shape.rows(), units = task.shape.units, block = 16 * task.shape.steps;
  constexpr std::size_t kFew = 64;  // rows that are read in place; a device reads all rows in place
  const bool shares = rows > kFew && run.gradients != nullptr && run.arena().device() == nullptr;
  const ConstTensor h = task.trace.h_before;
  SharedOperands inputs, states;
  if (shares) {
    const Operand of[] = {Operand::of(x), Operand::of(h)};
    inputs.x = pack(run, {of, 1}, rows, x.shape.cols(), x.element);
    states.x = pack(run, {of + 1, 1}, rows, units, x.element);
  }
  for (std::size_t g = 0; g < num_gates(); ++g) {
    const ArenaScope scope(run.arena());
    const Gate& weights = gate(direction, g);
    const ConstTensor sums = task.dsums[g], inner = inner_sums(task, g);
    if (shares) {
      inputs.dy = laid_out(run, Operand::transposed(sums), units, rows, x.element);
      states.dy =
          inner.data == sums.data ? inputs.dy : laid_out(run, Operand::transposed(inner), units, rows, x.element);
    }
    const bool is_first = g == 0 && direction + 1 == num_directions();
    linear_backward(run, x, weights.weight_ih, weights.bias, sums, dx, block, !is_first, shares ? &inputs : nullptr);
    linear_backward(run, h, weights.weight_hh, weights.bias_hh, inner, Tensor{}, block, false,
                    shares ? &states : nullptr);
  }
}

void Recurrent::steps_back(const Run& run, const ConstView& dy, CellBackward& task, std::size_t direction) const {
  const ArenaScope scratch(run.arena());
  if (task.shape.cell == CellKind::Lstm) {
    task.dc = run.tensor(task.shape.batch, task.shape.units, dy.element);
    fill_zero(run, task.dc);
  }
  const PackedOperand weights = begin_steps(run, dy, task, direction);
  const std::size_t steps = task.shape.steps;
  for (std::size_t s = run.rehearsal() ? 1 : steps; s-- > 0 && !is_cancelled(run);) {
    cell_backward(run, task, direction == 0 ? s : steps - 1 - s);
    if (s != 0 || run.rehearsal()) gemm(run, Operand::of(task.dstep), weights, task.dh, Into::Add);
  }
  keep_cancel(run);
}

}  // namespace loom
