// Losses of directions: rows are compared by the cosine of the angle between them.

#include <cmath>

#include "learning/loss_rows.h"

namespace loom {
namespace {

constexpr double kLeastNorm = 1e-8;

template <class T>
double norm_of(const T* x, std::size_t n) {
  const double squares = lanes16_sum<double>(n, [x](std::size_t k) { return static_cast<double>(x[k]) * static_cast<double>(x[k]); });
  const double norm = std::sqrt(squares);
  return norm < kLeastNorm ? kLeastNorm : norm;
}

template <class A, class B>
double dot(const A* a, const B* b, std::size_t n) {
  return chain64_sum<double>(n, [&](std::size_t k) { return static_cast<double>(a[k]) * static_cast<double>(b[k]); });
}

// Unit vectors [rows, n] and the norms they were divided by.
struct Units {
  double *unit, *norm;
};

template <class T>
Units units_of(const Exec& exec, const ConstView& x) {
  const std::size_t rows = x.shape.rows(), n = x.shape.cols();
  const Units out{exec.arena.take<double>(rows * n), exec.arena.take<double>(rows)};
  for_rows(exec, rows, n, [&](std::size_t r) {
    const T* row = x.as<T>() + r * n;
    out.norm[r] = norm_of(row, n);
    for (std::size_t k = 0; k < n; ++k) out.unit[r * n + k] = snap_one(static_cast<double>(row[k]) / out.norm[r]);
  });
  return out;
}

// d of x from d of its unit vector, u_k = chain64 over j of c(j) others[j, k]: (u - (u . unit) unit) / norm.
template <class T, class F>
void unit_backward(const double* unit, double norm, const double* others, std::size_t rows, std::size_t n, F&& c, double* u, T* dx) {
  for (std::size_t k = 0; k < n; ++k) u[k] = snap_one(chain64_sum<double>(rows, [&](std::size_t j) { return c(j) * others[j * n + k]; }));
  const double along = dot(u, unit, n);
  for (std::size_t k = 0; k < n; ++k) dx[k] = snap_one(static_cast<T>((u[k] - along * unit[k]) / norm));
}

}  // namespace

template <class T>
double cosine_loss(const Exec& exec, const LossCall& call, double divisor) {
  const std::size_t n = call.output.shape.cols();
  return sum_rows(exec, call, [&](std::size_t r) {
    const T *o = call.output.as<T>() + r * n, *t = call.target.as<T>() + r * n;
    const double o_norm = norm_of(o, n), t_norm = norm_of(t, n), cosine = dot(o, t, n) / (o_norm * t_norm);
    const double scale = sample_weight(call, r) / (o_norm * divisor);
    if (call.gradient.data != nullptr)
      for (std::size_t k = 0; k < n; ++k)
        call.gradient.as<T>()[r * n + k] =
            snap_one(static_cast<T>(-(static_cast<double>(t[k]) / t_norm - cosine * (static_cast<double>(o[k]) / o_norm)) * scale));
    return 1 - cosine;
  });
}

template <class T>
double contrastive_loss(const Exec& exec, const LossCall& call, double temperature, double divisor) {
  const std::size_t rows = call.output.shape.rows(), n = call.output.shape.cols();
  const ArenaScope scope(exec.arena);
  const Units o = units_of<T>(exec, call.output), t = units_of<T>(exec, call.target);
  double* slopes = exec.arena.take<double>(rows * rows);  // of the loss by each cosine
  double* scratch = exec.arena.take<double>(rows * n);
  const double sum = sum_rows(exec, call, [&](std::size_t i) {
    double* row = slopes + i * rows;
    for (std::size_t j = 0; j < rows; ++j) row[j] = snap_one(dot(o.unit + i * n, t.unit + j * n, n) / temperature);
    const SoftmaxRow<double> softmax(row, rows);
    const double loss = softmax.minus_log_p(i), scale = sample_weight(call, i) / (temperature * divisor);
    for (std::size_t j = 0; j < rows; ++j) row[j] = snap_one(scale * (softmax.p(j) - (i == j ? 1.0 : 0.0)));
    return loss;
  });
  if (call.gradient.data != nullptr)
    for_rows(exec, rows, rows * n, [&](std::size_t i) {
      const auto slope = [&](std::size_t j) { return slopes[i * rows + j]; };
      unit_backward(o.unit + i * n, o.norm[i], t.unit, rows, n, slope, scratch + i * n, call.gradient.as<T>() + i * n);
    });
  if (call.target_gradient.data != nullptr)
    for_rows(exec, rows, rows * n, [&](std::size_t j) {
      const auto slope = [&](std::size_t i) { return slopes[i * rows + j]; };
      unit_backward(t.unit + j * n, t.norm[j], o.unit, rows, n, slope, scratch + j * n, call.target_gradient.as<T>() + j * n);
    });
  return sum;
}

template double cosine_loss<float>(const Exec&, const LossCall&, double);
template double cosine_loss<double>(const Exec&, const LossCall&, double);
template double contrastive_loss<float>(const Exec&, const LossCall&, double, double);
template double contrastive_loss<double>(const Exec&, const LossCall&, double, double);

}  // namespace loom
