#pragma once
// Losses of logits (engine 6.2), in the element type. With m the first of a row's largest logits and z_k = snap(x_k -
// x_m):
//   rest = sum over k other than m of snap(exp z_k) by lanes16, p_k = snap(exp z_k) / (1 + rest), -log p_k =
//     snap(log1p(rest)) - z_k
// so that 1 - p_m = rest / (1 + rest) and the loss of a row that is nearly right have all their digits in f32 too.

#include <optional>

#include "ops/loss/row_scale.h"

namespace loom {

// The targets of softmax_crossentropy: values [rows, n], or a class per row, below n.
struct SoftmaxTargets {
  ConstTensor values{};
  std::span<const std::int64_t> classes{};
  std::optional<std::int64_t> ignore_index{};  // rows of this class have value and gradient 0
  std::span<const double> class_weights{};     // n, or none: 1; rounded once to the element and snapped
  double label_smoothing = 0;
};

// values[r] = -sum_k s_k log p_k by lanes16 with s_k = weight_k (t_k (1 - smoothing) + smoothing / n); a term with s_k
// = 0 is 0. gradient[r, k] = (p_k sum s - s_k) scale[r]. values [rows, 1]; gradient [rows, n], not x, or without data.
// Notes: [n] for class weights.
void softmax_crossentropy(const Exec& exec, ConstTensor x, const SoftmaxTargets& targets, const RowScale& scale,
                          Tensor values, Tensor gradient);

// The targets of multi_head_crossentropy: values [rows, n], of which each head takes its largest, the first of equals;
// or a class per row and head.
struct MultiHeadTargets {
  std::span<const std::size_t> heads{};  // entries of each head, one after the other in a row
  ConstTensor values{};
  std::span<const std::int64_t> classes{};
  ConstTensor mask{};  // f32 [rows, heads], above 0.5 where a head counts; without data: all do
};

inline constexpr double kHeadFloor = 1e-7;
// values[r] = sum over the heads, ascending by chain64, of -log(p_c + 1e-7), c the head's target and p its own softmax.
// gradient[r, k] = (p_k - [k = c]) p_c / (p_c + 1e-7) scale[r]; 0 where a head does not count.
void multi_head_crossentropy(const Exec& exec, ConstTensor x, const MultiHeadTargets& targets, const RowScale& scale,
                             Tensor values, Tensor gradient);

template <class T>
struct SoftmaxLossRow {
  const T *x, *targets, *class_weights;  // n of each; the last two may be null
  std::size_t wanted;                    // the class, where there are no targets
  T keep, everywhere;                    // 1 - smoothing, smoothing / n
  T scale;
  std::size_t n;
  T *value, *gradient;  // the latter may be null
};
template <class T>
struct HeadsLossRow {
  const std::size_t* heads;  // entries of each
  std::size_t num_heads;
  const T *x, *targets;         // of all heads; targets may be null
  const std::int64_t* classes;  // a class per head, where there are no targets
  const float* mask;            // per head, or null
  T scale;
  T *value, *gradient;
};
template <class T>
struct SoftmaxLossKernels {
  void (*row)(const SoftmaxLossRow<T>&);
  void (*heads)(const HeadsLossRow<T>&);
};

}  // namespace loom
