#pragma once
// Attention over whole sequences, f32 and f64, forward and backward (engine L-70, L-71, L-76). Every sample is a
// sequence of its own whose positions start at 0; queries and keys may differ in number (cross-attention).
//   forward: the sums and snapped values of attention.h, so that causal f32 has the bits of a cache. Row t sees key j
//     when j <= t
//   (causal), j > t - window (window > 0) and the mask's entry is above 0; a row that sees nothing is 0.
//   backward: dp_j = dot(do, v_j), chain64 over the head; r = sum_j p_j dp_j, lanes16; ds_j = scale p_j (dp_j - r),
//     times 1 - tanh^2
//   under a softcap; dq = sum_j ds_j k_j, chain64 over j; dk_j = sum_t ds_tj q_t and dv_j = sum_t p_tj do_t, chain64
//     over t, the query
//   heads of a key head added in ascending order. Snapped: dp, the difference, every product of ds, and the results.

#include "ops/attention/attention.h"

namespace loom {

struct SequenceInputs {
  ConstTensor q;               // [samples * steps, heads * head_dim]
  ConstTensor k, v;            // [samples * keys, kv_heads * head_dim]
  const void* mask = nullptr;  // [samples, keys], or null
};
struct SequenceGradients {
  Tensor dq, dk, dv;  // shaped as q, k, v
};
// out is shaped as q.
void sequence_attention(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
                        Tensor out);
// Writes the gradients.
void sequence_attention_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples,
                                 const SequenceInputs& in, ConstTensor d_out, const SequenceGradients& to);

// Kernel side: one head of one sample. "As keys" is [keys/16][dim][16 keys], "as values" [dim/16][rows][16 of dim];
// what stands beyond the last key or element is 0. Rows of scores are `stride` apart, a multiple of 16 that covers the
// keys.
template <class T>
struct SequenceHead {
  std::size_t steps, keys, dim, stride;
  T scale, softcap;
  std::size_t window;
  bool causal;
  const T* mask;     // [stride]; null: all are seen
  const T* queries;  // rows of `width`
  T* out;
  std::size_t width;
  const T *keys_as_keys, *values_as_values;
  T* scores;  // attend: kAttendRows rows; gradient: kGradientRows
};
template <class T>
struct SequenceHeadGradient {
  SequenceHead<T> forward;  // `out` is not touched
  const T* d_out;           // rows of forward.width, as d_queries
  T* d_queries;
  const T *values_as_keys, *keys_as_values, *queries_as_values, *d_out_as_values;
  T *d_keys, *d_values;  // [keys][dim rounded up to 16], totals that are not snapped yet
  T *d_scores, *slopes;  // kGradientRows rows; slopes with a softcap only
};
inline constexpr std::size_t kAttendRows = 24, kGradientRows = kChain;  // the second: one block of chain64 over t

template <class T>
struct SequenceAttentionKernels {
  void (*attend)(const SequenceHead<T>& head, std::size_t row, std::size_t rows);
  void (*gradient)(const SequenceHeadGradient<T>& head);
  // out[dim] = the snapped sum of `count` totals, `apart` elements from each other.
  void (*sum_heads)(const T* totals, std::size_t apart, std::size_t count, std::size_t dim, T* out);
};

}  // namespace loom
