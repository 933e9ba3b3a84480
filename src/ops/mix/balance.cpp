#include "ops/elementwise/elementwise.h"
#include "ops/mix/mix.h"
#include "ops/scalar_sums.h"

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

}  // namespace

double gate_balance(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, ConstTensor p) {
  const ArenaScope scope(exec.arena);
  double* const shares = exec.arena.take<double>(z.cols);
  if (exec.rehearsal()) return 0;
  double sum = 0;
  with_element(z.element, [&]<class T>() {
    top_shares<T>(rule, z, shares);
    for (std::size_t i = 0; i < z.cols; ++i) {
      const double mean =
          lanes16_sum<double>(p.rows, [&](std::size_t g) { return static_cast<double>(p.row<T>(g)[i]); }) / static_cast<double>(p.rows);
      sum = sum + shares[i] * mean;
    }
  });
  return weight * static_cast<double>(z.cols) * sum;
}

void gate_balance_backward(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor q) {
  const ArenaScope scope(exec.arena);
  double* const shares = exec.arena.take<double>(z.cols);
  void* const row = exec.arena.take<std::byte>(z.cols * bytes_of(z.element));
  with_element(z.element, [&]<class T>() {
    if (!exec.rehearsal()) {
      top_shares<T>(rule, z, shares);
      for (std::size_t i = 0; i < z.cols; ++i)
        static_cast<T*>(row)[i] = snap_one(static_cast<T>(weight * static_cast<double>(z.cols) * shares[i] / static_cast<double>(z.rows)));
    }
  });
  add_to_rows(exec, q, row, q);
}

}  // namespace loom
