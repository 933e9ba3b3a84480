#include "learning/loss.h"

#include <array>

#include "learning/loss_rows.h"
#include "learning/names.h"

namespace loom {
namespace {

// In the order of Loss::Kind.
constexpr std::array<std::string_view, 12> kLosses = {"mse|mean_squared_error",
                                                      "mae|l1",
                                                      "huber|smooth_l1",
                                                      "crossentropy|cross_entropy_probs",
                                                      "softmax_crossentropy|cross_entropy|ce",
                                                      "bce|binary_crossentropy",
                                                      "bce_logits",
                                                      "kl_div",
                                                      "hinge",
                                                      "multi_head_softmax_ce",
                                                      "cosine",
                                                      "contrastive|info_nce"};
constexpr double kLogFloor = 1e-10, kHeadFloor = 1e-7, kProbabilityMargin = 1e-7;

struct Term {
  double value, slope;
};

Term mse(double o, double t) {
  const double e = snap_one(o - t);
  return {e * e, 2 * e};
}
Term mae(double o, double t) {
  const double e = o - t;
  return {e < 0 ? -e : e, e > 0 ? 1.0 : e < 0 ? -1.0 : e};
}
Term huber(double o, double t, double d) {
  const double e = snap_one(o - t);
  if (e > d) return {d * (e - d / 2), d};
  if (e < -d) return {d * (-e - d / 2), -d};
  return {0.5 * (e * e), e};
}
Term cross_entropy(double o, double t) { return {-(t * log64(o + kLogFloor)), -t / (o + kLogFloor)}; }
Term bce(double o, double t) {
  const double p = o < kProbabilityMargin ? kProbabilityMargin : o > 1 - kProbabilityMargin ? 1 - kProbabilityMargin : o;
  return {-(t * log64(p) + (1 - t) * log1p64(-p)), (p - t) / (p * (1 - p))};
}
Term bce_logits(double o, double t) { return {(o > 0 ? o : 0.0) - o * t + log1p64(exp64(o < 0 ? o : -o)), sigmoid64(o) - t}; }
Term kl_div(double o, double t) {
  const double value = t == 0 ? o - o : t * (log64(t) - log64(o + kLogFloor));  // o - o is 0, but for a NaN, which has to show
  return {value, -t / (o + kLogFloor)};
}
Term hinge(double o, double t) {
  const double margin = 1 - t * o;
  return {margin > 0 ? margin : margin <= 0 ? 0.0 : margin, margin > 0 ? -t : 0.0};
}

template <class T, class F>
double sum_elements(const Exec& exec, const LossCall& call, double divisor, F&& f) {
  const std::size_t cols = call.output.shape.cols();
  return sum_rows(exec, call, [&](std::size_t r) {
    const T *o = call.output.as<T>() + r * cols, *t = call.target.as<T>() + r * cols;
    const double weight = sample_weight(call, r);
    if (call.gradient.data != nullptr)
      for (std::size_t k = 0; k < cols; ++k)
        call.gradient.as<T>()[r * cols + k] =
            snap_one(static_cast<T>(weight * f(static_cast<double>(o[k]), static_cast<double>(t[k])).slope / divisor));
    return lanes16_sum<double>(cols, [&](std::size_t k) { return f(static_cast<double>(o[k]), static_cast<double>(t[k])).value; });
  });
}

// The function as a constant, so that it is unfolded into the loop.
template <class T, auto F>
double sum_elements(const Exec& exec, const LossCall& call, double divisor) {
  return sum_elements<T>(exec, call, divisor, [](double output, double target) { return F(output, target); });
}

bool fits(const Tensor& gradient, const ConstView& like) {
  return gradient.data == nullptr || (gradient.rows == like.shape.rows() && gradient.cols == like.shape.cols() && gradient.element == like.element);
}

}  // namespace

Result<Loss> Loss::create(const LossConfig& config) {
  LOOM_TRY(const std::size_t kind, find_name("loss", config.name, kLosses));
  Loss loss;
  loss.kind_ = static_cast<Kind>(kind);
  loss.config_ = config;
  const std::string_view where = loss.name();
  LOOM_TRY_VOID(loss.check_read());
  constexpr double kLargest = 1e12;
  LOOM_TRY_VOID(check_range(where, "delta", config.delta, 1e-12, kLargest));
  LOOM_TRY_VOID(check_range(where, "label_smoothing", config.label_smoothing, 0, 1));
  LOOM_TRY_VOID(check_range(where, "temperature", config.temperature, 1e-6, kLargest));
  for (const double w : config.class_weights) LOOM_TRY_VOID(check_range(where, "class_weights", w, 0, kLargest));
  if (loss.kind_ == Kind::MultiHead && config.heads.empty()) return fail(Code::InvalidConfig, "{}: heads are missing", where);
  for (const std::size_t size : config.heads) LOOM_TRY_VOID(check_range(where, "heads", static_cast<double>(size), 1, 0x1p31));
  return loss;
}

// Whatever differs from the standard is read.
Result<void> Loss::check_read() const {
  const LossConfig standard;
  const auto of = [&](Kind kind, bool is_standard, std::string_view key) -> Result<void> {
    if (kind_ != kind && !is_standard) return fail(Code::InvalidConfig, "{} has no {}", name(), key);
    return {};
  };
  LOOM_TRY_VOID(of(Kind::Huber, config_.delta == standard.delta, "delta"));
  LOOM_TRY_VOID(of(Kind::SoftmaxCrossEntropy, config_.label_smoothing == standard.label_smoothing, "label_smoothing"));
  LOOM_TRY_VOID(of(Kind::SoftmaxCrossEntropy, !config_.ignore_index, "ignore_index"));
  LOOM_TRY_VOID(of(Kind::SoftmaxCrossEntropy, config_.class_weights.empty(), "class_weights"));
  LOOM_TRY_VOID(of(Kind::MultiHead, config_.heads.empty(), "heads"));
  return of(Kind::Contrastive, config_.temperature == standard.temperature, "temperature");
}

std::string_view Loss::name() const {
  const std::string_view names = kLosses[static_cast<std::size_t>(kind_)];
  return names.substr(0, names.find('|'));
}

bool Loss::by_element() const {
  switch (kind_) {
    case Kind::Mse:
    case Kind::Mae:
    case Kind::Huber:
    case Kind::CrossEntropy:
    case Kind::Bce:
    case Kind::BceLogits:
    case Kind::Hinge: return true;
    default: return false;
  }
}

Result<void> Loss::check_call(const LossCall& call) const {
  const Shape& shape = call.output.shape;
  const std::size_t samples = shape.rank() > 1 ? shape[0] : 1, heads = config_.heads.size();
  if (!fits(call.gradient, call.output) || !fits(call.target_gradient, call.output))
    return fail(Code::ShapeMismatch, "{}: the gradient is not shaped as the output {}", name(), shape.text());
  if (call.target_gradient.data != nullptr && kind_ != Kind::Contrastive)
    return fail(Code::InvalidArgument, "{}: only contrastive has a gradient of its targets", name());
  if (!call.sample_weights.empty() && call.sample_weights.size() != samples)
    return fail(Code::ShapeMismatch, "{}: {} sample weights for {} samples", name(), call.sample_weights.size(), samples);
  for (const double w : call.sample_weights)
    if (!(w >= 0 && w - w == 0)) return fail(Code::InvalidArgument, "{}: a sample weight is {}, expected 0 or more", name(), w);
  if (!(call.joint_count >= 0 && call.joint_count - call.joint_count == 0))
    return fail(Code::InvalidArgument, "{}: the joint count is {}", name(), call.joint_count);
  if (kind_ == Kind::MultiHead) {
    std::size_t total = 0;  // at most 2^31 each, and no vector is long enough to wrap
    for (const std::size_t size : config_.heads) total += size;
    if (total != shape.cols()) return fail(Code::ShapeMismatch, "{}: heads of {} entries together, the output has {}", name(), total, shape.cols());
  }
  if (call.mask.data != nullptr &&
      (kind_ != Kind::MultiHead || call.mask.element != Element::f32 || call.mask.rows != shape.rows() || call.mask.cols != heads))
    return fail(Code::ShapeMismatch, "{}: a mask [{}, {}], expected f32 [{}, {} heads]", name(), call.mask.rows, call.mask.cols, shape.rows(), heads);
  if (!call.classes.empty()) return check_classes(call);
  LOOM_TRY_VOID(check_class_weights(shape));
  if (call.target.data == nullptr) return fail(Code::InvalidArgument, "{}: no targets", name());
  if (call.target.shape != shape || call.target.element != call.output.element)
    return fail(Code::ShapeMismatch, "{}: targets {} for outputs {}, or of another element", name(), call.target.shape.text(), shape.text());
  return {};
}

Result<void> Loss::check_class_weights(const Shape& output) const {
  if (!config_.class_weights.empty() && kind_ == Kind::SoftmaxCrossEntropy && config_.class_weights.size() != output.cols())
    return fail(Code::ShapeMismatch, "{}: {} class weights for {} classes", name(), config_.class_weights.size(), output.cols());
  return {};
}

Result<void> Loss::check_classes(const LossCall& call) const {
  LOOM_TRY_VOID(check_class_weights(call.output.shape));
  const bool multi = kind_ == Kind::MultiHead;
  if (!multi && kind_ != Kind::SoftmaxCrossEntropy) return fail(Code::InvalidArgument, "{} takes no class targets", name());
  if (call.target.data != nullptr) return fail(Code::InvalidArgument, "{}: targets are given twice", name());
  const std::size_t rows = call.output.shape.rows(), each = multi ? config_.heads.size() : 1;
  if (call.classes.size() / each != rows || call.classes.size() % each != 0)
    return fail(Code::ShapeMismatch, "{}: {} classes for {} rows", name(), call.classes.size(), rows);
  for (std::size_t i = 0; i < call.classes.size(); ++i) {
    const std::int64_t c = call.classes[i];
    const std::size_t limit = multi ? config_.heads[i % each] : call.output.shape.cols();
    if (!multi && config_.ignore_index == c) continue;
    if (c < 0 || static_cast<std::uint64_t>(c) >= limit) return fail(Code::IndexOutOfRange, "{}: row {}: class {} of {}", name(), i / each, c, limit);
  }
  return {};
}

double Loss::count(const LossCall& call) const {
  const std::size_t rows = call.output.shape.rows();
  if (by_element()) return static_cast<double>(call.output.shape.elements());
  if (kind_ != Kind::SoftmaxCrossEntropy || call.classes.empty()) return static_cast<double>(rows);
  return chain64_sum<double>(rows, [&](std::size_t r) {
    if (config_.ignore_index == call.classes[r]) return 0.0;
    return config_.class_weights.empty() ? 1.0 : config_.class_weights[static_cast<std::size_t>(call.classes[r])];
  });
}

Result<LossValue> Loss::evaluate(const Exec& exec, const LossCall& call) const {
  if (!exec.rehearsal()) LOOM_TRY_VOID(check_call(call));
  const double own = exec.rehearsal() ? 1 : count(call);
  const double divisor = call.joint_count > 0 ? call.joint_count : own > 0 ? own : 1;
  const double total = with_element(call.output.element, [&]<class T>() { return sum<T>(exec, call, divisor); });
  return LossValue{snap_one(total / divisor), own};
}

template <class T>
double Loss::sum(const Exec& exec, const LossCall& call, double divisor) const {
  const double delta = config_.delta;
  switch (kind_) {
    case Kind::Mse: return sum_elements<T, mse>(exec, call, divisor);
    case Kind::Mae: return sum_elements<T, mae>(exec, call, divisor);
    case Kind::Huber: return sum_elements<T>(exec, call, divisor, [delta](double o, double t) { return huber(o, t, delta); });
    case Kind::CrossEntropy: return sum_elements<T, cross_entropy>(exec, call, divisor);
    case Kind::SoftmaxCrossEntropy: return softmax_rows<T>(exec, call, divisor);
    case Kind::Bce: return sum_elements<T, bce>(exec, call, divisor);
    case Kind::BceLogits: return sum_elements<T, bce_logits>(exec, call, divisor);
    case Kind::KlDiv: return sum_elements<T, kl_div>(exec, call, divisor);
    case Kind::Hinge: return sum_elements<T, hinge>(exec, call, divisor);
    case Kind::MultiHead: return multi_head_rows<T>(exec, call, divisor);
    case Kind::Cosine: return cosine_loss<T>(exec, call, divisor);
    case Kind::Contrastive: return contrastive_loss<T>(exec, call, config_.temperature, divisor);
  }
  return 0;
}

// -sum_k c_k ln p_k with c_k = weight_k (t_k (1 - smoothing) + smoothing / C); its gradient is p_k sum c - c_k.
template <class T>
double Loss::softmax_rows(const Exec& exec, const LossCall& call, double divisor) const {
  const std::size_t n = call.output.shape.cols();
  const double smooth = config_.label_smoothing, everywhere = smooth / static_cast<double>(n);
  return sum_rows(exec, call, [&](std::size_t r) {
    const bool by_class = !call.classes.empty();
    const std::int64_t c = by_class ? call.classes[r] : 0;
    T* g = call.gradient.data == nullptr ? nullptr : call.gradient.as<T>() + r * n;
    if (by_class && config_.ignore_index == c) {
      for (std::size_t k = 0; g != nullptr && k < n; ++k) g[k] = 0;
      return 0.0;
    }
    const T* t = by_class ? nullptr : call.target.as<T>() + r * n;
    const std::vector<double>& weights = config_.class_weights;
    const auto share = [&](std::size_t k) {  // of class k in the row's loss
      const double target = by_class ? (k == static_cast<std::size_t>(c) ? 1.0 : 0.0) : static_cast<double>(t[k]);
      const double weight = weights.empty() ? 1 : weights[k];
      return weight * (target * (1 - smooth) + everywhere);
    };
    const SoftmaxRow<T> row(call.output.as<T>() + r * n, n);
    if (g != nullptr) {
      const double total = lanes16_sum<double>(n, share), scale = sample_weight(call, r);
      for (std::size_t k = 0; k < n; ++k) g[k] = snap_one(static_cast<T>(scale * (row.p(k) * total - share(k)) / divisor));
    }
    return lanes16_sum<double>(n, [&](std::size_t k) {
      const double part = share(k);
      return part == 0 ? 0.0 : part * row.minus_log_p(k);
    });
  });
}

template <class T>
double Loss::multi_head_rows(const Exec& exec, const LossCall& call, double divisor) const {
  const std::size_t n = call.output.shape.cols(), heads = config_.heads.size();
  return sum_rows(exec, call, [&](std::size_t r) {
    double sum = 0;
    std::size_t first = r * n;
    for (std::size_t h = 0; h < heads; first += config_.heads[h], ++h) {
      const std::size_t size = config_.heads[h];
      T* g = call.gradient.data == nullptr ? nullptr : call.gradient.as<T>() + first;
      if (call.mask.data != nullptr && !(call.mask.row(r)[h] > 0.5f)) {
        for (std::size_t k = 0; g != nullptr && k < size; ++k) g[k] = 0;
        continue;
      }
      std::size_t wanted = 0;
      if (!call.classes.empty()) {
        wanted = static_cast<std::size_t>(call.classes[r * heads + h]);
      } else {
        const T* t = call.target.as<T>() + first;
        for (std::size_t k = 1; k < size; ++k) wanted = t[k] > t[wanted] ? k : wanted;
      }
      const SoftmaxRow<T> row(call.output.as<T>() + first, size);
      const double q = row.p(wanted), scale = sample_weight(call, r) * (q / (q + kHeadFloor));
      sum -= log64(q + kHeadFloor);
      for (std::size_t k = 0; g != nullptr && k < size; ++k)
        g[k] = snap_one(static_cast<T>(scale * (row.p(k) - (k == wanted ? 1.0 : 0.0)) / divisor));
    }
    return sum;
  });
}

}  // namespace loom
