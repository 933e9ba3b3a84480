#include <algorithm>

#include "layers/recurrent/recurrent.h"
#include "ops/elementwise/elementwise.h"
#include "ops/slices/slices.h"
#include "ops/until_cancelled.h"

namespace loom {
namespace {

const void* values_of(const Exec& exec, const Weight& bias, Element element) {
  if (!bias.declared()) return nullptr;
  return with_element(element, [&]<class T>() -> const void* { return bias.values<T>(exec); });
}

// h into its columns of y [B, D * H].
void store_last(const Exec& exec, ConstTensor h, const View& y, std::size_t first_col) {
  move_slices(exec, {h.rows, h.cols}, h, {0, h.cols}, y, {first_col, y.shape.cols()});
}

}  // namespace

void Recurrent::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  CellForward task;
  if (!shape_of(run, x.shape, task.shape)) return;
  const std::size_t batch = task.shape.batch, units = task.shape.units, all = num_directions() * batch;
  RecurrentState* const state = run.state_of(*this, run.states.recurrent);
  if (state != nullptr && run.rehearsal())
    state->plan({num_directions(), batch, units}, kind_ == RecurrentKind::Lstm, config_.stateful);
  const bool lies_in_session = state != nullptr && state->h != nullptr;
  Tensor h{lies_in_session ? state->h : run.tensor(all, units, x.element).data, all, units, x.element}, c = h;
  if (kind_ == RecurrentKind::Lstm) c.data = lies_in_session ? state->c : run.tensor(all, units, x.element).data;
  if (!lies_in_session || !state->continues) {
    fill_zero(run, h);
    if (c.data != h.data) fill_zero(run, c);
  }
  for (std::size_t d = 0; d < num_directions(); ++d) {
    const ArenaScope direction(run.arena(), run.keeps());
    const std::size_t offset = d * batch * units * bytes_of(x.element);
    task.h = {static_cast<std::byte*>(h.data) + offset, batch, units, x.element};
    task.c = {static_cast<std::byte*>(c.data) + offset, batch, units, x.element};
    forward_direction(run, x, y, task, d);
    if (!config_.return_sequence) store_last(run, task.h, y, d * units);
  }
  run.save(x);
}

void Recurrent::forward_direction(const Run& run, const ConstView& x, const View& y, CellForward& task,
                                  std::size_t direction) const {
  const auto [cell, batch, steps, units, lengths] = task.shape;
  const std::size_t rows = x.shape.rows(), gates = num_gates();
  std::array<LinearJob, kMaxGates> inputs, recurrent;
  for (std::size_t g = 0; g < gates; ++g) {
    task.x_products[g] = run.tensor(rows, units, x.element);
    inputs[g] = {&gate(direction, g).weight_ih, nullptr, task.x_products[g]};
  }
  // All gates of all steps at once; the bias comes after both products (L-60).
  linear(run, x, {inputs.data(), gates});
  task.trace = {};
  if (run.keeps()) {
    // Values of the gates take the place of their products.
    for (std::size_t g = 0; g < gates; ++g) task.trace.gates[g] = task.x_products[g];
    const Planes kept = planes(task.trace);
    for (Tensor* const plane : kept.span()) {
      if (plane->data == nullptr) *plane = run.tensor(rows, units, x.element);
      run.save(ConstView{plane->data, *x.shape.with_cols(units), x.element});
    }
  }
  const ArenaScope scratch(run.arena());
  for (std::size_t g = 0; g < gates; ++g) {
    task.h_products[g] = run.tensor(batch, units, x.element);
    recurrent[g] = {&gate(direction, g).weight_hh, nullptr, task.h_products[g]};
    task.bias[g] = values_of(run, gate(direction, g).bias, x.element);
    if (cell == CellKind::Gru && g == 2) task.bias_hh = values_of(run, gate(direction, g).bias_hh, x.element);
  }
  if (config_.return_sequence) {
    task.y = static_cast<std::byte*>(y.data) + direction * units * bytes_of(x.element);
    task.y_stride = y.shape.cols();
  }
  // Every step takes the same memory.
  for (std::size_t s = 0; s < (run.rehearsal() ? 1 : steps) && !is_cancelled(run); ++s) {
    linear(run, task.h, {recurrent.data(), gates});
    cell_forward(run, task, direction == 0 ? s : steps - 1 - s);
  }
  keep_cancel(run);
}

}  // namespace loom
