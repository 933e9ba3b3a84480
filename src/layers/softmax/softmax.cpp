#include "layers/softmax/softmax.h"

#include "core/checked.h"
#include "layers/tween.h"
#include "ops/softmax/combine.h"

namespace loom {

constinit const LayerKind Softmax::kKind{
    .id = 15,
    .name = "softmax",
    .help = "probabilities of each row: exp(x / T) / sum of exp(x / T), or one of nine other ways",
    .shapes = "[..., n] -> the same shape; tree, adaptive and mixture read more features than they give",
    .make = make_layer<Softmax>,
    .width_key = "input_height",
    .gives_distribution = true,
    .fit = fit};

LayerPtr Softmax::fit(const FitRequest& r) {
  return std::make_unique<Softmax>(SoftmaxConfig{.input_height = r.width()});
}

void Softmax::fields(FieldVisitor& visit) {
  visit.choice({"softmax_type", "Which probabilities, by name or number; other keys name the type that reads them"},
               config_.type,
               {"standard|0|softmaxstandard", "grid|1|softmaxgrid", "hierarchical|2|softmaxhierarchical",
                "temperature|3|softmaxtemperature", "gumbel|4|softmaxgumbel", "masked|5|softmaxmasked",
                "sparse|6|softmaxsparse|sparsemax", "adaptive|7|softmaxadaptive", "mixture|8|softmaxmixture",
                "entmax|9|softmaxentmax"});
  visit({"input_height|input_size|in_features", "Features of the input, checked if given; 0: any"},
        config_.input_height);
  visit({"output_height|output_size|out_features", "Features of the output, checked if given; 0: any"},
        config_.output_height);
  visit({"temperature", "T: the input is divided by it, 1e-6 to 1e6; 0 is 1"}, config_.temperature);
  visit({"softmax_rows", "grid: softmaxes of a row; 0: what softmax_cols leaves, without both 1"}, config_.rows);
  visit({"softmax_cols", "grid: entries of each of them; 0: what softmax_rows leaves"}, config_.cols);
  visit({"hierarchy_levels", "hierarchical: children of a node, level by level; empty: standard"},
        config_.hierarchy_levels);
  visit.choice({"hierarchy_mode", "leaf: a softmax for each group of the last level; tree: products along the path"},
               config_.hierarchy, {"leaf", "tree"});
  visit({"entmax_alpha", "entmax: 1 is softmax, 2 is sparsemax, up to 4; 0 is 1.5"}, config_.entmax_alpha);
  visit.choice({"entmax_mode", "entmax: exact, or blend: (2 - alpha) softmax + (alpha - 1) sparsemax"}, config_.entmax,
               {"exact", "blend"});
  visit({"mask", "masked: false leaves an entry out; entries after the end of the list count"}, config_.mask);
  visit({"gumbel_noise", "gumbel: adds noise drawn by seed, step and element, in inference too"}, config_.gumbel_noise);
  visit({"gumbel_hard", "gumbel: the output is 1 at the largest entry, else 0; gradients are the soft ones"},
        config_.gumbel_hard);
  visit({"adaptive_cutoffs", "adaptive: where head and tails end, ascending, in the output; empty: standard"},
        config_.adaptive_cutoffs);
  visit({"mixture_count", "mixture: number of softmaxes that are mixed; below 2: standard"}, config_.mixture_count);
}

namespace {

// Runs of a tree: level after level, one distribution among the children of each node. The number of nodes in all, and
// of leaves.
Result<std::pair<std::size_t, std::size_t>> tree_runs(std::span<const std::size_t> levels,
                                                      std::vector<SoftmaxRun>& runs) {
  std::size_t nodes = 0, parents = 1;
  for (const std::size_t children : levels) {
    if (children == 0) return fail(Code::InvalidConfig, "softmax: a level of hierarchy_levels is 0");
    runs.push_back({nodes, children, parents});
    LOOM_TRY(parents, checked_mul(parents, children));
    LOOM_TRY(nodes, checked_add(nodes, parents));
  }
  return std::pair{nodes, parents};
}

// Runs of adaptive softmax: the head with its clusters, then the tails. The width read.
Result<std::size_t> adaptive_runs(std::span<const std::size_t> cutoffs, std::vector<SoftmaxRun>& runs) {
  for (std::size_t k = 0; k < cutoffs.size(); ++k)
    if (cutoffs[k] <= (k == 0 ? 0 : cutoffs[k - 1]))
      return fail(Code::InvalidConfig, "softmax: adaptive_cutoffs must ascend from at least 1");
  std::size_t at = cutoffs[0] + cutoffs.size() - 1;
  runs.push_back({0, at, 1});
  for (std::size_t k = 1; k < cutoffs.size(); ++k) {
    runs.push_back({at, cutoffs[k] - cutoffs[k - 1], 1});
    at += runs.back().width;
  }
  return at;
}

// The first setting that only another type reads; null where there is none.
const char* unread_setting(const SoftmaxConfig& c) {
  const SoftmaxConfig none;
  const auto unread = [&](SoftmaxType reader, bool given) { return given && c.type != reader; };
  return unread(SoftmaxType::Grid, c.rows != none.rows || c.cols != none.cols)            ? "rows and cols"
         : unread(SoftmaxType::Hierarchical, c.hierarchy_levels != none.hierarchy_levels) ? "hierarchy_levels"
         : unread(SoftmaxType::Hierarchical, c.hierarchy != none.hierarchy)               ? "hierarchy_mode"
         : unread(SoftmaxType::Entmax, c.entmax_alpha != none.entmax_alpha)               ? "entmax_alpha"
         : unread(SoftmaxType::Entmax, c.entmax != none.entmax)                           ? "entmax_mode"
         : unread(SoftmaxType::Masked, c.mask != none.mask)                               ? "mask"
         : unread(SoftmaxType::Gumbel, c.gumbel_noise != none.gumbel_noise)               ? "gumbel_noise"
         : unread(SoftmaxType::Gumbel, c.gumbel_hard != none.gumbel_hard)                 ? "gumbel_hard"
         : unread(SoftmaxType::Adaptive, c.adaptive_cutoffs != none.adaptive_cutoffs)     ? "adaptive_cutoffs"
         : unread(SoftmaxType::Mixture, c.mixture_count != none.mixture_count)            ? "mixture_count"
                                                                                          : nullptr;
}

}  // namespace

Result<void> Softmax::build() {
  if (const char* unread = unread_setting(config_))
    return fail(Code::InvalidConfig, "softmax: {} is for another softmax_type", unread);
  if (!(config_.temperature >= 0 && config_.temperature <= 1e6) ||
      (config_.temperature > 0 && config_.temperature < 1e-6))
    return fail(Code::InvalidConfig, "softmax: temperature {}, expected 0 (which is 1) or 1e-6 to 1e6",
                config_.temperature);
  temperature_ = config_.temperature > 0 ? config_.temperature : 1;
  form_ = Form::Rows;
  fixed_in_ = fixed_out_ = 0;
  runs_.clear();
  seen_.assign(config_.mask.begin(), config_.mask.end());
  switch (config_.type) {
    case SoftmaxType::Standard:
    case SoftmaxType::Temperature: break;
    case SoftmaxType::Grid:
      if (config_.rows != 0 && config_.cols != 0) fixed_in_ = config_.rows * config_.cols;  // at most 2^62
      break;
    case SoftmaxType::Hierarchical: {
      if (config_.hierarchy_levels.empty()) break;
      const bool tree = config_.hierarchy == SoftmaxConfig::Hierarchy::Tree;
      LOOM_TRY(const auto widths, tree_runs(config_.hierarchy_levels, runs_));
      fixed_in_ = tree ? widths.first : widths.second, fixed_out_ = widths.second;
      if (tree)
        form_ = Form::Tree;
      else
        runs_ = {{0, config_.hierarchy_levels.back(), widths.second / config_.hierarchy_levels.back()}};
      break;
    }
    case SoftmaxType::Gumbel: form_ = Form::Gumbel; break;
    case SoftmaxType::Masked: form_ = Form::Masked; break;
    case SoftmaxType::Sparse: form_ = Form::Sparse; break;
    case SoftmaxType::Adaptive: {
      if (config_.adaptive_cutoffs.empty()) break;
      form_ = Form::Adaptive, fixed_out_ = config_.adaptive_cutoffs.back();
      LOOM_TRY(fixed_in_, adaptive_runs(config_.adaptive_cutoffs, runs_));
      break;
    }
    case SoftmaxType::Mixture:
      if (config_.mixture_count > 1) form_ = Form::Mixture;
      break;
    case SoftmaxType::Entmax: {
      const bool blend = config_.entmax == SoftmaxConfig::Entmax::Blend;
      alpha_ = config_.entmax_alpha == 0 ? 1.5 : config_.entmax_alpha;
      if (!(alpha_ > 0 && alpha_ <= 4) || (!blend && alpha_ < 1))
        return fail(Code::InvalidConfig, "softmax: entmax_alpha {}, expected 1 to 4", alpha_);
      if (blend) alpha_ = alpha_ < 1 ? 1 : alpha_ > 2 ? 2 : alpha_;
      if (alpha_ != 1) form_ = alpha_ == 2 ? Form::Sparse : blend ? Form::Blend : Form::Entmax;
      break;
    }
  }
  return {};
}

Result<std::size_t> Softmax::width_out(std::size_t width) const {
  if (config_.input_height != 0 && width != config_.input_height)
    return fail(Code::ShapeMismatch, "softmax: {} input features, input_height is {}", width, config_.input_height);
  if (fixed_in_ != 0 && width != fixed_in_)
    return fail(Code::ShapeMismatch, "softmax: {} input features, the settings make {}", width, fixed_in_);
  if (seen_.size() > width)
    return fail(Code::ShapeMismatch, "softmax: a mask of {} entries for rows of {}", seen_.size(), width);
  if (config_.type == SoftmaxType::Grid && (config_.rows != 0 || config_.cols != 0)) {
    const std::size_t part = config_.cols != 0 ? config_.cols : config_.rows;
    if (width % part != 0)
      return fail(Code::ShapeMismatch, "softmax: rows of {} cannot be cut into a grid by {}", width, part);
  }
  if (form_ == Form::Mixture) {
    const std::size_t m = config_.mixture_count;
    if (width <= m || (width - m) % m != 0)
      return fail(Code::ShapeMismatch, "softmax: {} input features are no {} weights and as many equal blocks", width,
                  m);
    return (width - m) / m;
  }
  return fixed_out_ != 0 ? fixed_out_ : width;
}

Result<Shape> Softmax::output_shape(const Shape& input) const {
  LOOM_TRY(const std::size_t width, width_out(input.cols()));
  if (config_.output_height != 0 && width != config_.output_height)
    return fail(Code::ShapeMismatch, "softmax: {} output features, output_height is {}", width, config_.output_height);
  return input.with_cols(width);
}

std::span<const SoftmaxRun> Softmax::runs(std::size_t width, std::array<SoftmaxRun, 2>& room) const {
  if (!runs_.empty()) return runs_;
  if (form_ == Form::Mixture) {
    const std::size_t m = config_.mixture_count;
    room = {SoftmaxRun{0, m, 1}, SoftmaxRun{m, (width - m) / m, m}};
    return room;
  }
  room[0] = {0, width, 1};
  if (config_.type == SoftmaxType::Grid && (config_.rows != 0 || config_.cols != 0)) {
    const std::size_t cols = config_.cols != 0 ? config_.cols : width / config_.rows;
    room[0] = {0, cols, width / cols};
  }
  return {room.data(), 1};
}

SoftmaxMask Softmax::mask_of(const Run& run, const ConstView& x) const {
  SoftmaxMask mask{seen_, nullptr};
  if (run.inputs.mask == nullptr) return mask;
  if (run.inputs.mask->shape.elements() != x.shape.elements() || run.inputs.mask->element != x.element) {
    if (!run.exec.status)
      run.exec.status = Error{Code::ShapeMismatch, fmt::format("softmax: a mask {} for an input {}",
                                                               run.inputs.mask->shape.text(), x.shape.text())};
    return mask;
  }
  mask.call = run.inputs.mask->data;
  return mask;
}

// Computes the forms of several softmaxes: q holds all of them in the layout of x; their products and sums give y.
void Softmax::combine(const Run& run, const ConstView& x, const View& y) const {
  std::array<SoftmaxRun, 2> room;
  const View q = run.view(x.shape, x.element);
  softmax(run, x, temperature_, runs(x.shape.cols(), room), q);
  run.save(q);
  if (form_ == Form::Adaptive) return combine_adaptive(run, config_.adaptive_cutoffs, q, y);
  if (form_ == Form::Mixture) return combine_mixture(run, config_.mixture_count, q, y);
  const View p = run.view(x.shape, x.element);
  combine_tree(run, config_.hierarchy_levels, q, p, y);
  run.save(p);
}

void Softmax::forward(const Run& run, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena(), run.keeps());
  if (combines()) return combine(run, x, y);
  std::array<SoftmaxRun, 2> room;
  const auto rows = runs(x.shape.cols(), room);
  View p = y;  // what backward reads
  switch (form_) {
    case Form::Masked: masked_softmax(run, x, temperature_, mask_of(run, x), y); break;
    case Form::Sparse: sparsemax(run, x, temperature_, y); break;
    case Form::Entmax: entmax(run, x, temperature_, alpha_, y); break;
    case Form::Blend: {
      p = run.view(y.shape, y.element);
      const View sparse = run.view(y.shape, y.element), part = run.view(y.shape, y.element);
      softmax(run, x, temperature_, rows, p);
      sparsemax(run, x, temperature_, sparse);
      scale(run, p, 2 - alpha_, y);
      scale(run, sparse, alpha_ - 1, part);
      add(run, y, part, y);
      run.save(sparse);
      break;
    }
    case Form::Gumbel:
      if (config_.gumbel_hard) p = run.view(y.shape, y.element);
      if (config_.gumbel_noise) add_gumbel_noise(run, x, run.seed, run.step, site, p, run.first_element(x.shape));
      softmax(run, config_.gumbel_noise ? ConstView(p) : x, temperature_, rows, p);
      if (config_.gumbel_hard) one_hot_of_largest(run, p, y);
      break;
    default: softmax(run, x, temperature_, rows, y); break;
  }
  run.save(p);
}

