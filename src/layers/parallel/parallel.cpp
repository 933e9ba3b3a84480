#include "layers/parallel/parallel.h"

#include "layers/lengths.h"
#include "layers/tween.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Parallel::kKind{
    .id = 16,
    .name = "parallel",
    .help = "the same input to every branch, the outputs combined",
    .shapes = "input of every branch -> concat adds up one axis; add, avg and filter keep the shape of a branch",
    .make = make_layer<Parallel>,
    .inside = Inside::Branches};

void Parallel::fields(FieldVisitor& visit) {
  visit.choice({"combine_mode", "concat: side by side; add: sum; avg: mean; grid_scatter: by cells; filter: by a gate"},
               config_.combine_mode, {"concat", "add", "avg", "grid_scatter", "filter"}, Code::InvalidConfig);
  visit({"concat_axis", "concat: the axis, where the batch has axis 0; without it the last"}, config_.concat_axis);
  visit({"flatten", "concat: every output becomes [B, n] first"}, config_.flatten);
  visit.object({"scatter_grid", "grid_scatter: extents of the grid; without it 1 x 1 x branches"},
               [this](ConfigVisitor& inner) {
                 inner({"depth", "Planes; 0 is 1"}, config_.depth, {0, 65536});
                 inner({"rows", "Rows of a plane; 0 is 1"}, config_.rows, {0, 65536});
                 inner({"cols", "Cells of a row; 0 is 1"}, config_.cols, {0, 65536});
               });
  visit.choice(
      {"scatter_layout", "Where the grid goes: flat [..., D R C F], grid [..., D, R, C, F], or [..., F, D, R, C]"},
      config_.scatter_layout, {"flat", "grid", "channels_first"});
  visit({"gate_temperature", "filter: the gate's logits are divided by it, 1e-6 to 1e6"}, config_.gate_temperature);
  visit({"gate_aux_weight", "filter: weight of a loss that asks for balanced branches; 0: none"},
        config_.gate_aux_weight);
  visit({"top_k", "filter: so many branches count, those of the largest logits; 0: all"}, config_.top_k);
  visit.choice({"gate_scope", "filter: weights for each row, or for each sample by the mean of its logits"},
               config_.gate_scope, {"row", "sample"});
  visit({"filter_gate|filter_gate_config",
         "Required by filter: a layer that gives a logit for each branch, or a softmax"},
        gate_);
  visit({"parallel_branches|branches", "A list of layers that all read the input; without any it passes through"},
        branches_);
}

// The first setting that only a gate reads; null where all are as if there were none.
const char* Parallel::gate_setting() const {
  const ParallelConfig none;
  return gate_                                               ? "filter_gate"
         : config_.top_k != none.top_k                       ? "top_k"
         : config_.gate_temperature != none.gate_temperature ? "gate_temperature"
         : config_.gate_aux_weight != none.gate_aux_weight   ? "gate_aux_weight"
         : config_.gate_scope != none.gate_scope             ? "gate_scope"
                                                             : nullptr;
}

