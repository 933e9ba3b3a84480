// The ops of losses by their formulas; golden values of whole losses stand in learning/loss_test.cpp.

#include "ops/loss/direction_loss.h"
#include "ops/loss/element_loss.h"
#include "ops/loss/softmax_loss.h"
#include "ops/op_test.h"

namespace loom::op_test::of_loss {
namespace {

using Extents = std::pair<std::size_t, std::size_t>;
const Extents kShapes[] = {{1, 1}, {17, 15}, {65, 3}, {3, 17}, {2, 1003}, {2, 2100}, {1100, 65}};

// One factor for each sample of `rows_per_weight` rows, rounded once to the element.
template <class T>
T factor_of(const RowScale& scale, std::size_t r) {
  const double weight = scale.weights.empty() ? 1 : scale.weights[r / scale.rows_per_weight];
  return static_cast<T>(weight / scale.divisor);
}

// Value and slope by the textbook, in f64.
std::pair<double, double> formula(ElementLoss loss, double o, double t, double delta) {
  const double e = o - t, p = o + 1e-10, c = std::clamp(o, 1e-7, 1 - 1e-7), s = 1 / (1 + std::exp(-o));
  switch (loss) {
    case ElementLoss::Mse: return {e * e, 2 * e};
    case ElementLoss::Mae: return {std::abs(e), (e > 0) - (e < 0)};
    case ElementLoss::Huber:
      return {std::abs(e) > delta ? delta * (std::abs(e) - delta / 2) : e * e / 2, std::clamp(e, -delta, delta)};
    case ElementLoss::CrossEntropy: return {-t * std::log(p), -t / p};
    case ElementLoss::Bce: return {-(t * std::log(c) + (1 - t) * std::log(1 - c)), (c - t) / (c * (1 - c))};
    case ElementLoss::BceLogits: return {std::max(o, 0.0) - o * t + std::log1p(std::exp(-std::abs(o))), s - t};
    case ElementLoss::KlDiv: return {t == 0 ? 0 : t * std::log(t / p), -t / p};
    case ElementLoss::Hinge: return {std::max(0.0, 1 - t * o), t * o < 1 ? -t : 0};
  }
  return {};
}

template <class T>
void check_elements() {
  const std::vector<double> weights = {0.5, 2, 1, 0.25, 3, 1, 7, 0.125, 1};
  for (std::size_t kind = 0; kind < kNumElementLosses; ++kind)
    for (const auto& [rows, cols] : kShapes) {
      const auto loss = static_cast<ElementLoss>(kind);
      std::vector<T> o = values<T>(rows * cols, 1, 0.9), t = values<T>(rows * cols, 2, 0.9);
      const bool shares = loss == ElementLoss::CrossEntropy || loss == ElementLoss::Bce || loss == ElementLoss::KlDiv;
      for (T& v : o) v = shares ? std::abs(v) + T(0.05) : v;
      for (T& v : t) v = shares || loss == ElementLoss::BceLogits ? std::abs(v) : v;
      if (loss == ElementLoss::Hinge)
        for (T& v : t) v = v > 0 ? T{1} : T{-1};
      RowScale scale;
      scale.divisor = 7;
      if (rows == 17) scale.weights = weights, scale.rows_per_weight = 2;
      std::vector<double> wanted(rows);
      for (std::size_t i = 0; i < o.size(); ++i) {
        const auto [value, slope] = formula(loss, static_cast<double>(o[i]), static_cast<double>(t[i]), 0.3);
        wanted[i / cols] += value;
        wanted.push_back(slope * static_cast<double>(factor_of<T>(scale, i / cols)));
      }
      const std::vector<T> found = everywhere(rows == 1100, [&](const Exec& exec) {
        std::vector<T> value(rows), gradient(o.size()), alone(rows);
        element_loss(exec, loss, 0.3, tensor(o, rows, cols), tensor(t, rows, cols), scale, tensor(value, rows, 1),
                     tensor(gradient, rows, cols));
        element_loss(exec, loss, 0.3, tensor(o, rows, cols), tensor(t, rows, cols), scale, tensor(alone, rows, 1), {});
        EXPECT_TRUE(same(alone, value)) << "without a gradient";
        return joined({value, gradient});
      });
      EXPECT_TRUE(near(found, wanted, sizeof(T) == 8 ? 1e-11 : 1e-5)) << kind << ", " << rows << " rows of " << cols;
    }
}
LOOM_OP_TEST(Loss, T_10_element_by_element, check_elements)

// The order of sums, for the one whose terms are plain arithmetic.
template <class T>
void check_sum() {
  for (const auto& [rows, cols] : kShapes) {
    const std::vector<T> o = special_values<T>(rows * cols, 3), t = values<T>(rows * cols, 4);
    std::vector<T> value(rows), gradient(o.size());
    for (std::size_t r = 0; r < rows; ++r)
      value[r] = snapped<T>(lanes_sum<T>(cols, [&](std::size_t i) {
        const T e = snapped<T>(o[r * cols + i] - t[r * cols + i]);
        return e * e;
      }));
    for (std::size_t i = 0; i < o.size(); ++i) {
      const T e = snapped<T>(o[i] - t[i]);
      gradient[i] = snapped<T>((e + e) * T(0.25));
    }
    RowScale scale;
    scale.divisor = 4;
    EXPECT_TRUE(same(everywhere(rows == 1100,
                                [&](const Exec& exec) {
                                  std::vector<T> a(rows), b(o.size());
                                  element_loss(exec, ElementLoss::Mse, 0, tensor(o, rows, cols), tensor(t, rows, cols),
                                               scale, tensor(a, rows, 1), tensor(b, rows, cols));
                                  return joined({a, b});
                                }),
                     joined({value, gradient})))
        << rows << " rows of " << cols;
  }
}
LOOM_OP_TEST(Loss, N_1_2_values_of_rows_by_lanes16, check_sum)

// A row of softmax_crossentropy: its value, then its gradient.
std::vector<double> crossentropy(const double* x, const std::vector<double>& shares, double scale) {
  const std::size_t n = shares.size();
  double top = x[0], total = 0, sum = 0, value = 0;
  for (std::size_t i = 0; i < n; ++i) top = std::max(top, x[i]);
  for (std::size_t i = 0; i < n; ++i) total += std::exp(x[i] - top), sum += shares[i];
  for (std::size_t i = 0; i < n; ++i) value -= shares[i] * (x[i] - top - std::log(total));
  std::vector<double> out = {value};
  for (std::size_t i = 0; i < n; ++i) out.push_back((std::exp(x[i] - top) / total * sum - shares[i]) * scale);
  return out;
}

template <class T>
void check_crossentropy() {
  for (const auto& [rows, cols] : kShapes)
    for (const bool by_class : {true, false})
      for (const double smoothing : {0.0, 0.1})
        for (const bool weighted : {false, true}) {
          const std::vector<T> x = values<T>(rows * cols, 5, 4);
          std::vector<T> targets = values<T>(rows * cols, 6);
          for (T& v : targets) v = std::abs(v) * 2 / static_cast<T>(cols);  // add up to about 1
          std::vector<std::int64_t> classes(rows);
          for (std::size_t r = 0; r < rows; ++r) classes[r] = static_cast<std::int64_t>(r * 7 % cols);
          if (rows > 3) classes[3] = -100;
          std::vector<double> weights(cols);
          for (std::size_t i = 0; i < cols; ++i) weights[i] = 0.5 + static_cast<double>(i % 4) / 4;
          if (!weighted) weights.clear();
          RowScale scale;
          scale.divisor = static_cast<double>(rows);
          std::vector<double> value, gradient;
          for (std::size_t r = 0; r < rows; ++r) {
            std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(r * cols),
                                    x.begin() + static_cast<std::ptrdiff_t>((r + 1) * cols));
            std::vector<double> shares(cols), out(cols + 1);
            for (std::size_t i = 0; i < cols; ++i) {
              const double t = by_class ? (static_cast<std::int64_t>(i) == classes[r] ? 1.0 : 0.0)
                                        : static_cast<double>(targets[r * cols + i]);
              shares[i] = (weighted ? weights[i] : 1) * (t * (1 - smoothing) + smoothing / static_cast<double>(cols));
            }
            if (!by_class || classes[r] != -100)
              out = crossentropy(row.data(), shares, static_cast<double>(factor_of<T>(scale, r)));
            value.push_back(out[0]);
            gradient.insert(gradient.end(), out.begin() + 1, out.end());
          }
          SoftmaxTargets to{.class_weights = weights, .label_smoothing = smoothing};
          if (by_class)
            to.classes = classes, to.ignore_index = -100;
          else
            to.values = tensor(std::as_const(targets), rows, cols);
          const std::vector<T> found = everywhere(rows == 1100, [&](const Exec& exec) {
            std::vector<T> a(rows, T{5}), b(x.size(), T{5});
            softmax_crossentropy(exec, tensor(x, rows, cols), to, scale, tensor(a, rows, 1), tensor(b, rows, cols));
            return joined({a, b});
          });
          EXPECT_TRUE(near(found, joined({value, gradient}), sizeof(T) == 8 ? 1e-12 : 3e-6))
              << rows << " rows of " << cols << (by_class ? ", classes" : "") << (weighted ? ", weights" : "")
              << ", smoothing " << smoothing;
        }
}
LOOM_OP_TEST(Loss, crossentropy_of_logits, check_crossentropy)

template <class T>
void check_heads() {
  const std::vector<std::size_t> heads = {3, 1, 17, 65};
  const std::size_t cols = 86, count = heads.size();
  for (const std::size_t rows : {std::size_t{1}, std::size_t{15}, std::size_t{700}})
    for (const bool by_class : {true, false})
      for (const bool masked : {true, false}) {
        const std::vector<T> x = values<T>(rows * cols, 7, 4), targets = values<T>(rows * cols, 8);
        std::vector<float> mask = values<float>(rows * count, 9);
        for (float& v : mask) v = v > 0 ? 1.0f : 0.5f;
        std::vector<std::int64_t> classes;
        std::vector<double> value(rows), gradient(x.size());
        RowScale scale;
        scale.divisor = 3;
        for (std::size_t r = 0; r < rows; ++r)
          for (std::size_t h = 0, first = r * cols; h < count; first += heads[h], ++h) {
            const std::size_t n = heads[h];
            std::size_t c = (r + h) % n;
            classes.push_back(static_cast<std::int64_t>(c));
            for (std::size_t i = 0; i < n && !by_class; ++i)
              if (i == 0 || targets[first + i] > targets[first + c]) c = i;
            if (masked && !(mask[r * count + h] > 0.5f)) continue;
            double total = 0, top = -1e30;
            for (std::size_t i = 0; i < n; ++i) top = std::max(top, static_cast<double>(x[first + i]));
            for (std::size_t i = 0; i < n; ++i) total += std::exp(static_cast<double>(x[first + i]) - top);
            const auto p = [&](std::size_t i) { return std::exp(static_cast<double>(x[first + i]) - top) / total; };
            value[r] -= std::log(p(c) + 1e-7);
            for (std::size_t i = 0; i < n; ++i)
              gradient[first + i] =
                  (p(i) - (i == c)) * p(c) / (p(c) + 1e-7) * static_cast<double>(factor_of<T>(scale, r));
          }
        MultiHeadTargets to{.heads = heads};
        if (by_class)
          to.classes = classes;
        else
          to.values = tensor(targets, rows, cols);
        if (masked) to.mask = tensor(std::as_const(mask), rows, count);
        const std::vector<T> found = everywhere(rows == 700, [&](const Exec& exec) {
          std::vector<T> a(rows, T{5}), b(x.size(), T{5});
          multi_head_crossentropy(exec, tensor(x, rows, cols), to, scale, tensor(a, rows, 1), tensor(b, rows, cols));
          return joined({a, b});
        });
        EXPECT_TRUE(near(found, joined({value, gradient}), sizeof(T) == 8 ? 1e-12 : 3e-6))
            << rows << (by_class ? ", classes" : "") << (masked ? ", mask" : "");
      }
}
LOOM_OP_TEST(Loss, T_12_heads_side_by_side, check_heads)

// |x|, at least 1e-8.
template <class T>
T norm_of(const T* x, std::size_t n) {
  return std::max(std::sqrt(lanes_sum<T>(n, [&](std::size_t i) { return x[i] * x[i]; })), static_cast<T>(1e-8));
}

template <class T>
void check_cosine() {
  for (const auto& [rows, cols] : kShapes) {
    std::vector<T> o = values<T>(rows * cols, 10), t = values<T>(rows * cols, 11), value(rows), gradient(o.size());
    for (std::size_t i = 0; i < cols && rows > 1; ++i) o[i] = 0;  // a norm at its floor
    RowScale scale;
    scale.divisor = 3;
    for (std::size_t r = 0; r < rows; ++r) {
      const T *a = o.data() + r * cols, *b = t.data() + r * cols;
      const T size = norm_of(a, cols), other = norm_of(b, cols);
      const auto u = [&](std::size_t i) { return snapped<T>(a[i] / size); };
      const auto v = [&](std::size_t i) { return snapped<T>(b[i] / other); };
      const T product = lanes_sum<T>(cols, [&](std::size_t i) { return u(i) * v(i); });
      const T squares = lanes_sum<T>(cols, [&](std::size_t i) {
        const T d = snapped<T>(u(i) - v(i));
        return d * d;
      });
      value[r] = snapped<T>(size > T(1e-8) ? squares / 2 : T{1} - product);
      const T factor = factor_of<T>(scale, r) / size;
      for (std::size_t i = 0; i < cols; ++i)
        gradient[r * cols + i] = snapped<T>(snapped<T>(snapped<T>(u(i) - v(i)) - value[r] * u(i)) * factor);
    }
    EXPECT_TRUE(same(everywhere(rows == 1100,
                                [&](const Exec& exec) {
                                  std::vector<T> a(rows), b(o.size()), alone(rows);
                                  cosine_loss(exec, tensor(o, rows, cols), tensor(t, rows, cols), scale,
                                              tensor(a, rows, 1), tensor(b, rows, cols));
                                  cosine_loss(exec, tensor(o, rows, cols), tensor(t, rows, cols), scale,
                                              tensor(alone, rows, 1), {});
                                  EXPECT_TRUE(same(alone, a));
                                  return joined({a, b});
                                }),
                     joined({value, gradient})))
        << rows << " rows of " << cols;
  }
}
LOOM_OP_TEST(Loss, angles_between_rows, check_cosine)

// Row i against all others, by differences of the loss itself for the gradients.
double contrastive(const std::vector<double>& o, const std::vector<double>& t, std::size_t rows, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    double total = 0, own = 0;
    for (std::size_t j = 0; j < rows; ++j) {
      double dot = 0, a = 0, b = 0;
      for (std::size_t k = 0; k < n; ++k)
        dot += o[i * n + k] * t[j * n + k], a += o[i * n + k] * o[i * n + k], b += t[j * n + k] * t[j * n + k];
      const double cosine = dot / std::sqrt(a * b) / 0.5;
      total += std::exp(cosine), own = i == j ? cosine : own;
    }
    sum += std::log(total) - own;
  }
  return sum;
}

