#pragma once
// An evaluator of networks that shares nothing with the engine but the specs and the values of the weights: plain loops
// in double over the equations of the kinds. Every number carries a bound of what an engine of unit roundoff u may
// differ by: operations add u times their result to what their operands bring along (running error analysis, Wilkinson
// 1963; Higham 2002, 3.3), matrices that quantise their inputs half a step of the input's scale.

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/philox.h"
#include "layers/adapter.h"
#include "network/network.h"

namespace loom::test {

inline double unit = 0x1p-24, tiny = 0x1p-50;  // of the engine's element type: roundoff, and what snapping may take
inline bool quantises = true;                  // matrices of the INT types quantise inputs of f32

// A value and how far the engine's may be from it.
struct Num {
  double v = 0, e = 0;
};
inline Num rounded(double v, double e) {
  e += unit * std::abs(v) + tiny;
  return {v, std::isfinite(e) ? e : std::numeric_limits<double>::infinity()};
}
inline Num exactly(double v) { return {v, 0}; }
// A weight's value, which an engine of f32 rounds to f32 where its type holds more.
inline Num value_in_element(double v) {
  return {v, v == static_cast<double>(static_cast<float>(v)) ? 0 : unit * std::abs(v)};
}
inline Num operator+(Num a, Num b) { return rounded(a.v + b.v, a.e + b.e); }
inline Num operator-(Num a, Num b) { return rounded(a.v - b.v, a.e + b.e); }
inline Num operator*(Num a, Num b) { return rounded(a.v * b.v, std::abs(a.v) * b.e + std::abs(b.v) * a.e + a.e * b.e); }
inline Num operator/(Num a, Num b) {
  const double least = std::abs(b.v) - b.e;
  if (!(least > 0)) return {a.v / b.v, std::numeric_limits<double>::infinity()};
  return rounded(a.v / b.v, (a.e + std::abs(a.v / b.v) * b.e) / least);
}
// f within so many units of its result, and of `scale` besides where f itself cancels.
template <class F>
Num apply(Num a, F&& f, double ulps = 4, double scale = 0) {
  const double v = f(a.v);
  const double spread = a.e == 0 ? 0 : std::max(std::abs(f(a.v + a.e) - v), std::abs(f(a.v - a.e) - v));
  return rounded(v, spread + unit * (ulps * std::abs(v) + scale));
}
inline Num root(Num a) {
  if (!(a.v - a.e > 0)) return {std::sqrt(std::max(0.0, a.v)), std::sqrt(std::max(0.0, a.v + a.e))};
  return apply(a, [](double x) { return std::sqrt(x); }, 1);
}
inline Num exponential(Num a) {
  return apply(a, [](double x) { return std::exp(x); });
}
inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }
inline Num larger(Num a, Num b) { return {std::max(a.v, b.v), std::max(a.e, b.e)}; }

// A sum of n terms in any order: the bound is that of the absolute values.
struct Sum {
  double v = 0, e = 0, size = 0;
  std::size_t n = 0;
  void add(Num a) { v += a.v, e += a.e, size += std::abs(a.v), ++n; }
  void add(Num a, Num b) {
    v += a.v * b.v, e += std::abs(a.v) * b.e + std::abs(b.v) * a.e + a.e * b.e, size += std::abs(a.v * b.v), ++n;
  }
  Num value() const { return {v, e + static_cast<double>(n + 2) * (unit * size * 1.01 + tiny)}; }
};

struct Tensor {
  std::vector<std::size_t> shape;
  std::vector<Num> v;
  std::size_t cols() const { return shape.back(); }
  std::size_t rows() const { return v.size() / cols(); }
  Num* row(std::size_t r) { return v.data() + r * cols(); }
  const Num* row(std::size_t r) const { return v.data() + r * cols(); }
};

inline std::size_t product(const std::vector<std::size_t>& shape) {
  std::size_t n = 1;
  for (const std::size_t e : shape) n *= e;
  return n;
}
inline Tensor like(const Tensor& x, std::size_t cols) {
  Tensor y{x.shape, {}};
  y.shape.back() = cols;
  y.v.resize(product(y.shape));
  return y;
}

