#include <algorithm>

#include "layers/adapter.h"
#include "layers/tween.h"
#include "layers/recurrent/recurrent.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"

namespace loom {

void Recurrent::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView x = pass.tape->pop();
  CellBackward task;
  const bool fits = shape_of(exec, pass, x.shape, task.shape);
  LOOM_ASSERT(fits);  // forward has seen the same lengths
  for (std::size_t d = num_directions(); d-- > 0;) {
    const ArenaScope direction(exec.arena);
    const Planes kept = planes(task.trace);
    for (std::size_t i = kept.count; i-- > 0;) {
      const ConstView plane = pass.tape->pop();
      // Only read from here on; the trace is what forward wrote through.
      *kept.all[i] = {const_cast<void*>(plane.data), plane.shape.rows(), plane.shape.cols(), plane.element};
    }
    backward_direction(exec, pass, x, dy, dx, task, d);
  }
  std::array<const Weight*, 8> inputs{};  // at most four gates in each direction
  for (std::size_t g = 0; g < gates_.size(); ++g) inputs[g] = &gates_[g].weight_ih;
  close_targets(exec, pass, std::span(inputs).first(gates_.size()), x, dx);
}

// How far h moves with each gate's sum, which is computed anew from what forward kept.
GateSlopes Recurrent::slopes_of(const Exec& exec, const Pass& pass, const ConstView& x, const CellBackward& task, std::size_t direction) const {
  GateSlopes slopes{task.shape.cell, x.shape.rows(), task.shape.units, {}, task.trace, {}, {}};
  for (std::size_t g = 0; g < num_gates(); ++g) slopes.slopes[g] = exec.arena.tensor(slopes.rows, slopes.units, x.element);
  const ArenaScope scratch(exec.arena);
  for (std::size_t g = 0; g < num_gates(); ++g) {
    const Gate& weights = gate(direction, g);
    const bool inner = task.shape.cell == CellKind::Gru && g == 2;
    Tensor& sum = slopes.sums[g];
    sum = exec.arena.tensor(slopes.rows, slopes.units, x.element);
    linear(exec, x, weights.weight_ih, weights.bias, sum);
    const ArenaScope product(exec.arena);
    const Tensor h = exec.arena.tensor(slopes.rows, slopes.units, x.element);
    linear(exec, task.trace.h_before, weights.weight_hh, weights.bias_hh, h);
    if (inner) multiply(exec, task.trace.gates[0], h, h);
    add(exec, sum, h, sum);
    slopes.width[g] = pass.tween->secant ? secant_width(exec, sum, pass.tween->slope_step) : 0;
  }
  gate_slopes(exec, slopes);
  return slopes;
}

void Recurrent::tween_steps(const Exec& exec, const Pass& pass, CellBackward& task, const GateSlopes& slopes, const PackedOperand& weights,
                            std::size_t direction) const {
  const auto [cell, batch, steps, units, lengths] = task.shape;
  const Element element = task.dh.element;
  const Tensor carry = exec.arena.tensor(batch, units, element), sums = exec.arena.tensor(1, units, element);
  fill_zero(exec, sums);
  for (std::size_t g = 0; g < num_gates(); ++g) {
    const ArenaScope decoded(exec.arena);
    with_element(element, [&]<class T>() { add_size_of_columns(exec, {gate(direction, g).weight_hh.values<T>(exec), units, units, element}, sums.data); });
  }
  for (std::size_t s = exec.rehearsal() ? 1 : steps; s-- > 0;) {
    cell_gap(exec, task, slopes, kind_ == RecurrentKind::Rnn ? 0.5 : 1, direction == 0 ? s : steps - 1 - s);
    if (s == 0 && !exec.rehearsal()) return;
    gemm(exec, Operand::of(task.dstep), weights, carry);
    close_gap(exec, sums.data, pass.tween->weight_threshold, pass.tween->divides, {}, carry);
    add(exec, task.dh, carry, task.dh);
  }
}

// Factors of engine L-64, L-65.
double Recurrent::tween_factor(const Weight& weight) const {
  const bool hidden = std::ranges::any_of(gates_, [&](const Gate& g) { return &g.weight_hh == &weight; });
  if (kind_ == RecurrentKind::Rnn) return hidden ? 0.5 : 1;
  return hidden ? 0.1 : kind_ == RecurrentKind::Lstm ? 0.25 : 1.0 / 3;
}

void Recurrent::backward_direction(const Exec& exec, const Pass& pass, const ConstView& x, const ConstView& dy, const View& dx, CellBackward& task,
                                   std::size_t direction) const {
  const auto [cell, batch, steps, units, lengths] = task.shape;
  const std::size_t rows = x.shape.rows(), gates = num_gates(), sums = cell == CellKind::Gru ? 4 : gates;
  const Element element = x.element;
  for (std::size_t k = 0; k < sums; ++k) task.dsums[k] = exec.arena.tensor(rows, units, element);
  {
    const ArenaScope scratch(exec.arena);
    task.dstep = exec.arena.tensor(batch, gates * units, element);
    task.dh = exec.arena.tensor(batch, units, element);
    fill_zero(exec, task.dh);
    if (cell == CellKind::Lstm && pass.tween == nullptr) {
      task.dc = exec.arena.tensor(batch, units, element);
      fill_zero(exec, task.dc);
    }
    const std::size_t first_col = direction * units;
    with_element(element, [&]<class T>() {
      std::array<Operand, kMaxGates> weights;
      for (std::size_t g = 0; g < gates; ++g) weights[g] = {adapted_values<T>(exec, gate(direction, g).weight_hh), units, 1};
      const PackedOperand packed = pack(exec, {weights.data(), gates}, units, units, element);
      const T* const from = dy.as<T>() + first_col;
      if (config_.return_sequence) {
        task.dy = from, task.dy_stride = dy.shape.cols();
      } else {
        const std::size_t stride = dy.shape.cols();
        for_rows(exec, batch, units, [&](std::size_t b) { std::copy_n(from + b * stride, units, task.dh.row<T>(b)); });
      }
      if (pass.tween != nullptr) return tween_steps(exec, pass, task, slopes_of(exec, pass, x, task, direction), packed, direction);
      for (std::size_t s = exec.rehearsal() ? 1 : steps; s-- > 0;) {
        cell_backward(exec, task, direction == 0 ? s : steps - 1 - s);
        if (s != 0 || exec.rehearsal()) gemm(exec, Operand::of(task.dstep), packed, task.dh, Into::Add);
      }
    });
  }
  const std::size_t block = 16 * steps;
  for (std::size_t g = 0; g < gates; ++g) {
    const Gate& weights = gate(direction, g);
    const bool first = g == 0 && direction + 1 == num_directions();
    linear_backward(exec, pass, x, weights.weight_ih, weights.bias, task.dsums[g], dx, block, !first);
    const Tensor& inner = task.dsums[cell == CellKind::Gru && g == 2 ? 3 : g];
    linear_backward(exec, pass, task.trace.h_before, weights.weight_hh, weights.bias_hh, inner, Tensor{}, block);
  }
}

}  // namespace loom
