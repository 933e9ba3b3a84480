// Backpropagation through ticks (engine M-10): newest tick first, cells descending; the gradient of a cell's input is
// added to the gradient of its source's output in the tick before. Operations run again on their captured inputs, so a
// captured tick costs a copy, not a tape. Gaps of target propagation go the same way (M-11), or through the last tick
// alone.

#include <algorithm>

#include "backend/pass_error.h"
#include "core/checked.h"
#include "core/fp_environment.h"
#include "network/merge.h"
#include "network/mesh/step_mesh.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

Result<void> StepMesh::allocate_gradients() {
  LOOM_TRY(gradients_, Gradients::create(network_->weights(), element(), options_.device));
  return {};
}

Result<void> StepMesh::allocate_way() {
  const std::size_t ticks = std::max<std::size_t>(options_.history_capacity, 1);
  LOOM_TRY(const std::size_t both, checked_mul(layout_.value_bytes, 2));
  LOOM_TRY(back_.values, Memory::create(options_.device, both));
  LOOM_TRY(const std::size_t ports, checked_mul(layout_.port_bytes, ticks));
  LOOM_TRY(back_.ports, Memory::create(options_.device, ports, true));
  LOOM_TRY(back_.recurrent, Memory::create(options_.device, layout_.recurrent_bytes));
  for (std::size_t k = 0; k < recurrent_.size(); ++k) {
    if (recurrent_at_[k] == StepCell::kNone) continue;
    RecurrentState& state = recurrent_[k];
    state.h = back_.recurrent.data() + recurrent_at_[k];
    state.c = state.has_cell ? back_.recurrent.data() + recurrent_at_[k] +
                                   round_up(state.shape.elements() * bytes_of(element()), Buffer::kAlignment)
                             : nullptr;
    state.continues = true;
  }
  back_.metas = metas_;
  back_.skipped.resize(back_.sources.size());
  back_.known.resize(2 * cells_.size()), back_.counts.resize(2 * cells_.size());
  back_.port_gradients.reserve(ticks);
  return {};
}

Result<void> StepMesh::prepare_gaps(const TweenRules* rules, Gradients& gradients) {
  if (!options_.keep_inputs)
    return fail(Code::InvalidState, "target propagation needs a step mesh that was created with keep_inputs");
  if (cells_.empty()) return fail(Code::InvalidState, "the step mesh has no plan since an edit of its network");
  LOOM_TRY_VOID(check_current());
  const FpEnvironment environment;
  std::vector<ConstView> sources = rehearsal_sources();
  back_.sources.resize(sources.size());
  const BackwardTask task{&gradients, rules};
  Arena::Mark peak;
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    const StepCell& cell = cells_[i].cell;
    if (!cell.starts) continue;
    peak = peak.max({cells_[i].input_bytes + 2 * Buffer::kAlignment, 0});
    if (cell.operation == nullptr) continue;
    if (auto done = rehearse_cell(cells_[i], *pool_, sources, peak, &task); !done)
      return under(network_->steps(i), std::move(done).error());
  }
  if (!arenas_[0].holds(peak)) {
    const Arena::Mark room = room_.max(peak);  // steps and backward() use this arena too
    LOOM_TRY(arenas_[0], Arena::create(room.plus(Buffer::kAlignment), options_.device));
    room_ = room;
  }
  if (back_.known.empty()) LOOM_TRY_VOID(allocate_way());
  back_.gap_rules = rules;
  return {};
}

View StepMesh::gradient_of(std::size_t half, std::size_t cell) const {
  return {back_.values.data() + half * layout_.value_bytes + cells_[cell].value, cells_[cell].cell.output, element()};
}

// A cell that never starts has no memory for a gradient; zeros stood for its output, so it takes none.
void StepMesh::add_gradient(const Exec& exec, std::size_t half, std::size_t cell, const ConstTensor& gradient) {
  if (!cells_[cell].cell.starts) return;
  const View sum = gradient_of(half, cell);
  std::uint8_t& known = back_.known[half * cells_.size() + cell];
  known ? add(exec, sum, gradient, sum) : copy(exec, gradient, sum);
  known = 1;
  ++back_.counts[half * cells_.size() + cell];
}

Result<void> StepMesh::check_gradients(const StepState& s, std::span<const StepGradient> gradients) const {
  LOOM_TRY_VOID(check_current());
  if (!options_.backward || s.mesh_ != this || s.is_void())
    return fail(Code::InvalidState, "backward() needs a state of a mesh that was created for it");
  if (s.history() == 0) return fail(Code::NoHistory, "no tick was captured since the last one that was not");
  for (const StepGradient& g : gradients) {
    if (g.cell >= cells_.size()) return fail(Code::OutOfRange, "cell {} of {}", g.cell, cells_.size());
    if (g.back >= s.history())
      return fail(Code::NoHistory, "a gradient for the tick {} ticks ago, {} are captured, the last one {} ago", g.back,
                  s.history(), s.history() - 1);
    if (!(g.dy.shape == cells_[g.cell].cell.output) || g.dy.element != element())
      return fail(Code::ShapeMismatch, "a gradient of shape {} for {}, whose output has {}", g.dy.shape.text(),
                  network_->place_text(g.cell), cells_[g.cell].cell.output.text());
  }
  return {};
}

