// Targets through the steps of a recurrent layer (engine L-64, L-65): the gap of h goes to each gate's sum by how far h
// moves with it, the other gates fixed, and on to the state before through W_hh.

#include <algorithm>

#include "layers/recurrent/recurrent.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"
#include "ops/until_cancelled.h"

namespace loom {

void Recurrent::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const ConstView x = run.saved();
  CellBackward task = task_back(run, x);
  for (std::size_t direction = num_directions(); direction-- > 0;) {
    const ArenaScope direction_scope(run.arena());
    begin_direction(run, x, task);
    {
      const ArenaScope scratch(run.arena());
      const PackedOperand weights = begin_steps(run, e, task, direction);
      target_steps(run, rules, task, slopes_of(run, rules, x, task, direction), weights, direction);
    }
    const std::size_t block = 16 * task.shape.steps;
    for (std::size_t g = 0; g < num_gates(); ++g) {
      const Gate& weights = gate(direction, g);
      const bool is_first = g == 0 && direction + 1 == num_directions();
      linear_target(run, rules, x, weights.weight_ih, weights.bias, task.dsums[g], d, block, !is_first);
      linear_target(run, rules, task.trace.h_before, weights.weight_hh, weights.bias_hh, inner_sums(task, g), Tensor{},
                    block);
    }
  }
  std::array<const Weight*, 8> inputs{};  // at most four gates in each direction
  for (std::size_t g = 0; g < gates_.size(); ++g) inputs[g] = &gates_[g].weight_ih;
  close_targets(run, rules, std::span(inputs).first(gates_.size()), x, d);
}

// Returns how far h moves with each gate's sum. The sums are computed again from the values that forward kept.
GateSlopes Recurrent::slopes_of(const Run& run, const TweenRules& rules, const ConstView& x, const CellBackward& task,
                                std::size_t direction) const {
  GateSlopes slopes{task.shape.cell, x.shape.rows(), task.shape.units, {}, task.trace, rules.secant, {}, {}};
  for (std::size_t g = 0; g < num_gates(); ++g) {
    slopes.slopes[g] = run.tensor(slopes.rows, slopes.units, x.element);
    slopes.width[g] = run.tensor(1, 1, x.element);
  }
  const ArenaScope scratch(run.arena());
  for (std::size_t g = 0; g < num_gates(); ++g) {
    const Gate& weights = gate(direction, g);
    const bool inner = task.shape.cell == CellKind::Gru && g == 2;
    Tensor& sum = slopes.sums[g];
    sum = run.tensor(slopes.rows, slopes.units, x.element);
    linear(run, x, weights.weight_ih, weights.bias, sum);
    const ArenaScope product(run.arena());
    const Tensor h = run.tensor(slopes.rows, slopes.units, x.element);
    linear(run, task.trace.h_before, weights.weight_hh, weights.bias_hh, h);
    if (inner) multiply(run, task.trace.gates[0], h, h);
    add(run, sum, h, sum);
    if (rules.secant) secant_width(run, sum, rules.slope_step, slopes.width[g]);
  }
  gate_slopes(run, slopes);
  return slopes;
}

void Recurrent::target_steps(const Run& run, const TweenRules& rules, CellBackward& task, const GateSlopes& slopes,
                             const PackedOperand& weights, std::size_t direction) const {
  const std::size_t batch = task.shape.batch, steps = task.shape.steps, units = task.shape.units;
  const Element element = task.dh.element;
  const Tensor carry = run.tensor(batch, units, element), sums = run.tensor(1, units, element);
  fill_zero(run, sums);
  for (std::size_t g = 0; g < num_gates(); ++g) {
    const ArenaScope decoded(run.arena());
    with_element(element, [&]<class T>() {
      add_size_of_columns(run, {gate(direction, g).weight_hh.values<T>(run), units, units, element}, sums.data);
    });
  }
  for (std::size_t s = run.rehearsal() ? 1 : steps; s-- > 0 && !is_cancelled(run);) {
    cell_gap(run, task, slopes, kind_ == RecurrentKind::Rnn ? 0.5 : 1, direction == 0 ? s : steps - 1 - s);
    if (s == 0 && !run.rehearsal()) return;
    gemm(run, Operand::of(task.dstep), weights, carry);
    close_gap(run, sums.data, rules.weight_threshold, rules.divides, {}, carry);
    add(run, task.dh, carry, task.dh);
  }
  keep_cancel(run);
}

// Factors of engine L-64, L-65.
double Recurrent::tween_factor(const Weight& weight) const {
  const bool hidden = std::ranges::any_of(gates_, [&](const Gate& g) { return &g.weight_hh == &weight; });
  if (kind_ == RecurrentKind::Rnn) return hidden ? 0.5 : 1;
  return hidden ? 0.1 : kind_ == RecurrentKind::Lstm ? 0.25 : 1.0 / 3;
}

}  // namespace loom
