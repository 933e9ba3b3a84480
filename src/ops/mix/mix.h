#pragma once
// The weighted sum of experts and its gate (engine V-35, V-36). A group is what one set of gate weights is for: a row
// or a sample.
//   weights  p = softmax(z / temperature) over the kept entries, 0 elsewhere; with `given` the gate's output is p
//     already, and is divided
//            by the sum of what is kept when something was left out. Kept: branches that take part, of these the top_k
//              largest (0: all),
//            ties to the lower index. Sums are lanes16; z / temperature, z - max and exp are snapped.
//   mix      y[g] = sum_i p[g, i] b_i[g], chain64 over the branches; terms with p = 0 are left out.

#include <cstdint>

#include "backend/exec.h"

namespace loom {

struct GateRule {
  double temperature = 1;
  std::size_t top_k = 0;                  // 0: all
  bool given = false;                     // the gate ends in a softmax
  const std::uint8_t* enabled = nullptr;  // per branch
};

// y[g] = mean of rows g*rows .. of x, chain64 over the rows, then one division; and dx[r] = dy[g] / rows.
void mean_of_rows(const Exec& exec, ConstTensor x, std::size_t rows, Tensor y);
void mean_of_rows_backward(const Exec& exec, ConstTensor dy, std::size_t rows, Tensor dx);

// z, p [groups, branches].
void gate_weights(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor p);
// q [groups, branches]: q_i = dot(dy, b_i). dz = p (q - sum_j p_j q_j) / temperature over the kept; dz may be q.
void gate_weights_backward(const Exec& exec, const GateRule& rule, ConstTensor z, ConstTensor p, ConstTensor q,
                           Tensor dz);

// Balance of a gate (Shazeer et al. 2017, as in Fedus et al. 2022; engine V-37): weight * n * sum_i f_i P_i, f_i the
// share of groups whose largest entry that takes part is i (ties to the lower index), P_i the mean of the p_i that the
// gate gives before top_k chooses: of what is chosen alone P were f where top_k is 1, and without a gradient. Sums over
// groups are chain64, over i lanes16. It is added to `sum` [1].
void add_gate_balance(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor sum);
// dz += its gradient, through P alone: weight * n * f_i / groups is that of p_i.
void gate_balance_backward(const Exec& exec, const GateRule& rule, double weight, ConstTensor z, Tensor dz);

// branches: outputs of as many elements as y, one for each column of p; null where none takes part.
void mix(const Exec& exec, ConstTensor p, const void* const* branches, Tensor y);
// d = p[., branch] * dy
void mix_backward(const Exec& exec, ConstTensor p, std::size_t branch, ConstTensor dy, Tensor d);
// q[., branch] = dot(dy, b) over the group, chain64
void mix_gate_backward(const Exec& exec, ConstTensor dy, ConstTensor b, std::size_t branch, Tensor q);

template <class T>
struct MixKernels {
  void (*weights)(const GateRule& rule, const T* z, std::size_t n, T* p);
  void (*weights_backward)(const GateRule& rule, const T* z, const T* p, const T* q, std::size_t n, T* dz);
  void (*shares)(const GateRule& rule, const T* z, std::size_t groups, std::size_t n, T* shares);  // f_i
  void (*balance)(const T* shares, const T* p, std::size_t groups, std::size_t n, T weight, T* sum);
  // Elements [first, first + count) of every b.
  void (*mix)(const T* p, const T* const* b, std::size_t n, std::size_t first, std::size_t count, T* y);
  void (*branch)(const T* weight, const T* dy, std::size_t n, T* d);  // 0 where the weight is, whatever dy holds
  void (*dot)(const T* a, const T* b, std::size_t n, T* to);          // chain64
};

}  // namespace loom