template <class T>
void check_contrastive() {
  for (const auto& [rows, cols] : {Extents{1, 3}, {5, 17}, {17, 5}}) {
    const std::vector<T> o = values<T>(rows * cols, 12), t = values<T>(rows * cols, 13);
    RowScale scale;
    const std::vector<T> found = everywhere(false, [&](const Exec& exec) {
      std::vector<T> a(rows), b(o.size()), c(o.size());
      contrastive_loss(exec, tensor(o, rows, cols), tensor(t, rows, cols), 0.5, scale, tensor(a, rows, 1),
                       tensor(b, rows, cols), tensor(c, rows, cols));
      return joined({a, b, c});
    });
    std::vector<double> from(o.begin(), o.end()), to(t.begin(), t.end());
    double total = 0;
    for (std::size_t r = 0; r < rows; ++r) total += static_cast<double>(found[r]);
    EXPECT_NEAR(total, contrastive(from, to, rows, cols), 1e-5 * static_cast<double>(rows));
    std::vector<double> wanted;
    for (std::vector<double>* side : {&from, &to})
      for (double& v : *side) {
        const double kept = v, h = 1e-5;
        v = kept + h;
        const double above = contrastive(from, to, rows, cols);
        v = kept - h;
        const double below = contrastive(from, to, rows, cols);
        v = kept;
        wanted.push_back((above - below) / (2 * h));
      }
    EXPECT_TRUE(near(std::vector<T>(found.begin() + static_cast<std::ptrdiff_t>(rows), found.end()), wanted,
                     sizeof(T) == 8 ? 1e-8 : 2e-5));
  }
}
LOOM_OP_TEST(Loss, each_row_against_all_others, check_contrastive)

}  // namespace
}  // namespace loom::op_test::of_loss