// Settings of a layer in the spec.
class Settings {
 public:
  explicit Settings(const Json& json) : json_(json) {}
  bool has(const char* key) const { return json_.contains(key); }
  std::size_t size(const char* key, std::size_t fallback = 0) const {
    const Json* j = find(json_, key);
    return j == nullptr ? fallback : static_cast<std::size_t>(as_int(*j).value_or(0));
  }
  double number(const char* key, double fallback) const {
    const Json* j = find(json_, key);
    return j == nullptr ? fallback : as_number(*j).value_or(fallback);
  }
  bool flag(const char* key, bool fallback = false) const {
    const Json* j = find(json_, key);
    return j == nullptr ? fallback : as_bool(*j).value_or(fallback);
  }
  std::string text(const char* key, const char* fallback = "") const {
    const Json* j = find(json_, key);
    const std::string* s = j == nullptr ? nullptr : as_string(*j);
    return s == nullptr ? fallback : *s;
  }
  std::vector<std::size_t> axes(const char* key, std::size_t n, std::size_t fallback) const {
    const Json* j = find(json_, key);
    if (j == nullptr) return std::vector<std::size_t>(n, fallback);
    if (!j->is_array()) return std::vector<std::size_t>(n, size(key));
    std::vector<std::size_t> all = list(key);
    return all.size() == 1 ? std::vector<std::size_t>(n, all[0]) : all;
  }
  std::vector<std::size_t> list(const char* key) const {
    std::vector<std::size_t> all;
    if (const Json* j = find(json_, key); j != nullptr && j->is_array())
      for (const Json& item : *j) all.push_back(static_cast<std::size_t>(as_int(item).value_or(0)));
    return all;
  }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
};

inline Num activated(const Settings& s, Num a, const char* standard = "linear") {
  const std::string f = s.text("activation", standard);
  const double slope = s.number("leaky_slope", 0.01), alpha = s.number("elu_alpha", 1);
  const auto with = [&](auto&& fn) { return apply(a, fn, 8, 4 * std::min(1.0, std::abs(a.v))); };
  const auto clip = [](double x, double low, double high) { return std::min(high, std::max(low, x)); };
  if (f == "relu") return with([](double x) { return std::max(0.0, x); });
  if (f == "silu") return with([](double x) { return x * logistic(x); });
  if (f == "gelu")
    return apply(
        a, [](double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }, 16,
        16 * std::abs(a.v));
  if (f == "tanh") return with([](double x) { return std::tanh(x); });
  if (f == "sigmoid") return with(logistic);
  if (f == "leakyrelu") return with([&](double x) { return x > 0 ? x : slope * x; });
  if (f == "relu2") return with([](double x) { return x > 0 ? x * x : 0; });
  if (f == "gelu_exact")
    return apply(a, [](double x) { return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0))); }, 16, 16 * std::abs(a.v));
  if (f == "softplus") return with([](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
  if (f == "mish")
    return apply(
        a, [](double x) { return x * std::tanh(x > 20 ? x : std::log1p(std::exp(x))); }, 16, 4 * std::abs(a.v));
  if (f == "hard_sigmoid") return with([&](double x) { return clip(x / 6 + 0.5, 0, 1); });
  if (f == "hard_swish") return with([&](double x) { return x * clip(x / 6 + 0.5, 0, 1); });
  if (f == "hard_tanh") return with([&](double x) { return clip(x, -1, 1); });
  if (f == "elu") return with([&](double x) { return x > 0 ? x : alpha * std::expm1(x); });
  if (f == "selu")
    return with([](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x)); });
  if (f == "relu6") return with([&](double x) { return clip(x, 0, 6); });
  if (f == "softsign") return with([](double x) { return x / (1 + std::abs(x)); });
  if (f == "quick_gelu") return with([](double x) { return x * logistic(1.702 * x); });
  if (f == "sign") return apply(a, [](double x) { return x >= 0 ? 1.0 : -1.0; }, 0);
  if (f == "step") return apply(a, [](double x) { return x >= 0 ? 1.0 : 0.0; }, 0);
  return a;
}

// A weight's values, as the engine decodes them.
inline std::vector<double> values_of(Layer& layer, std::string_view name) {
  Weight* w = find_weight(layer, name);
  if (w == nullptr || !w->declared()) return {};
  std::vector<double> v(w->elements());
  w->decode(0, v.size(), v.data());
  return v;
}

// A quantised input may be so far from the input itself: half a step of the scale of its row.
inline double input_step(const Weight& w, const Num* x, std::size_t n, double floor = 0) {
  const bool is_int = info(w.dtype()).compute == ComputeClass::Int;
  if (!quantises || !is_int || w.encoding().activation_quant == ActivationQuant::None) return 0;
  double most = floor;
  for (std::size_t i = 0; i < n; ++i) most = std::max(most, std::abs(x[i].v) + x[i].e);
  return most / 254 * 1.0001;
}