Result<std::span<const ConstView>> StepMesh::backward(StepState& s, const ConstView& dy, std::size_t truncation,
                                                      const std::atomic<bool>* cancel) {
  const StepGradient last{0, cells_.size() - 1, dy};
  return backward(s, std::span(&last, 1), truncation, cancel);
}

Result<std::span<const ConstView>> StepMesh::backward(StepState& s, std::span<const StepGradient> gradients,
                                                      std::size_t truncation, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_gradients(s, gradients));
  const BackwardTask task{.gradients = &gradients_, .cancel = cancel};
  LOOM_TRY_VOID(go_back(s, gradients, std::min(s.history(), truncation), task));
  return std::span<const ConstView>(back_.port_gradients);
}

Result<ConstView> StepMesh::propagate_gaps(const StepState& s, const ConstView& gap, const TweenRules* rules,
                                           std::size_t ticks, Gradients& gradients, StepCarrier& carrier,
                                           const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_current());
  if (s.mesh_ != this) return fail(Code::InvalidArgument, "the state belongs to another step mesh");
  if (s.is_void()) return fail(Code::InvalidState, "the mesh has taken a new plan without this state");
  if (!back_.gap_rules || *back_.gap_rules != rules)
    return fail(Code::InvalidState, "gaps are carried after prepare_gaps() for the same rules");
  if (ticks != 0 && s.history() == 0)
    return fail(Code::NoHistory, "no tick was captured since the last one that was not");
  if (!s.history_.is_kept()) return fail(Code::InvalidState, "target propagation follows a tick");
  const StepGradient last{0, cells_.size() - 1, gap};
  if (!(gap.shape == cells_.back().cell.output) || gap.element != element())
    return fail(Code::ShapeMismatch, "a gap of shape {}, the last cell's output has {}", gap.shape.text(),
                cells_.back().cell.output.text());
  const BackwardTask task{&gradients, rules, &carrier, ticks == 0, cancel};
  LOOM_TRY_VOID(go_back(s, std::span(&last, 1), ticks == 0 ? 1 : std::min(s.history(), ticks), task));
  return back_.port_gradients[0];
}

Result<void> StepMesh::go_back(const StepState& s, std::span<const StepGradient> gradients, std::size_t ticks,
                               const BackwardTask& task) {
  const FpEnvironment environment;
  const Exec exec = together(task.cancel);
  const std::size_t n = cells_.size();
  std::ranges::fill(back_.known, std::uint8_t{0}), std::ranges::fill(back_.counts, 0u);
  back_.port_gradients.clear();
  for (std::size_t back = 0; back < ticks && !exec.status; ++back) {
    // Gradients of this tick's outputs are stored in `half`, those of the previous tick in the other half; the next
    // iteration swaps them.
    const std::size_t half = back % 2;
    for (const StepGradient& g : gradients)
      if (g.back == back) add_gradient(exec, half, g.cell, g.dy);
    const auto others = static_cast<std::ptrdiff_t>((half ^ 1) * n), end = others + static_cast<std::ptrdiff_t>(n);
    std::fill(back_.known.begin() + others, back_.known.begin() + end, std::uint8_t{0});
    std::fill(back_.counts.begin() + others, back_.counts.begin() + end, 0u);
    const bool had_port = s.history_.held(s.history_.index(back))[n] != 0;
    std::byte* const port = back_.ports.data() + back * layout_.port_bytes;
    if (had_port) fill_zero(exec, block(port, layout_.port_bytes));
    back_.port_gradients.push_back({had_port ? port : nullptr, layout_.input, element()});
    backward_tick(exec, s, back, task);
  }
  if (exec.status) return error_of_pass(exec);
  return {};
}

