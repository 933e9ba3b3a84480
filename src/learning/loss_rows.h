#pragma once
// Rows of a loss: shared out among the threads, each with its sum, the sums added by chain64.

#include "learning/loss.h"
#include "ops/for_rows.h"
#include "ops/scalar_sums.h"
#include "simd/math64.h"

namespace loom {

inline double sample_weight(const LossCall& call, std::size_t row) {
  if (call.sample_weights.empty()) return 1;
  return call.sample_weights[row / (call.output.shape.rows() / call.sample_weights.size())];
}

// chain64 over the rows of f(row), the row's part of the loss, times its sample's weight.
template <class F>
double sum_rows(const Exec& exec, const LossCall& call, F&& f) {
  const std::size_t rows = call.output.shape.rows(), cols = call.output.shape.cols();
  const ArenaScope scope(exec.arena);
  double* sums = exec.arena.take<double>(rows);
  if (exec.rehearsal()) return 0;
  constexpr std::size_t kCost = 8;  // an element in f64 with its function, in units of for_ranges
  for_rows(exec, rows, cols * kCost, [&](std::size_t r) { sums[r] = sample_weight(call, r) * f(r); });
  return chain64_sum<double>(rows, [sums](std::size_t r) { return sums[r]; });
}

// p_k = exp(z_k) / sum exp z, z = x - max x.
template <class T>
struct SoftmaxRow {
  SoftmaxRow(const T* row, std::size_t n) : x(row) {
    largest = static_cast<double>(x[0]);
    for (std::size_t k = 1; k < n; ++k) largest = static_cast<double>(x[k]) > largest ? static_cast<double>(x[k]) : largest;
    total = lanes16_sum<double>(n, [this](std::size_t k) { return exp64(shifted(k)); });
    log_total = log64(total);
  }
  double shifted(std::size_t k) const { return snap_one(static_cast<double>(x[k]) - largest); }
  double p(std::size_t k) const { return snap_one(exp64(shifted(k)) / total); }
  double minus_log_p(std::size_t k) const { return log_total - shifted(k); }

  const T* x;
  double largest = 0, total = 0, log_total = 0;
};

// Losses that compare directions (loss_vectors.cpp).
template <class T>
double cosine_loss(const Exec& exec, const LossCall& call, double divisor);
template <class T>
double contrastive_loss(const Exec& exec, const LossCall& call, double temperature, double divisor);

}  // namespace loom