Result<void> Parallel::build() {
  if (config_.combine_mode == Combine::Filter && !gate_)
    return fail(Code::InvalidConfig, "parallel: combine_mode filter needs a filter_gate");
  if (gate_ && gate_->common.is_disabled)
    return fail(Code::InvalidConfig, "parallel: a filter_gate cannot be disabled");
  if (config_.concat_axis.values.size() > 1) return fail(Code::InvalidConfig, "parallel: concat_axis is one axis");
  if (!(config_.gate_temperature > 0) || static_cast<float>(config_.gate_temperature) < 1e-6f ||
      config_.gate_temperature > 1e6)
    return fail(Code::InvalidConfig, "parallel: gate_temperature {} given, 1e-6 to 1e6 expected",
                config_.gate_temperature);
  if (config_.gate_aux_weight < 0)
    return fail(Code::InvalidConfig, "parallel: gate_aux_weight {} is negative", config_.gate_aux_weight);
  if (const char* unread = config_.combine_mode == Combine::Filter ? nullptr : gate_setting()) {
    return fail(Code::InvalidConfig, "parallel: {} is for combine_mode filter alone", unread);
  }
  if (config_.flatten && !config_.concat_axis.values.empty())
    return fail(Code::InvalidConfig, "parallel: concat_axis beside flatten, which leaves one axis");
  if (config_.combine_mode != Combine::Concat && (config_.flatten || !config_.concat_axis.values.empty()))
    return fail(Code::InvalidConfig, "parallel: {} is for combine_mode concat alone",
                config_.flatten ? "flatten" : "concat_axis");
  if (config_.combine_mode != Combine::GridScatter) {
    const bool placed =
        std::ranges::any_of(branches_, [](const auto& branch) { return !branch->common.scatter_to.empty(); });
    if (placed || config_.depth != 0 || config_.rows != 0 || config_.cols != 0 ||
        config_.scatter_layout != ParallelConfig::Layout::Flat)
      return fail(Code::InvalidConfig,
                  "parallel: scatter_grid, scatter_layout and scatter_to are for combine_mode grid_scatter alone");
    return {};
  }
  const bool given = config_.depth != 0 || config_.rows != 0 || config_.cols != 0;
  depth_ = std::max<std::size_t>(config_.depth, 1), rows_ = std::max<std::size_t>(config_.rows, 1),
  cols_ = std::max<std::size_t>(config_.cols, 1);
  if (!given) cols_ = std::max<std::size_t>(branches_.size(), 1);
  if (depth_ * rows_ > (std::size_t{1} << 24) || depth_ * rows_ * cols_ > (std::size_t{1} << 24))
    return fail(Code::InvalidConfig, "parallel: scatter_grid {} x {} x {} has more than 2^24 cells", depth_, rows_,
                cols_);
  cells_.clear();
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    const std::vector<std::size_t>& to = branches_[i]->common.scatter_to;
    if (to.empty()) {
      if (i >= num_cells())
        return fail_at({"parallel_branches", std::to_string(i)}, Code::InvalidConfig,
                       "the scatter grid has {} cells; scatter_to expected", num_cells());
      cells_.push_back(i);
      continue;
    }
    if (to.size() != 3)
      return fail_at({"parallel_branches", std::to_string(i)}, Code::InvalidConfig,
                     "scatter_to of {} numbers, [z, y, x] expected", to.size());
    if (to[0] >= depth_ || to[1] >= rows_ || to[2] >= cols_)
      return fail_at({"parallel_branches", std::to_string(i)}, Code::OutOfRange,
                     "scatter_to [{}, {}, {}] is outside the grid {} x {} x {}", to[0], to[1], to[2], depth_, rows_,
                     cols_);
    cells_.push_back((to[0] * rows_ + to[1]) * cols_ + to[2]);
  }
  return {};
}

void Parallel::visit_children(const std::function<void(const std::string&, Layer&)>& visit) {
  for (std::size_t i = 0; i < branches_.size(); ++i) visit(fmt::format("parallel_branches.{}", i), *branches_[i]);
  if (gate_) visit("filter_gate", *gate_);
}

std::size_t Parallel::num_enabled() const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < branches_.size(); ++i) n += is_enabled(i);
  return n;
}

