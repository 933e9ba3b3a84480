#include "ops/elementwise/elementwise.h"
#include "ops/mix/mix.h"
#include "simd/orders.h"

namespace loom {
namespace {

// f_i of every branch into shares [n].
template <class T>
void top_shares(const GateRule& rule, ConstTensor z, double* shares) {
  for (std::size_t i = 0; i < z.cols; ++i) shares[i] = 0;
  for (std::size_t g = 0; g < z.rows; ++g) {
    const T* row = z.row<T>(g);
    std::size_t best = z.cols;
    for (std::size_t i = 0; i < z.cols; ++i)
      if (rule.enabled[i] != 0 && (best == z.cols || row[i] > row[best])) best = i;
    if (best < z.cols) shares[best] += 1;
  }
  for (std::size_t i = 0; i < z.cols; ++i) shares[i] = shares[i] / static_cast<double>(z.rows);
}

// All weights of the gate, as if every branch that takes part were kept.
GateRule whole(GateRule rule) {
  rule.top_k = 0;
  return rule;
}
Tensor whole_weights(const Exec& exec, const GateRule& rule, ConstTensor z) {
  const Tensor p = exec.arena.tensor(z.rows, z.cols, z.element);
  gate_weights(exec, whole(rule), z, p);
  return p;
}

}  // namespace

double gate_balance(const Exec& exec, const GateRule& rule, double weight, ConstTensor z) {
  const ArenaScope scope(exec.arena);
  double* const shares = exec.arena.take<double>(z.cols);
  const ConstTensor p = whole_weights(exec, rule, z);
  if (exec.rehearsal()) return 0;
  double sum = 0;
  with_element(z.element, [&]<class T>() {
    top_shares<T>(rule, z, shares);
    for (std::size_t i = 0; i < z.cols; ++i) {
      const double mean =
          lanes16<double>(p.rows, [&](std::size_t g) { return static_cast<double>(p.row<T>(g)[i]); }) / static_cast<double>(p.rows);
      sum = sum + shares[i] * mean;
    }
  });
  return weight * static_cast<double>(z.cols) * sum;
}

void gate_balance_backward(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor dz) {
  const ArenaScope scope(exec.arena);
  double* const shares = exec.arena.take<double>(z.cols);
  void* const row = exec.arena.take<std::byte>(z.cols * bytes_of(z.element));
  const Tensor p = whole_weights(exec, rule, z), q = exec.arena.tensor(z.rows, z.cols, z.element);
  with_element(z.element, [&]<class T>() {
    if (!exec.rehearsal()) {
      top_shares<T>(rule, z, shares);
      for (std::size_t i = 0; i < z.cols; ++i)
        static_cast<T*>(row)[i] = snap(static_cast<T>(weight * static_cast<double>(z.cols) * shares[i] / static_cast<double>(z.rows)));
    }
  });
  fill_zero(exec, q);
  add_to_rows(exec, q, row, q);
  gate_weights_backward(exec, whole(rule), z, p, q, q);
  add(exec, dz, q, dz);
}

}  // namespace loom
