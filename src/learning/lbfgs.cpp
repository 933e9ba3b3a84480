#include "learning/lbfgs.h"

#include "learning/names.h"
#include "simd/orders.h"

namespace loom {
namespace {

constexpr double kArmijo = 1e-4, kLeastCurvature = 1e-10;
constexpr int kMostTries = 20;

bool finite(double x) { return x - x == 0; }

double dot(std::span<const double> a, std::span<const double> b) {
  return chain64<double>(0, a.size(), [&](std::size_t i) { return a[i] * b[i]; });
}

template <class AnyTensor>
std::vector<double> flat(std::span<const AnyTensor> tensors) {
  std::vector<double> out;
  for (const AnyTensor& t : tensors)
    with_element(t.element, [&]<class T>() {
      const T* from = ConstTensor(t).as<T>();
      for (std::size_t i = 0; i < t.rows * t.cols; ++i) out.push_back(snap(static_cast<double>(from[i])));
    });
  return out;
}

// weights = start + a move, rounded to their type.
void place(std::span<const Tensor> weights, std::span<const double> start, std::span<const double> move, double a) {
  std::size_t at = 0;
  for (const Tensor& t : weights)
    with_element(t.element, [&]<class T>() {
      for (std::size_t i = 0; i < t.rows * t.cols; ++i, ++at)
        t.as<T>()[i] = snap(static_cast<T>(start[at] + a * move[at]));
    });
}

}  // namespace

Result<Lbfgs> Lbfgs::create(std::size_t history) {
  if (history < 1 || history > 1000)
    return fail(Code::InvalidConfig, "lbfgs: history is {}, expected 1 to 1000", history);
  Lbfgs out;
  out.history_ = history;
  return out;
}

Result<void> Lbfgs::restore(std::deque<Pair> pairs) {
  if (pairs.size() > history_)
    return fail(Code::LimitExceeded, "lbfgs: {} pairs, the history holds {}", pairs.size(), history_);
  for (const Pair& pair : pairs)
    if (pair.s.size() != pairs.front().s.size() || pair.y.size() != pairs.front().s.size())
      return fail(Code::ShapeMismatch, "lbfgs: pairs of {} and {} elements, expected {}", pair.s.size(), pair.y.size(),
                  pairs.front().s.size());
  pairs_ = std::move(pairs);
  return {};
}

// -H g.
std::vector<double> Lbfgs::direction(std::span<const double> g) const {
  std::vector<double> q(g.begin(), g.end()), alpha(pairs_.size());
  for (std::size_t k = pairs_.size(); k-- > 0;) {
    const Pair& pair = pairs_[k];
    alpha[k] = dot(pair.s, q) / dot(pair.s, pair.y);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = snap(q[i] - alpha[k] * pair.y[i]);
  }
  if (!pairs_.empty()) {
    const Pair& last = pairs_.back();
    const double scale = dot(last.s, last.y) / dot(last.y, last.y);
    for (double& v : q) v = snap(v * scale);
  }
  for (std::size_t k = 0; k < pairs_.size(); ++k) {
    const Pair& pair = pairs_[k];
    const double beta = dot(pair.y, q) / dot(pair.s, pair.y);
    for (std::size_t i = 0; i < q.size(); ++i) q[i] = snap(q[i] + (alpha[k] - beta) * pair.s[i]);
  }
  for (double& v : q) v = snap(-v);
  return q;
}

void Lbfgs::remember(std::span<const double> moved, std::span<const double> before, std::span<const double> after) {
  Pair pair{{moved.begin(), moved.end()}, std::vector<double>(before.size())};
  for (std::size_t i = 0; i < before.size(); ++i) pair.y[i] = snap(after[i] - before[i]);
  if (!(dot(pair.s, pair.y) > kLeastCurvature)) return;
  pairs_.push_back(std::move(pair));
  if (pairs_.size() > history_) pairs_.pop_front();
}

Result<Lbfgs::Outcome> Lbfgs::step(std::span<const Tensor> weights, std::span<const ConstTensor> gradients,
                                   double learning_rate, const Evaluate& evaluate) {
  if (!(learning_rate > 0 && finite(learning_rate)))
    return fail(Code::InvalidConfig, "lbfgs: learning rate is {}, expected above 0", learning_rate);
  bool agree = weights.size() == gradients.size();
  for (std::size_t i = 0; agree && i < weights.size(); ++i)
    agree = weights[i].rows * weights[i].cols == gradients[i].rows * gradients[i].cols &&
            weights[i].element == gradients[i].element;
  if (!agree) return fail(Code::ShapeMismatch, "lbfgs: weights and gradients differ in number, size or element");
  const std::vector<double> start = flat(weights);
  if (!pairs_.empty() && pairs_.front().s.size() != start.size())
    return fail(Code::ShapeMismatch, "lbfgs: {} elements, the history has {}", start.size(), pairs_.front().s.size());

  LOOM_TRY(const double loss, evaluate());
  const std::vector<double> g = flat(gradients);
  if (!finite(loss) || !finite(dot(g, g)))
    return fail(Code::NonFinite, "lbfgs: the loss is {} and its gradient's square {}", loss, dot(g, g));
  std::vector<double> move = direction(g);
  double slope = dot(g, move);
  // Dropped pairs are restored after an error that does not depend on the numbers, as a cancel.
  std::deque<Pair> dropped;
  const auto failed = [&](Error error) -> tl::unexpected<Error> {
    if (error.code != Code::NonFinite && pairs_.empty()) pairs_ = std::move(dropped);
    return tl::make_unexpected(std::move(error));
  };
  if (!(slope < 0 && finite(dot(move, move)))) {  // a history that leads uphill, or out of all bounds, is of no use
    dropped = std::exchange(pairs_, {});
    move = direction(g);
    slope = dot(g, move);
  }
  if (!(slope < 0)) return Outcome{loss, false, 0};
  double a = learning_rate;
  for (int tries = 1; tries <= kMostTries; ++tries, a *= 0.5) {
    place(weights, start, move, a);
    auto value = evaluate();
    if (!value && value.error().code == Code::NonFinite) continue;  // too far
    if (!value) {
      place(weights, start, move, 0);
      return failed(std::move(value).error());
    }
    if (!(*value <= loss + kArmijo * a * slope)) continue;
    std::vector<double> moved = flat(weights);
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] = snap(moved[i] - start[i]);
    remember(moved, g, flat(gradients));
    return Outcome{*value, true, tries};
  }
  if (!pairs_.empty()) dropped = std::exchange(pairs_, {});
  place(weights, start, move, 0);
  const auto left = evaluate();
  if (!left) return failed(left.error());
  return Outcome{*left, false, kMostTries};
}

}  // namespace loom