Result<Shape> Parallel::concat_shape(const Wiring* wiring, const Shape& input) const {
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::size_t rank = 0, axis = 0;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    auto out = branches_[i]->wired_shape(wiring, input);
    if (!out) return under({"parallel_branches", std::to_string(i)}, std::move(out).error());
    Shape shape = *out;
    if (config_.flatten) {
      const std::array<std::size_t, 2> flat{shape[0], shape.elements() / shape[0]};
      if (shape.rank() > 1) {
        LOOM_TRY(shape, Shape::create(flat));
      }
    }
    if (i == 0) {
      rank = shape.rank(), axis = config_.flatten ? rank - 1 : config_.concat_axis.at(0, rank - 1);
      if (axis >= rank)
        return fail(Code::ShapeMismatch, "parallel: concat_axis {}, the branches have {} axes", axis, rank);
      std::ranges::copy(shape.extents(), extents.begin());
      continue;
    }
    bool fits = shape.rank() == rank;
    for (std::size_t a = 0; a < rank && fits; ++a) fits = a == axis || shape[a] == extents[a];
    if (!fits)
      return fail_at({"parallel_branches", std::to_string(i)}, Code::ShapeMismatch,
                     "{} beside branches of another shape; only axis {} may differ", shape.text(), axis);
    LOOM_TRY(extents[axis], checked_add(extents[axis], shape[axis]));
  }
  return Shape::create({extents.data(), rank});
}

// [lead..., D*R*C*F], [lead..., D,R,C,F] or [lead..., F,D,R,C].
Result<Shape> Parallel::scatter_shape(const Shape& branch) const {
  using Layout = ParallelConfig::Layout;
  LOOM_TRY(const std::size_t flat, checked_mul(num_cells(), branch.cols()));
  if (config_.scatter_layout == Layout::Flat) return branch.with_cols(flat);
  if (branch.rank() + 3 > Shape::kMaxRank)
    return fail(Code::ShapeMismatch, "parallel: {} and three axes of the scatter grid are more than {}", branch.text(),
                Shape::kMaxRank);
  std::array<std::size_t, Shape::kMaxRank> extents{};
  std::size_t n = 0;
  for (std::size_t a = 0; a + 1 < branch.rank(); ++a) extents[n++] = branch[a];
  if (config_.scatter_layout == Layout::ChannelsFirst) extents[n++] = branch.cols();
  for (const std::size_t e : {depth_, rows_, cols_}) extents[n++] = e;
  if (config_.scatter_layout == Layout::Grid) extents[n++] = branch.cols();
  return Shape::create({extents.data(), n});
}

// The gate's leading axes are leading axes of y, its last one the branches.
Result<void> Parallel::check_gate(const Wiring* wiring, const Shape& input, const Shape& y) const {
  auto out = gate_->wired_shape(wiring, input);
  if (!out) return under({"filter_gate"}, std::move(out).error());
  const Shape& z = *out;
  if (z.cols() != branches_.size())
    return fail_at({"filter_gate"}, Code::ShapeMismatch, "{} outputs for {} branches", z.cols(), branches_.size());
  const std::size_t lead = config_.gate_scope == ParallelConfig::Scope::Sample && z.rank() > 1 ? 1 : z.rank() - 1;
  bool fits = lead <= y.rank();
  for (std::size_t a = 0; a < lead && fits; ++a) fits = z[a] == y[a];
  if (!fits)
    return fail_at({"filter_gate"}, Code::ShapeMismatch, "{} does not fit branches of shape {}", z.text(), y.text());
  return {};
}

Result<Shape> Parallel::wired_shape(const Wiring* wiring, const Shape& input) const {
  if (branches_.empty()) return input;
  if (config_.combine_mode == Combine::Concat) return concat_shape(wiring, input);
  Shape shape;
  for (std::size_t i = 0; i < branches_.size(); ++i) {
    auto out = branches_[i]->wired_shape(wiring, input);
    if (!out) return under({"parallel_branches", std::to_string(i)}, std::move(out).error());
    if (i == 0) shape = *out;
    if (!(shape == *out))
      return fail_at({"parallel_branches", std::to_string(i)}, Code::ShapeMismatch,
                     "{} beside {}; equal shapes expected", out->text(), shape.text());
  }
  if (config_.combine_mode == Combine::GridScatter) return scatter_shape(shape);
  if (config_.combine_mode == Combine::Filter) {
    LOOM_TRY_VOID(check_gate(wiring, input, shape));
  }
  return shape;
}