// Computes the output of combine() again from the probabilities q.
void Softmax::output_again(const Exec& exec, const ConstView& q, const View& y) const {
  if (form_ == Form::Adaptive) return combine_adaptive(exec, config_.adaptive_cutoffs, q, y);
  if (form_ == Form::Mixture) return combine_mixture(exec, config_.mixture_count, q, y);
  combine_tree(exec, config_.hierarchy_levels, q, exec.arena.view(q.shape, q.element), y);
}

void Softmax::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const ConstView p = run.saved();
  const ConstView other = form_ == Form::Blend || form_ == Form::Tree ? run.saved() : ConstView();
  if (dx.data == nullptr) return;
  std::array<SoftmaxRun, 2> room;
  const auto rows = runs(dx.shape.cols(), room);
  switch (form_) {
    case Form::Sparse: return sparsemax_backward(run, p, dy, temperature_, dx);
    case Form::Entmax: return entmax_backward(run, p, dy, temperature_, alpha_, dx);
    case Form::Blend: {
      const View part = run.view(dx.shape, dx.element);
      softmax_backward(run, p, dy, temperature_, rows, dx);
      sparsemax_backward(run, other, dy, temperature_, part);
      scale(run, dx, 2 - alpha_, dx);
      scale(run, part, alpha_ - 1, part);
      return add(run, dx, part, dx);
    }
    case Form::Tree:
    case Form::Adaptive:
    case Form::Mixture: return through_parts(run, p, other, dy, temperature_, dx);
    default: return softmax_backward(run, p, dy, temperature_, rows, dx);
  }
}