void StepMesh::backward_tick(const Exec& exec, const StepState& s, std::size_t back, const BackwardTask& task) {
  const std::size_t index = s.history_.index(back), half = back % 2, sources = task.one_tick ? half : half ^ 1,
                    n = cells_.size();
  const Captured slot{s.history_.held(index), s.history_.slot(index)};
  if (layout_.recurrent_bytes != 0)
    copy(exec, block(slot.memory + layout_.slot_recurrent, layout_.recurrent_bytes),
         block(back_.recurrent.data(), layout_.recurrent_bytes));
  if (!metas_.empty()) back_.metas = s.history_.metas(index);
  for (std::size_t k = 0; k < back_.sources.size(); ++k) {
    const std::size_t cell = step_plan_->source_of_slot(k);
    back_.sources[k] = {};
    back_.skipped[k] = {skips_[k] == StepCell::kNone ? zeros_.data() : slot.memory + skips_[k],
                        cells_[cell].cell.output, element()};
    if (slot.held[cell] == 0 || !cells_[cell].cell.starts) continue;  // zeros stood for it
    back_.sources[k] = gradient_of(sources, cell);
    if (back_.known[sources * n + cell]) continue;  // the last cell's own
    fill_zero(exec, back_.sources[k]);
    back_.known[sources * n + cell] = 1;
  }
  if (watch_ != nullptr)
    watch_->begin(task.carrier != nullptr ? PassKind::Tween : PassKind::Backward, s.history_.tick(index).step,
                  step_plan_->wiring());
  Run run(exec);
  run.wiring = &step_plan_->wiring();
  run.states.recurrent = recurrent_, run.states.metas = back_.metas, run.cells = {back_.skipped, back_.sources};
  run.training = s.history_.tick(index).training, run.seed = network_->settings.seed,
  run.step = static_cast<std::uint32_t>(s.history_.tick(index).step);
  run.tape = &back_.tape, run.gradients = task.gradients;
  std::size_t next_source = back_.sources.size();
  for (std::size_t i = n; i-- > 0 && !exec.status;) {
    // Within one tick a gradient that a skip sends to a cell whose turn has come is dropped: it goes to the unused
    // half.
    if (task.one_tick && next_source > 0 && step_plan_->source_of_slot(next_source - 1) == i &&
        back_.sources[--next_source].data != nullptr) {
      back_.sources[next_source] = gradient_of(half ^ 1, i);
      fill_zero(exec, back_.sources[next_source]);
    }
    if (task.cancel != nullptr && task.cancel->load(std::memory_order_relaxed))
      exec.status = Error{Code::Cancelled, "cancelled by the caller"};
    // back_.known includes zeros that were filled in for skips; gaps count only if a consumer sent one.
    const bool wanted = task.carrier != nullptr ? back_.counts[half * n + i] != 0 : back_.known[half * n + i] != 0;
    if (wanted && !exec.status) backward_cell(run, slot, i, back, task);
    if (exec.status) exec.status->under(network_->steps(i));
  }
}

void StepMesh::backward_cell(Run& run, const Captured& slot, std::size_t i, std::size_t back,
                             const BackwardTask& task) {
  const Exec& exec = run.exec;
  const CellLayout& plan = cells_[i];
  const View dy = gradient_of(back % 2, i);
  if (!ran(slot.held, i)) {  // it kept what it had
    if (slot.held[i] != 0 && !task.one_tick) add_gradient(exec, back % 2 ^ 1, i, dy);
    return;
  }
  const std::uint32_t consumers = back_.counts[back % 2 * cells_.size() + i];
  if (task.tween != nullptr && consumers > 1) scale(exec, dy, 1 / static_cast<double>(consumers), dy);  // engine W-31
  exec.arena.clear();  // a cell that only joins what it reads takes memory for the parts, too
  if (plan.cell.operation == nullptr) return pass_back(exec, slot, i, back, dy, task);
  back_.tape.clear();
  const ConstView x{slot.memory + plan.captured, plan.cell.input, element()};
  run.watch = task.carrier;
  if (task.carrier != nullptr) task.carrier->begin_cell(i, back);
  // Rebuilds the tape of this tick from the captured input.
  run_forward(*plan.cell.operation, run, x, exec.arena.view(plan.cell.output, element()));
  if (exec.status) return;
  const View dx = exec.arena.view(plan.cell.input, element());
  BothWatches both(task.carrier, watch_);
  run.watch = task.carrier == nullptr ? watch_ : watch_ == nullptr ? static_cast<LayerWatch*>(task.carrier) : &both;
  run_backward(*plan.cell.operation, run, dy, dx, task.tween);
  if (exec.status) return;
  const std::size_t sources = (task.one_tick ? back : back + 1) % 2 * cells_.size();
  for (auto use = std::ranges::lower_bound(skip_uses_, std::pair{i, std::size_t{0}});
       use != skip_uses_.end() && use->first == i; ++use)
    if (back_.sources[use->second].data != nullptr) ++back_.counts[sources + step_plan_->source_of_slot(use->second)];
  pass_back(exec, slot, i, back, dx, task);
}

// Adds the gradient of a cell's input to the gradients of its sources in the tick before.
void StepMesh::pass_back(const Exec& exec, const Captured& slot, std::size_t i, std::size_t back, const ConstView& dx,
                         const BackwardTask& task) {
  const StepCell& cell = cells_[i].cell;
  const std::size_t half = task.one_tick ? back % 2 : back % 2 ^ 1;
  const bool has_link = cell.link != StepCell::kNone && slot.held[cell.link] != 0;
  const auto to_source = [&](const ConstTensor& d) {
    if (i > 0) return add_gradient(exec, half, i - 1, d);
    const View port{back_.ports.data() + back * layout_.port_bytes, layout_.input, element()};
    add(exec, port, d, port);
  };
  // Within one tick a feedback link leads to a cell whose turn is over (link >= i): its gradient is dropped.
  const auto to_link = [&](const ConstTensor& d) {
    if ((cell.feed == Merge::Replace || has_link) && (!task.one_tick || cell.link < i))
      add_gradient(exec, half, cell.link, d);
  };
  split_gradient(exec, cell.feed, dx, cell.source.cols(), to_source, to_link);
}

}  // namespace loom