// `position` counts what the branches before have filled of the concatenated axis.
Parallel::Piece Parallel::piece(std::size_t branch, const Shape& shape, const Shape& y, std::size_t& position) const {
  if (config_.combine_mode == Combine::GridScatter) {
    const std::size_t width = shape.cols(), cell = cells_[branch], all = num_cells();
    const bool last = config_.scatter_layout == ParallelConfig::Layout::ChannelsFirst;
    return {{shape.rows(), width},
            {0, width},
            last ? SlicePlace{cell, width * all, all} : SlicePlace{cell * width, width * all}};
  }
  std::size_t outer = 1;
  const std::size_t axis = config_.flatten ? y.rank() - 1 : config_.concat_axis.at(0, y.rank() - 1);
  for (std::size_t a = 0; a < axis; ++a) outer *= y[a];
  const std::size_t width = shape.elements() / outer, begin = position;
  position += width;
  return {{outer, width}, {0, width}, {begin, y.elements() / outer}};
}

namespace {

// Whether outputs of this shape side by side have their steps on another axis, or more of them.
bool joins_steps(const ParallelConfig& config, const Shape& branch) {
  if (config.flatten) return branch.rank() > 2;
  const std::size_t last = branch.rank() - 1, axis = config.concat_axis.at(0, last);
  return axis != last && axis < 2;
}

}  // namespace

void Parallel::forward(const Run& run, const ConstView& x, const View& y) const {
  if (branches_.empty()) return copy(run, x, y);
  if (config_.combine_mode == Combine::Filter) return mix_forward(run, x, y);
  const ArenaScope scope(run.arena(), run.keeps());
  const bool pieces = config_.combine_mode == Combine::Concat || config_.combine_mode == Combine::GridScatter;
  const std::size_t enabled = num_enabled();
  if (enabled == 0 || (pieces && (enabled != branches_.size() || config_.combine_mode == Combine::GridScatter)))
    fill_zero(run, y);
  std::size_t position = 0;
  ConstView sum;  // of the branches so far; what a branch wrote itself stays as it is for its backward run
  for (std::size_t i = 0; i < branches_.size() && !run.exec.status; ++i) {
    if (!is_enabled(i) && !pieces) continue;
    const Shape shape = *branches_[i]->wired_shape(run.wiring, x.shape);  // checked by the plan
    if (config_.combine_mode == Combine::Concat && joins_steps(config_, shape) && refuses_lengths(run, kind())) return;
    const Piece p = pieces ? piece(i, shape, y.shape, position) : Piece{};
    if (!is_enabled(i)) continue;
    const ArenaScope branch_scope(run.arena(), run.keeps());  // without a tape the first sum is y itself
    const bool alone = !pieces && sum.data == nullptr && (enabled == 1 || !run.keeps());
    const View out = alone ? y : run.view(shape, x.element);
    run_forward(*branches_[i], run, x, out);
    if (config_.combine_mode == Combine::Concat)
      move_slices(run, p.slices, out, p.own, y, p.place);
    else if (config_.combine_mode == Combine::GridScatter)
      add_slices(run, p.slices, out, p.own, y, p.place);
    else if (sum.data != nullptr)
      add(run, sum, out, y);
    sum = sum.data == nullptr ? ConstView(out) : ConstView(y);
  }
  if (config_.combine_mode == Combine::Avg && enabled > 1) scale(run, y, 1.0 / static_cast<double>(enabled), y);
  run.save(x);
}

void Parallel::branch_backward(const Run& run, const Layer& branch, const ConstView& dy, const View& dx, bool& is_first,
                               const TweenRules* rules) const {
  View to = dx;
  if (!is_first && dx.data != nullptr) to = run.view(dx.shape, dx.element);
  run_backward(branch, run, dy, to, rules);
  if (!is_first && dx.data != nullptr) add(run, dx, to, dx);
  is_first = false;
}