// Before what combines the softmaxes of a row, and before them, divided by `temperature`.
void Softmax::through_parts(const Run& run, const ConstView& p, const ConstView& q_of_tree, const ConstView& dy,
                            double temperature, const View& dx) const {
  std::array<SoftmaxRun, 2> room;
  const ConstView& q = form_ == Form::Tree ? q_of_tree : p;
  const View dq = run.view(q.shape, q.element);
  if (form_ == Form::Tree)
    combine_tree_backward(run, config_.hierarchy_levels, q, p, dy, dq);
  else if (form_ == Form::Adaptive)
    combine_adaptive_backward(run, config_.adaptive_cutoffs, q, dy, dq);
  else
    combine_mixture_backward(run, config_.mixture_count, q, dy, dq);
  softmax_backward(run, q, dq, temperature, runs(dx.shape.cols(), room), dx);
}

void Softmax::target(const Run& run, const TweenRules&, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const ConstView p = run.saved();
  const ConstView other = form_ == Form::Blend || form_ == Form::Tree ? run.saved() : ConstView();
  if (d.data == nullptr) return;
  if (!combines()) {
    std::array<SoftmaxRun, 2> room;
    simplex_gap(run, p, e, runs(d.shape.cols(), room), d);
    return scale(run, d, temperature_, d);
  }
  const View y = run.view(e.shape, e.element), gap = run.view(e.shape, e.element);
  output_again(run, form_ == Form::Tree ? other : p, y);
  simplex_gap(run, y, e, std::array{SoftmaxRun{0, e.shape.cols(), 1}}, gap);
  through_parts(run, p, other, gap, 1, d);
}

}  // namespace loom
