#include "learning/loss.h"

#include <algorithm>

#include "backend/rehearsal.h"
#include "core/nearest.h"
#include "learning/losses/row.h"
#include "learning/names.h"
#include "ops/magnitude/magnitude.h"
#include "simd/orders.h"

namespace loom {
namespace {

bool fits(const Tensor& gradient, const ConstView& like) {
  return gradient.data == nullptr ||
         (gradient.rows == like.shape.rows() && gradient.cols == like.shape.cols() && gradient.element == like.element);
}

RowScale scale_of(std::span<const double> weights, std::size_t rows, double divisor) {
  return {.weights = weights, .rows_per_weight = weights.empty() ? 1 : rows / weights.size(), .divisor = divisor};
}

}  // namespace

std::string_view name(LossKind kind) {
  const std::string_view names = kLossNames[static_cast<std::size_t>(kind)];
  return names.substr(0, names.find('|'));
}

Result<LossKind> loss_from_name(std::string_view name) {
  LOOM_TRY(const std::size_t index, find_name("loss", name, kLossNames));
  return static_cast<LossKind>(index);
}

Result<Loss> Loss::create(const LossConfig& config) {
  Loss loss;
  loss.row_ = loss_rows()[static_cast<std::size_t>(config.kind)];
  loss.config_ = config;
  const std::string_view where = loss.name();
  LOOM_TRY_VOID(loss.check_read());
  constexpr double kLargest = 1e12;
  LOOM_TRY_VOID(check_range(where, "delta", config.delta, 1e-12, kLargest));
  LOOM_TRY_VOID(check_range(where, "label_smoothing", config.label_smoothing, 0, 1));
  LOOM_TRY_VOID(check_range(where, "temperature", config.temperature, 1e-6, kLargest));
  for (const double w : config.class_weights) LOOM_TRY_VOID(check_range(where, "class_weights", w, 0, kLargest));
  if (loss.reads("heads") && config.heads.empty()) return fail(Code::InvalidConfig, "{}: heads are missing", where);
  for (const std::size_t size : config.heads)
    LOOM_TRY_VOID(check_range(where, "heads", static_cast<double>(size), 1, 0x1p31));
  return loss;
}

bool Loss::reads(std::string_view key) const { return std::ranges::count(split_names(row_->reads), key) != 0; }

// Whatever differs from the standard is read.
Result<void> Loss::check_read() const {
  const LossConfig standard;
  const std::pair<std::string_view, bool> settings[] = {
      {"delta", config_.delta == standard.delta},
      {"label_smoothing", config_.label_smoothing == standard.label_smoothing},
      {"ignore_index", !config_.ignore_index},
      {"class_weights", config_.class_weights.empty()},
      {"heads", config_.heads.empty()},
      {"temperature", config_.temperature == standard.temperature}};
  for (const auto& [key, is_standard] : settings)
    if (!is_standard && !reads(key))
      return fail_at({std::string(key)}, Code::InvalidConfig, "{} has no {}", name(), key);
  return {};
}

bool Loss::by_element() const { return row_->by_element; }
bool Loss::takes_classes() const { return row_->takes_classes; }
bool Loss::across_samples() const { return row_->across_samples; }

Result<void> Loss::check_values(const ConstView& values) const {
  const bool is_binary = kind() == LossKind::Bce || kind() == LossKind::BceLogits;
  const bool is_share = kind() == LossKind::KlDiv || kind() == LossKind::CrossEntropy;  // of a distribution
  if ((!is_binary && !is_share) || values.data == nullptr) return {};
  const auto check = [&]<class T>(const T* given) -> Result<void> {
    for (std::size_t i = 0; i < values.shape.elements(); ++i)
      if (given[i] < 0 || (is_binary && given[i] > 1))
        return fail(Code::OutOfRange, "{}: target {} is {}, expected a number {}", name(), i, given[i],
                    is_binary ? "from 0 to 1" : "of 0 or more");
    return {};
  };
  return values.element == Element::f64 ? check(static_cast<const double*>(values.data))
                                        : check(static_cast<const float*>(values.data));
}

Result<void> Loss::check_call(const LossCall& call) const {
  const Shape& shape = call.output.shape;
  const std::size_t samples = shape.rank() > 1 ? shape[0] : 1, heads = config_.heads.size();
  if (!fits(call.gradient, call.output) || !fits(call.target_gradient, call.output))
    return fail(Code::ShapeMismatch, "{}: the gradient is not shaped as the output {}", name(), shape.text());
  if (call.target_gradient.data != nullptr && !across_samples())
    return fail(Code::InvalidArgument, "{}: only contrastive has a gradient of its targets", name());
  if (!call.sample_weights.empty() && call.sample_weights.size() != samples)
    return fail(Code::ShapeMismatch, "{}: {} sample weights for {} samples", name(), call.sample_weights.size(),
                samples);
  for (const double w : call.sample_weights)
    if (!(w >= 0 && w - w == 0))
      return fail(Code::InvalidArgument, "{}: a sample weight is {}, expected 0 or more", name(), w);
  if (!(call.joint_count >= 0 && call.joint_count - call.joint_count == 0))
    return fail(Code::InvalidArgument, "{}: the joint count is {}", name(), call.joint_count);
  if (heads != 0) {
    std::size_t total = 0;  // at most 2^31 each, and no vector is long enough to wrap
    for (const std::size_t size : config_.heads) total += size;
    if (total != shape.cols())
      return fail(Code::ShapeMismatch, "{}: heads of {} entries together, the output has {}", name(), total,
                  shape.cols());
  }
  if (call.mask.data != nullptr &&
      (heads == 0 || call.mask.element != Element::f32 || call.mask.rows != shape.rows() || call.mask.cols != heads))
    return fail(Code::ShapeMismatch, "{}: a mask [{}, {}], expected f32 [{}, {} heads]", name(), call.mask.rows,
                call.mask.cols, shape.rows(), heads);
  if (!call.classes.empty()) return check_classes(call);
  LOOM_TRY_VOID(check_class_weights(shape));
  if (call.target.data == nullptr) return fail(Code::InvalidArgument, "{}: no targets", name());
  if (call.target.shape != shape || call.target.element != call.output.element)
    return fail(Code::ShapeMismatch, "{}: targets {} for outputs {}, or of another element", name(),
                call.target.shape.text(), shape.text());
  return {};
}

Result<void> Loss::check_class_weights(const Shape& output) const {
  if (!config_.class_weights.empty() && config_.class_weights.size() != output.cols())
    return fail(Code::ShapeMismatch, "{}: {} class weights for {} classes", name(), config_.class_weights.size(),
                output.cols());
  return {};
}

Result<void> Loss::check_classes(const LossCall& call) const {
  LOOM_TRY_VOID(check_class_weights(call.output.shape));
  if (!takes_classes()) return fail(Code::InvalidArgument, "{} takes no class targets", name());
  if (call.target.data != nullptr) return fail(Code::InvalidArgument, "{}: targets are given twice", name());
  const std::vector<std::size_t>& heads = config_.heads;
  const std::size_t rows = call.output.shape.rows(), each = std::max<std::size_t>(heads.size(), 1);
  if (call.classes.size() / each != rows || call.classes.size() % each != 0)
    return fail(Code::ShapeMismatch, "{}: {} classes for {} rows", name(), call.classes.size(), rows);
  for (std::size_t i = 0; i < call.classes.size(); ++i) {
    const std::int64_t c = call.classes[i];
    const std::size_t limit = heads.empty() ? call.output.shape.cols() : heads[i % each];
    if (config_.ignore_index == c) continue;
    if (c < 0 || static_cast<std::uint64_t>(c) >= limit)
      return fail(Code::IndexOutOfRange, "{}: row {}: class {} of {}", name(), i / each, c, limit);
  }
  return {};
}

double Loss::count(const LossCall& call) const {
  const std::size_t rows = call.output.shape.rows();
  if (by_element()) return static_cast<double>(call.output.shape.elements());
  if (call.classes.empty() || !config_.heads.empty()) return static_cast<double>(rows);
  return chain64<double>(0, rows, [&](std::size_t r) {
    if (config_.ignore_index == call.classes[r]) return 0.0;
    return config_.class_weights.empty() ? 1.0 : config_.class_weights[static_cast<std::size_t>(call.classes[r])];
  });
}

PendingLoss Loss::run(const Exec& exec, const LossCall& call, Tensor rows) const {
  const double own = exec.rehearsal() ? 1 : count(call);
  const double divisor = call.joint_count > 0 ? call.joint_count : own > 0 ? own : 1;
  row_->evaluate(exec, config_, call, scale_of(call.sample_weights, rows.rows, divisor), rows);
  return {rows, call.sample_weights, divisor, own};
}

LossValue PendingLoss::value(const Figures& figures) const {
  const RowScale scale = scale_of(sample_weights, rows.rows, divisor);
  const double total =
      chain64<double>(0, rows.rows, [&](std::size_t r) { return scale.weight(r) * figures.at(rows, r); });
  return LossValue{snap(total / divisor), count};
}

Result<LossValue> Loss::evaluate(const Exec& exec, const LossCall& call) const {
  if (!exec.rehearsal()) LOOM_TRY_VOID(check_call(call));
  const ArenaScope scope(exec.arena);
  const PendingLoss pending = run(exec, call, exec.arena.tensor(call.output.shape.rows(), 1, call.output.element));
  return exec.rehearsal() ? LossValue{} : pending.value(Figures());
}

Result<PendingLoss> Loss::record(const Exec& exec, const LossCall& call, Figures& figures, Tensor failed) const {
  LOOM_TRY_VOID(check_call(call));
  LOOM_TRY(const Tensor rows, figures.take(call.output.shape.rows(), 1, call.output.element));
  LOOM_TRY_VOID(plan_scratch(exec, [&](const Exec& rehearsal) { run(rehearsal, call, rows); }));
  const PendingLoss pending = run(exec, call, rows);
  check_finite(exec, rows, failed);
  return pending;
}

}  // namespace loom