void Parallel::backward(const Run& run, const ConstView& dy, const View& dx) const {
  config_.combine_mode == Combine::Filter ? mix_backward(run, dy, dx) : take_back(run, dy, dx, nullptr);
}

void Parallel::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  config_.combine_mode == Combine::Filter ? mix_target(run, rules, e, d) : take_back(run, e, d, &rules);
}

// Backward of a sum gives every branch the whole gradient, of a mean its share. With rules every branch of a mean aims
// at the whole gap too, and the gaps that several branches ask of the input are averaged.
void Parallel::take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const {
  if (branches_.empty()) {
    if (dx.data != nullptr) copy(run, dy, dx);
    return;
  }
  const ArenaScope scope(run.arena());
  const Shape input = run.saved().shape;
  const bool pieces = config_.combine_mode == Combine::Concat || config_.combine_mode == Combine::GridScatter;
  ConstView shared = dy;
  if (config_.combine_mode == Combine::Avg && num_enabled() > 1 && rules == nullptr) {
    const View part = run.view(dy.shape, dy.element);
    scale(run, dy, 1.0 / static_cast<double>(num_enabled()), part);
    shared = part;
  }
  std::size_t position = 0;  // from the end of the concatenated axis to its begin
  for (std::size_t i = 0; i < branches_.size() && config_.combine_mode == Combine::Concat; ++i)
    piece(i, *branches_[i]->wired_shape(run.wiring, input), dy.shape, position);
  bool is_first = true;
  for (std::size_t i = branches_.size(); i-- > 0 && !run.exec.status;) {
    if (!is_enabled(i) && !pieces) continue;
    const ArenaScope branch_scope(run.arena());
    ConstView d = shared;
    if (pieces) {
      const Shape shape = *branches_[i]->wired_shape(run.wiring, input);
      std::size_t width = 0;
      Piece p = piece(i, shape, dy.shape, width);
      position -= std::min(position, width);
      if (config_.combine_mode == Combine::Concat) p.place.offset = position;
      if (!is_enabled(i)) continue;
      const View slice = run.view(shape, dy.element);
      move_slices(run, p.slices, dy, p.place, slice, p.own);
      d = slice;
    }
    branch_backward(run, *branches_[i], d, dx, is_first, rules);
  }
  if (is_first && dx.data != nullptr) fill_zero(run, dx);
  if (rules != nullptr && dx.data != nullptr && num_enabled() > 1)
    scale(run, dx, 1 / static_cast<double>(num_enabled()), dx);
}

// Returns the rule by which the gate's output is read, with the branches that take part.
GateRule Parallel::rule(const Run& run) const {
  GateRule rule{config_.gate_temperature, config_.top_k,
                gate_->last_operation(run.wiring).kind_row().gives_distribution};
  auto* enabled = run.note<std::uint8_t>(branches_.size());
  for (std::size_t i = 0; i < branches_.size() && !run.rehearsal(); ++i) enabled[i] = is_enabled(i) ? 1 : 0;
  rule.enabled = enabled;
  return rule;
}

void Parallel::mix_forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  const std::size_t n = branches_.size();
  const View z = run.view(*gate_->wired_shape(run.wiring, x.shape), x.element);
  // The balance of a gate counts every row, and so do means over the rows of a sample.
  const bool joins =
      config_.gate_scope == ParallelConfig::Scope::Sample || (config_.gate_aux_weight > 0 && run.keeps());
  if (joins && refuses_lengths(run, kind(), z.shape.rows())) return;
  run_forward(*gate_, run, x, z);
  Tensor logits = z;
  if (config_.gate_scope == ParallelConfig::Scope::Sample && z.shape.rank() > 2) {
    logits = run.tensor(z.shape[0], n, x.element);
    mean_of_rows(run, z, z.shape.rows() / z.shape[0], logits);
  }
  const Tensor p = run.tensor(logits.rows, n, x.element);
  gate_weights(run, rule(run), logits, p);
  if (config_.gate_aux_weight > 0 && (run.rehearsal() || run.gate_loss.data != nullptr))
    add_gate_balance(run, rule(run), run.share * config_.gate_aux_weight, logits, run.gate_loss);
  const void** outputs = run.note<const void*>(n);
  for (std::size_t i = 0; i < n && !run.exec.status; ++i) {
    const View out{is_enabled(i) ? run.view(y.shape, y.element).data : nullptr, y.shape, y.element};
    if (is_enabled(i)) run_forward(*branches_[i], run, x, out);
    if (!run.rehearsal()) outputs[i] = out.data;
    run.save(out);
  }
  if (run.exec.status) return;
  mix(run, p, outputs, y);
  run.save(y, ConstView{logits.data, Shape::of({logits.rows, n}), x.element},
           ConstView{p.data, Shape::of({p.rows, n}), x.element}, z);
}

