#include "network/plan/forward_plan.h"

#include <algorithm>
#include <utility>

#include "graph/folding_budget.h"
#include "layers/tween.h"
#include "network/merge.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

ForwardPlan::ForwardPlan(const Network& network, const Shape& input)
    : cells_(network.cells()), grid_(network.size()), structure_(network.structure()), input_(input) {}

Result<std::shared_ptr<const ForwardPlan>> ForwardPlan::create(Network& network, const Shape& input) {
  if (!network.is_settled()) LOOM_TRY_VOID(network.settle());
  return create(std::as_const(network), input);
}

Result<std::shared_ptr<const ForwardPlan>> ForwardPlan::create(const Network& network, const Shape& input) {
  const graph::FoldingBudget folding;  // one for the graphs of all layers
  std::shared_ptr<ForwardPlan> plan(new ForwardPlan(network, input));
  LOOM_TRY(plan->links_, Links::resolve(network, PlanKind::Forward));
  LOOM_TRY_VOID(plan->infer(network));
  return plan;
}

Result<void> ForwardPlan::infer(const Network& network) {
  std::vector<ConstView> outputs(links_.sources.size());
  Shape shape = input_;
  std::size_t next_source = 0;
  std::string disabled;  // the last cell that passed its input through although it holds a layer
  for (std::size_t i = 0; i < cells_.size(); ++i) {
    if (!cells_[i].is_empty() && cells_[i].settings().is_disabled) disabled = network.place_text(i);
    if (cells_[i].runs()) {
      auto out = shape_behind(i, shape, outputs);
      if (!out) {
        if (!disabled.empty())
          out.error().message += fmt::format(" ({} is disabled and passes its input through)", disabled);
        return under(network.steps(i), std::move(out).error());
      }
      shape = *out;
      widest_ = std::max(widest_, shape.elements());
    }
    if (links_.is_source(i, next_source)) {
      links_.wiring.add_shape(shape);
      outputs[next_source++].shape = shape;
    }
    shape_after_.push_back(shape);
  }
  links_.wiring.forget_shapes();  // sessions may run other lengths
  return {};
}

constexpr std::string_view kNoTarget = "link: its target is not at hand; a plan resolves links";

Result<Shape> ForwardPlan::shape_behind(std::size_t cell, const Shape& input,
                                        std::span<const ConstView> outputs) const {
  const std::size_t slot = links_.slot_of(cell);
  if (slot == Links::kNone) return cells_[cell].operation()->wired_shape(&links_.wiring, input);
  if (slot >= outputs.size()) return fail(Code::InvalidState, "{}", kNoTarget);
  return fed_shape(cells_[cell], links_.wiring, input, outputs[slot].shape);
}

Result<Shape> ForwardPlan::output_shape(const Shape& input, std::size_t begin, std::size_t end) const {
  std::vector<ConstView> outputs(links_.sources.size());
  Shape shape = input;
  std::size_t next_source = 0;
  while (next_source < links_.sources.size() && links_.sources[next_source] < begin) ++next_source;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      auto out = shape_behind(i, shape, outputs);
      if (!out) return under(steps_of(grid_, i), std::move(out).error());
      shape = *out;
    }
    if (links_.is_source(i, next_source)) outputs[next_source++].shape = shape;
  }
  return shape;
}

// Returns the elements of the largest output of cells [begin, end), or more. Shapes were checked before.
std::size_t ForwardPlan::widest_output(const Shape& input, std::span<ConstView> outputs, std::size_t begin,
                                       std::size_t end) const {
  if (is_planned(input, begin)) return widest_;
  std::size_t widest = 0, next_source = 0;
  while (next_source < links_.sources.size() && links_.sources[next_source] < begin) ++next_source;
  Shape shape = input;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      shape = *shape_behind(i, shape, outputs);
      widest = std::max(widest, shape.elements());
    }
    if (links_.is_source(i, next_source)) outputs[next_source++].shape = shape;
  }
  return widest;
}

