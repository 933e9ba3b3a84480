#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/mix/mix.h"
#include "ops/mix/mix_gpu.h"

namespace loom {
namespace {

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

// f_i of every branch, [1, n].
Tensor top_shares(const Exec& exec, const GateRule& rule, ConstTensor z) {
  const Tensor shares = exec.arena.tensor(1, z.cols, z.element);
  for (const Exec& host : dispatch(exec, [&] { gpu::top_shares(exec, rule, z, shares); })) {
    if (!host.computes()) continue;
    with_element(z.element,
                 [&]<class T>() { host.kernels.mix.of<T>().shares(rule, z.as<T>(), z.rows, z.cols, shares.as<T>()); });
  }
  return shares;
}

}  // namespace

void add_gate_balance(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor sum) {
  const ArenaScope scope(exec.arena);
  const ConstTensor shares = top_shares(exec, rule, z), p = whole_weights(exec, rule, z);
  for (const Exec& host :
       dispatch(exec, [&] { gpu::add_balance(exec, shares, p, weight * static_cast<double>(z.cols), sum); })) {
    if (!host.computes()) return;
    with_element(z.element, [&]<class T>() {
      const T factor = static_cast<T>(weight * static_cast<double>(z.cols));
      host.kernels.mix.of<T>().balance(shares.as<T>(), p.as<T>(), p.rows, p.cols, factor, sum.as<T>());
    });
  }
}

void gate_balance_backward(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor dz) {
  const ArenaScope scope(exec.arena);
  const Tensor row = top_shares(exec, rule, z), p = whole_weights(exec, rule, z),
               q = exec.arena.tensor(z.rows, z.cols, z.element);
  scale(exec, row, weight * static_cast<double>(z.cols) / static_cast<double>(z.rows), row);
  fill_zero(exec, q);
  add_to_rows(exec, q, row.data, q);
  gate_weights_backward(exec, whole(rule), z, p, q, q);
  add(exec, dz, q, dz);
}

}  // namespace loom
