#include "layers/s6/s6.h"

#include <array>
#include <cmath>

#include "core/checked.h"
#include "layers/lengths.h"
#include "layers/tween.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace loom {

constinit const LayerKind S6::kKind{
    .id = 32,
    .name = "s6",
    .aliases = "mambassm|selectivessm",
    .help = "h_t = exp(dt a) h_(t-1) + dt b x_t, y_t = c h_t + d_skip x_t, where x_t makes dt, b and c (Mamba's scan)",
    .shapes = "[B, T, d_inner] -> the same shape",
    .make = make_layer<S6>,
    .width_key = "input_height"};

void S6::fields(FieldVisitor& visit) {
  visit({"input_height|input_size|d_inner", "Required. Channels D"}, config_.input_height, {1});
  visit({"state_size|d_state", "States of a channel"}, config_.state_size, {1});
  visit({"dt_rank|time_step_rank", "Rank of the product that makes dt; 0: D / 16, rounded up"}, config_.dt_rank);
  visit({"bias", "Adds a bias to dt before softplus"}, config_.bias);
  visit({"stateful", "A session's next call goes on from the last state; else each call begins at 0"},
        config_.stateful);
}

Result<void> S6::build() {
  const std::size_t d = config_.input_height, n = config_.state_size, r = rank();
  using Rule = WeightInit::Rule;
  const double of_x = 1 / std::sqrt(static_cast<double>(d)), of_low = 1 / std::sqrt(static_cast<double>(r));
  LOOM_TRY_VOID(dt_in_.declare("dt_in.weight", WeightRole::Matrix, std::array{r, d}, {Rule::Uniform, d, r, of_x}));
  LOOM_TRY_VOID(dt_.declare("dt.weight", WeightRole::Matrix, std::array{d, r}, {Rule::Uniform, r, d, of_low}));
  LOOM_TRY_VOID(b_.declare("b.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Uniform, d, n, of_x}));
  LOOM_TRY_VOID(c_.declare("c.weight", WeightRole::Matrix, std::array{n, d}, {Rule::Uniform, d, n, of_x}));
  LOOM_TRY_VOID(a_log_.declare("a_log", WeightRole::Vector, std::array{d, n}, {Rule::LogCount}));
  LOOM_TRY_VOID(d_skip_.declare("d_skip", WeightRole::Vector, std::array{d}, {Rule::Ones}));
  if (!config_.bias) return {};
  return dt_bias_.declare("dt.bias", WeightRole::Vector, std::array{d}, {Rule::InverseSoftplus});
}

void S6::visit_weights(const std::function<void(Weight&)>& visit) {
  for (Weight* w : {&dt_in_, &dt_, &dt_bias_, &b_, &c_, &a_log_, &d_skip_})
    if (w->declared()) visit(*w);
}

std::optional<StateNeeds> S6::state_needs() const {
  StateNeeds needs;
  needs.recurrent = true, needs.stateful = config_.stateful;
  return needs;
}

Result<Shape> S6::output_shape(const Shape& input) const {
  const std::size_t d = config_.input_height;
  if (input.rank() != 2 && input.rank() != 3)
    return fail(Code::ShapeMismatch,
                "s6: an input of shape {}, sequences [batch, steps, {}] or one [steps, {}] expected", input.text(), d,
                d);
  if (input.cols() != d)
    return fail(Code::ShapeMismatch, "s6: {} input features, the weights have {}", input.cols(), d);
  LOOM_TRY(const std::size_t states, checked_mul(d, config_.state_size));
  LOOM_TRY_VOID(input.with_cols(states));
  LOOM_TRY_VOID(input.with_cols(rank()));
  return input;
}

bool S6::shape_of(const Run& run, const Shape& x, ScanShape& shape) const {
  shape = {x.rank() == 3 ? x[0] : 1, x[x.rank() - 2], config_.input_height, config_.state_size, nullptr};
  return lengths_of(run, kind(), shape.batch, shape.steps, shape.lengths);
}

Scan S6::scan_of(const Run& run, const ScanShape& shape, const Kept& k) const {
  const Tensor a = run.tensor(shape.states, shape.channels, k.x.element);
  return with_element(k.x.element, [&]<class T>() {
    const T* const skip = d_skip_.values<T>(run);
    const ArenaScope decoded(run.arena());
    scan_rates(run, a_log_.values<T>(run), shape, a.element, a.data);
    return Scan{shape, k.x, k.dt, k.b, k.c, a.data, skip};
  });
}

// Returns the session's state, zeros unless the call continues it; without a session's state, zeros of the call's own.
Tensor S6::first_state(const Run& run, const ScanShape& shape, Element element) const {
  const std::size_t states = shape.states * shape.channels;
  RecurrentState* const state = run.state_of(*this, run.states.recurrent);
  if (state != nullptr && run.rehearsal()) state->plan({1, shape.batch, states}, false, config_.stateful);
  const bool lies_in_session = state != nullptr && state->h != nullptr;
  const Tensor h{lies_in_session ? state->h : run.tensor(shape.batch, states, element).data, shape.batch, states,
                 element};
  if (!lies_in_session || !state->continues) fill_zero(run, h);
  return h;
}

void S6::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  ScanShape shape;
  if (!shape_of(run, x.shape, shape)) return;
  const auto view = [&](std::size_t cols) { return run.view(*x.shape.with_cols(cols), x.element); };
  const View low = view(rank()), b = view(shape.states), c = view(shape.states), pre = view(shape.channels);
  const View dt = run.keeps() ? view(shape.channels) : pre;
  const View before = run.keeps() ? view(shape.states * shape.channels) : View{};
  linear(run, x, std::array{LinearJob{&dt_in_, nullptr, low}, LinearJob{&b_, nullptr, b}, LinearJob{&c_, nullptr, c}});
  linear(run, low, dt_, dt_bias_, pre);
  activate(run, Activation::Softplus, pre, dt);
  const ArenaScope scratch(run.arena());
  const Scan scan = scan_of(run, shape, {x, low, b, c, pre, dt, before});
  selective_scan(run, scan, first_state(run, shape, x.element), run.keeps() ? Tensor(before) : Tensor{}, y);
  run.save(x, low, b, c, pre, dt, before);
}

S6::Kept S6::kept(const Run& run) const {
  const auto [x, low, b, c, pre, dt, before] = run.saved<7>();
  return {x, low, b, c, pre, dt, before};
}

void S6::add_of_samples(const Run& run, const Tensor& each, const Weight& weight) const {
  if (void* gradient = run.gradient(weight))
    add_channel_sums(run, {each.rows, each.cols, 1}, each, nullptr, 16, gradient);
}

void S6::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const Kept k = kept(run);
  ScanShape shape;
  const bool fits = shape_of(run, k.x.shape, shape);
  LOOM_ASSERT(fits);  // forward has seen the same lengths
  const Scan scan = scan_of(run, shape, k);
  const Element element = k.x.element;
  ScanGradients to{dx,
                   run.view(k.x.shape, element),
                   run.view(k.b.shape, element),
                   run.view(k.b.shape, element),
                   run.tensor(shape.batch, shape.channels * shape.states, element),
                   run.tensor(shape.batch, shape.channels, element)};
  if (dx.data == nullptr) to.dx = run.view(k.x.shape, element);
  selective_scan_backward(run, scan, k.before, dy, to);
  add_of_samples(run, to.da_log, a_log_);
  add_of_samples(run, to.dskip, d_skip_);
  const std::size_t block = 16 * shape.steps;
  activate_backward(run, Activation::Softplus, k.pre, to.ddt, to.ddt);
  const View dlow = run.view(k.low.shape, element);
  linear_backward(run, k.low, dt_, dt_bias_, to.ddt, dlow, block);
  linear_backward(run, k.x, dt_in_, none_, dlow, dx, block, true);
  linear_backward(run, k.x, b_, none_, to.db, dx, block, true);
  linear_backward(run, k.x, c_, none_, to.dc, dx, block, true);
}

void S6::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const Kept k = kept(run);
  ScanShape shape;
  const bool fits = shape_of(run, k.x.shape, shape);
  LOOM_ASSERT(fits);
  const View asked = d.data != nullptr ? d : run.view(k.x.shape, e.element), reads = run.view(k.x.shape, e.element);
  const Tensor dskip = run.tensor(shape.batch, shape.channels, e.element);
  selective_scan_gap(run, scan_of(run, shape, k), e, asked, reads, dskip);
  add_of_samples(run, dskip, d_skip_);
  const std::size_t all = k.x.shape.elements();
  close_gap(run, reads.data, rules.weight_threshold, true, {}, {asked.data, 1, all, e.element});
}

}  // namespace loom