// The target of each branch is its own output + e, at a rate that is its mean weight. The gate's logits rise where a
// branch points in the direction of the gap. The target of x is the branches' mean by weight (engine W-30).
void Parallel::mix_target(const Run& run, const TweenRules& rules, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const std::size_t n = branches_.size();
  const auto [y, logits, p, z] = run.saved<4>();
  const View q = run.view(p.shape, p.element);
  fill_zero(run, q);
  if (dx.data != nullptr) fill_zero(run, dx);
  for (std::size_t i = n; i-- > 0 && !run.exec.status;) {
    const ConstView out = run.saved();
    if (!is_enabled(i)) continue;
    const ArenaScope branch_scope(run.arena());
    direction_gap(run, dy, out, y, i, q);
    const View to = dx.data == nullptr ? dx : run.view(dx.shape, dx.element);
    TweenRules inside = rules;
    const Tensor rate = run.tensor(1, 1, p.element);
    mean_of_column(run, p, i, rules.rate, rate);
    inside.rate = rate;
    run_backward(*branches_[i], run, dy, to, &inside);
    if (dx.data == nullptr) continue;
    loom::mix_backward(run, p, i, to, to);
    add(run, dx, to, dx);
  }
  if (run.exec.status) return;
  View dz = q;
  if (logits.shape.rows() != z.shape.rows()) {
    const std::size_t rows = z.shape.rows() / q.shape.rows();
    dz = run.view(z.shape, z.element);
    mean_of_rows_backward(run, q, rows, dz);
    scale(run, dz, static_cast<double>(rows), dz);
  }
  dz.shape = z.shape;
  const View nowhere{nullptr, dx.shape, dx.element};
  run_backward(*gate_, run, dz, nowhere, &rules);
}

void Parallel::mix_backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const std::size_t n = branches_.size();
  const auto [y, logits, p, z] = run.saved<4>();
  const View q = run.view(p.shape, p.element);
  fill_zero(run, q);
  bool is_first = true;
  for (std::size_t i = n; i-- > 0 && !run.exec.status;) {
    const ConstView out = run.saved();
    if (!is_enabled(i)) continue;
    loom::mix_gate_backward(run, dy, out, i, q);
    const ArenaScope branch_scope(run.arena());
    const View d = run.view(dy.shape, dy.element);
    loom::mix_backward(run, p, i, dy, d);
    branch_backward(run, *branches_[i], d, dx, is_first);
  }
  if (run.exec.status) return;
  gate_weights_backward(run, rule(run), logits, p, q, q);
  if (config_.gate_aux_weight > 0)
    gate_balance_backward(run, rule(run), config_.gate_aux_weight * run.share * run.loss_scale, logits, q);
  View dz = q;
  if (logits.shape.rows() != z.shape.rows()) {
    dz = run.view(z.shape, z.element);
    mean_of_rows_backward(run, q, z.shape.rows() / q.shape.rows(), dz);
  }
  dz.shape = z.shape;
  branch_backward(run, *gate_, dz, dx, is_first);
}

}  // namespace loom