// Returns whether the call ends before the next cell.
static bool is_cancelled(const Run& run) {
  if (run.exec.cancel != nullptr && run.exec.cancel->load(std::memory_order_relaxed))
    run.fail({Code::Cancelled, "cancelled by the caller"});
  return run.exec.status.has_value();
}

// Runs a cell; a link that feeds it brings in the output of another cell, which has run.
void ForwardPlan::forward_cell(const Run& run, std::size_t i, const ConstView& x, const View& y) const {
  const Cell& cell = cells_[i];
  const std::size_t slot = links_.slot_of(i);
  if (slot == Links::kNone) return run_forward(*cell.operation(), run, x, y);
  if (slot >= run.cells.outputs.size() || run.cells.outputs[slot].data == nullptr)
    return run.fail({Code::InvalidState, std::string(kNoTarget)});
  const ArenaScope scope(run.arena(), run.keeps());
  const Merge merge = cell.link->share.merge();
  const ConstView& fed = run.cells.outputs[slot];
  ConstView in = fed;
  if (merge != Merge::Replace) {
    const View both = run.view(*merged_shape(merge, x.shape, fed.shape), x.element);  // checked by the plan
    merge_inputs(run, merge, x, fed, both);
    in = both;
  }
  cell.layer ? run_forward(*cell.layer, run, in, y) : copy(run, in, y);
  run.save(in);
  ran_forward(cell.link->share, run, x, y);
}

void ForwardPlan::backward_cell(const Run& run, std::size_t i, const Shape& input, const ConstView& dy, const View& dx,
                                const TweenRules* rules) const {
  const Cell& cell = cells_[i];
  const std::size_t slot = links_.slot_of(i);
  if (slot == Links::kNone) return run_backward(*cell.operation(), run, dy, dx, rules);
  if (slot >= run.cells.gradients.size()) return run.fail({Code::InvalidState, std::string(kNoTarget)});
  const ArenaScope scope(run.arena());
  const Merge merge = cell.link->share.merge();
  const ConstView in = run.saved();
  ConstView din = dy;
  if (cell.layer) {
    const View inner = run.view(in.shape, dy.element);
    run_backward(*cell.layer, run, dy, inner, rules);
    din = inner;
  }
  if (merge == Merge::Replace && dx.data != nullptr) fill_zero(run, dx);
  const auto to_input = [&](const ConstTensor& d) {
    if (dx.data != nullptr) copy(run, d, dx);
  };
  const View& to = run.cells.gradients[slot];
  split_gradient(run, merge, din, input.cols(), to_input, [&](const ConstTensor& d) { add(run, to, d, to); });
  ran_backward(cell.link->share, run, dy, dx, rules);
}

ConstView ForwardPlan::forward(const Run& call, const ConstView& x, std::size_t begin, std::size_t end) const {
  Run run = call;
  run.wiring = &links_.wiring;
  if (run.cells.outputs.size() < links_.sources.size()) {
    run.fail({Code::InvalidState, "the network has links or skips between cells, which this session does not keep"});
    return x;
  }
  for (ConstView& output : run.cells.outputs) output.data = nullptr;
  // Two buffers take turns: a cell reads one and writes the other. With a tape every cell has its own.
  std::byte* buffers[2] = {};
  if (!run.keeps())
    for (std::byte*& buffer : buffers)
      buffer = run.take<std::byte>(widest_output(x.shape, run.cells.outputs, begin, end) * bytes_of(x.element));
  const bool is_planned = this->is_planned(x.shape, begin);
  ConstView current = x;
  std::size_t turn = 0, next_source = 0;
  while (next_source < links_.sources.size() && links_.sources[next_source] < begin) ++next_source;
  for (std::size_t i = begin; i < end; ++i) {
    if (cells_[i].runs()) {
      if (is_cancelled(run)) break;
      View y{buffers[turn], is_planned ? shape_after_[i] : *shape_behind(i, current.shape, run.cells.outputs),
             x.element};
      if (run.keeps()) y = run.view(y.shape, x.element);
      turn ^= 1;
      forward_cell(run, i, current, y);
      round_activations(run, y, run.mixed);
      run.save(current);
      if (run.exec.status) run.exec.status->under(steps_of(grid_, i));
      current = y;
    }
    if (!links_.is_source(i, next_source)) continue;
    ConstView& output = run.cells.outputs[next_source++];
    output = current;
    if (run.keeps() || current.data == x.data) continue;
    const View own = run.view(current.shape, current.element);
    copy(run, current, own);
    output = own;
  }
  return current;
}