// W x + b for every row, with what adapters add.
inline Tensor linear(Layer& layer, std::string_view name, std::string_view bias, const Tensor& x, double floor = 0) {
  Weight& w = *find_weight(layer, name);
  const std::vector<double> values = values_of(layer, name), b = values_of(layer, bias);
  const std::size_t out = w.rows(), in = w.cols();
  Tensor y = like(x, out);
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const double step = input_step(w, x.row(r), in, floor);
    for (std::size_t o = 0; o < out; ++o) {
      Sum sum;
      for (std::size_t i = 0; i < in; ++i) sum.add(exactly(values[o * in + i]), {x.row(r)[i].v, x.row(r)[i].e + step});
      Num s = sum.value();
      s.e += 4 * unit * sum.size;  // scales of codes
      y.row(r)[o] = s;
    }
    for (const Adapter& a : w.adapters()) {
      if (!a.enabled) continue;
      std::vector<double> down(a.a.elements()), up(a.b.elements());
      a.a.decode(0, down.size(), down.data()), a.b.decode(0, up.size(), up.data());
      const std::size_t rank = a.a.rows();
      std::vector<Num> h(rank);
      for (std::size_t k = 0; k < rank; ++k) {
        Sum sum;
        for (std::size_t i = 0; i < in; ++i) sum.add(exactly(down[k * in + i]), x.row(r)[i]);
        h[k] = sum.value();
      }
      for (std::size_t o = 0; o < out; ++o) {
        Sum sum;
        for (std::size_t k = 0; k < rank; ++k) sum.add(exactly(up[o * rank + k]), h[k]);
        y.row(r)[o] = y.row(r)[o] + sum.value() * rounded(a.scale, 0);
      }
    }
    if (!b.empty())
      for (std::size_t o = 0; o < out; ++o) {
        y.row(r)[o] = y.row(r)[o] + value_in_element(b[o]);
        y.row(r)[o].e += unit * (std::abs(y.row(r)[o].v) + std::abs(b[o]));  // adapters come after the bias
      }
  }
  return y;
}

// W + B (scale A), as kinds that read their matrix as values meet it.
inline std::vector<Num> adapted_values(Layer& layer, std::string_view name) {
  Weight& w = *find_weight(layer, name);
  std::vector<Num> all;
  for (const double v : values_of(layer, name)) all.push_back(value_in_element(v));
  const std::size_t in = w.cols();
  for (const Adapter& a : w.adapters()) {
    if (!a.enabled) continue;
    std::vector<double> down(a.a.elements()), up(a.b.elements());
    a.a.decode(0, down.size(), down.data()), a.b.decode(0, up.size(), up.data());
    for (std::size_t o = 0; o < w.rows(); ++o)
      for (std::size_t i = 0; i < in; ++i) {
        Sum sum;
        for (std::size_t k = 0; k < a.a.rows(); ++k)
          sum.add(exactly(up[o * a.a.rows() + k]), rounded(a.scale, 0) * exactly(down[k * in + i]));
        all[o * in + i] = all[o * in + i] + sum.value();
      }
  }
  return all;
}

inline void rms_row(const Num* x, std::size_t n, const std::vector<double>& gain, double eps, double offset, Num* y) {
  Sum squares;
  for (std::size_t i = 0; i < n; ++i) squares.add(x[i], x[i]);
  const Num r = root(squares.value() / exactly(static_cast<double>(n)) + rounded(eps, 0));
  for (std::size_t i = 0; i < n; ++i)
    y[i] = x[i] / r * (offset == 0 ? value_in_element(gain[i]) : rounded(gain[i] + offset, 0));
}

// exp(z - max) / sum over n entries that are present.
inline void softmax_row(const std::vector<Num>& z, Num* p) {
  Num most{-std::numeric_limits<double>::infinity(), 0};
  for (const Num& a : z) most = larger(most, a);
  // The shift is one number, the same above and below: its own error cancels.
  std::vector<Num> t(z.size());
  Sum sum;
  for (std::size_t i = 0; i < z.size(); ++i) t[i] = exponential(z[i] - Num{most.v, most.e}), sum.add(t[i]);
  for (std::size_t i = 0; i < z.size(); ++i) p[i] = t[i] / sum.value();
}

}  // namespace loom::test
