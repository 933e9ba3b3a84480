#pragma once
// Variants whose probabilities are products and sums of several softmaxes of one row q (engine 3.13), and their
// gradients.
//   tree      q holds all nodes level by level; p(node) = q(node) p(parent). p has q's layout, the leaves last.
//   adaptive  q is [c0 words, K clusters] and K tails; p(word of tail k) = q(cluster k) q(word in tail)
//   mixture   q is M weights and M rows of n; p_i = sum_m q_m q_mi, chain64 over m
// Sums along a row are lanes16.

#include <span>

#include "backend/exec.h"

namespace loom {

// levels: children of each node, level by level; `p` of every node [rows, nodes], y [rows, leaves].
void combine_tree(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, Tensor p, Tensor y);
void combine_tree_backward(const Exec& exec, std::span<const std::size_t> levels, ConstTensor q, ConstTensor p,
                           ConstTensor dy, Tensor dq);

// cutoffs c0 < c1 < ... < cK, y [rows, cK].
void combine_adaptive(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, Tensor y);
void combine_adaptive_backward(const Exec& exec, std::span<const std::size_t> cutoffs, ConstTensor q, ConstTensor dy,
                               Tensor dq);

void combine_mixture(const Exec& exec, std::size_t count, ConstTensor q, Tensor y);
void combine_mixture_backward(const Exec& exec, std::size_t count, ConstTensor q, ConstTensor dy, Tensor dq);

// One row of combine_tree_backward(): dp is scratch of as many elements as q.
template <class T>
struct TreeGradient {
  const std::size_t* levels;
  std::size_t num_levels, nodes, leaves;
  const T *q, *p, *dy;
  T *dp, *dq;
};
// Each kernel takes one row.
template <class T>
struct CombineKernels {
  void (*tree)(const std::size_t* levels, std::size_t num_levels, const T* q, T* p, T* y);
  void (*tree_backward)(const TreeGradient<T>&);
  void (*adaptive)(const std::size_t* cutoffs, std::size_t num_cutoffs, const T* q, T* y);
  void (*adaptive_backward)(const std::size_t* cutoffs, std::size_t num_cutoffs, const T* q, const T* dy, T* dq);
  void (*mixture)(std::size_t count, std::size_t n, const T* q, T* y);
  void (*mixture_backward)(std::size_t count, std::size_t n, const T* q, const T* dy, T* dq);
};

}  // namespace loom