bool ForwardPlan::gives_distribution(std::size_t cell) const {
  const Layer* const operation = cells_[cell].operation();
  return operation != nullptr && operation->last_operation(&links_.wiring).kind_row().gives_distribution;
}

bool ForwardPlan::learns(std::size_t begin, std::size_t end) const {
  bool any = false;
  for (std::size_t i = begin; i < end && !any; ++i)
    if (cells_[i].runs() && cells_[i].operation() != nullptr)
      visit_running(links_.wiring, *cells_[i].operation(), [&](Layer& layer) {
        layer.visit_all_weights([&](const Weight& w) { any = any || !w.is_frozen(); });
      });
  return any;
}

void ForwardPlan::backward(const Run& call, const ConstView& dy, const View& dx, std::size_t begin, std::size_t end,
                           const TweenRules* rules) const {
  Run run = call;
  run.wiring = &links_.wiring;
  ConstView gradient = dy;
  std::size_t first = begin, turn = 0, next_source = links_.sources.size();
  while (first < end && !cells_[first].runs()) ++first;
  const std::size_t widest =
      std::max(widest_output(dx.shape, run.cells.outputs, begin, end), dx.shape.elements()) * bytes_of(dy.element);
  std::byte* const buffers[2] = {run.take<std::byte>(widest), run.take<std::byte>(widest)};
  for (std::size_t s = 0; s < links_.sources.size() && s < run.cells.gradients.size(); ++s) {
    run.cells.gradients[s] = run.view(run.cells.outputs[s].shape, dy.element);
    fill_zero(run, run.cells.gradients[s]);
  }
  while (next_source > 0 && links_.sources[next_source - 1] >= end) --next_source;
  const bool direct = links_.sources.empty() || links_.sources.front() >= first;
  for (std::size_t i = end; i-- > begin;) {
    if (next_source > 0 && links_.sources[next_source - 1] == i && --next_source < run.cells.gradients.size() &&
        gradient.data != nullptr) {
      const View sum = run.view(gradient.shape, gradient.element);
      add(run, gradient, run.cells.gradients[next_source], sum);
      gradient = mean_target(run, rules, sum, links_.source_uses[next_source] + 1);
    }
    if (!cells_[i].runs()) continue;
    if (is_cancelled(run)) return;
    if (cells_[i].layer && cells_[i].layer->kind_row().forward_only) {
      if (dx.data == nullptr && !learns(begin, i + 1)) return run.tape->clear();  // nothing needs a gradient
      if (rules != nullptr) {
        run.fail(no_backward(*cells_[i].layer));
        return void(run.exec.status->under(steps_of(grid_, i)));
      }
    }
    const ConstView input = run.saved();
    const View next =
        i == first && (direct || dx.data == nullptr) ? dx : View{buffers[turn ^= 1], input.shape, dy.element};
    backward_cell(run, i, input.shape, gradient, next, rules);
    if (next.data != nullptr) round_gradients(run, next, run.mixed);
    if (run.exec.status) run.exec.status->under(steps_of(grid_, i));
    gradient = next;
  }
  if (dx.data != nullptr && gradient.data != dx.data) copy(run, gradient, dx);
}

}  // namespace loom
