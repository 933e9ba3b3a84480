#include "ops/attention/sequence_attention.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/attention/sequence_attention_gpu.h"
#include "ops/dispatch.h"
#include "ops/until_cancelled.h"
#include "ops/gemm/gemm.h"

namespace loom {
namespace {

// Extents of one call, and the memory that heads share.
template <class T>
struct Sequences {
  const Exec& exec;
  const AttentionConfig& config;
  std::size_t samples, steps, keys, stride;
  T* mask = nullptr;  // [samples, stride]

  Sequences(const Exec& e, const AttentionConfig& c, std::size_t n, ConstTensor q, ConstTensor k, const void* given)
      : exec(e), config(c), samples(n), steps(q.rows / n), keys(k.rows / n) {
    // Sixteen more than the keys need: rows a power of two apart would share one set of the cache.
    stride = round_up(keys, 16) + 16;
    T* const padded = exec.arena.take<T>(samples * stride);
    if (given == nullptr) return;
    mask = padded;
    for_rows(exec, samples, stride, [&](std::size_t b) {
      std::copy_n(static_cast<const T*>(given) + b * keys, keys, mask + b * stride);
      std::fill_n(mask + b * stride + keys, stride - keys, T{0});
    });
  }

  std::size_t dim() const { return config.head_dim; }
  std::size_t group() const { return config.heads / config.kv_heads; }
  std::size_t as_keys_size() const { return round_up(keys, 16) * dim(); }
  std::size_t as_values_size(std::size_t rows) const { return rows * round_up(dim(), 16); }

  void pack_as_keys(const T* rows, std::size_t width, T* to) const {
    for (std::size_t j = 0; j < keys; j += 16, to += 16 * dim())
      pack_panel(exec, rows + j * width, 1, width, dim(), std::min<std::size_t>(16, keys - j), to);
  }
  void pack_as_values(const T* rows, std::size_t count, std::size_t width, T* to) const {
    for (std::size_t d = 0; d < dim(); d += 16, to += 16 * count)
      pack_panel(exec, rows + d, width, 1, count, std::min<std::size_t>(16, dim() - d), to);
  }

  SequenceHead<T> head(std::size_t sample, std::size_t h, ConstTensor q) const {
    return {.steps = steps,
            .keys = keys,
            .dim = dim(),
            .stride = stride,
            .scale = attention_scale<T>(config),
            .softcap = static_cast<T>(config.softcap),
            .window = config.window,
            .causal = config.causal,
            .mask = mask == nullptr ? nullptr : mask + sample * stride,
            .queries = q.row<T>(sample * steps) + h * dim(),
            .out = nullptr,
            .width = q.cols,
            .keys_as_keys = nullptr,
            .values_as_values = nullptr,
            .scores = nullptr};
  }

  // f(part, worker): on this thread where that is sooner than waking the others.
  template <class F>
  void run(std::size_t parts, F&& f) const {
    if (!exec.computes()) return;
    if (samples * config.heads * steps * keys * dim() < 4 * kWorthSharing)
      for (std::size_t i = 0; i < parts; ++i) f(i, 0);
    else
      exec.pool.run(parts, [&](std::size_t part, int worker) {
        if (!is_cancelled(exec)) f(part, worker);
      });
    keep_cancel(exec);
  }
};

template <class T>
void attend(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
            Tensor out) {
  const ArenaScope scope(exec.arena);
  const Sequences<T> all(exec, config, samples, in.q, in.k, in.mask);
  const std::size_t dim = all.dim(), key_heads = samples * config.kv_heads;
  const std::size_t key_size = all.as_keys_size(), value_size = all.as_values_size(all.keys),
                    score_size = kAttendRows * all.stride;
  T* const keys = exec.arena.take<T>(key_heads * key_size);
  T* const values = exec.arena.take<T>(key_heads * value_size);
  T* const scores = exec.arena.take<T>(static_cast<std::size_t>(exec.pool.threads()) * score_size);
  for_rows(exec, key_heads, all.keys * dim, [&](std::size_t i) {
    const std::size_t row = i / config.kv_heads * all.keys, first = i % config.kv_heads * dim;
    all.pack_as_keys(in.k.row<T>(row) + first, in.k.cols, keys + i * key_size);
    all.pack_as_values(in.v.row<T>(row) + first, all.keys, in.v.cols, values + i * value_size);
  });
  const std::size_t tiles = ceil_div(all.steps, kAttendRows);
  all.run(samples * config.heads * tiles, [&](std::size_t part, int worker) {
    const std::size_t h = part / tiles % config.heads, sample = part / tiles / config.heads,
                      row = part % tiles * kAttendRows;
    const std::size_t key_head = sample * config.kv_heads + h / all.group();
    SequenceHead<T> head = all.head(sample, h, in.q);
    head.out = out.row<T>(sample * all.steps) + h * dim;
    head.keys_as_keys = keys + key_head * key_size;
    head.values_as_values = values + key_head * value_size;
    head.scores = scores + static_cast<std::size_t>(worker) * score_size;
    exec.kernels.sequence_attention.of<T>().attend(head, row, std::min(kAttendRows, all.steps - row));
  });
}

template <class T>
void attend_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
                     ConstTensor d_out, const SequenceGradients& to) {
  const ArenaScope scope(exec.arena);
  const Sequences<T> all(exec, config, samples, in.q, in.k, in.mask);
  const SequenceAttentionKernels<T>& kernels = exec.kernels.sequence_attention.of<T>();
  const std::size_t dim = all.dim(), heads = samples * config.heads, width = round_up(dim, 16);
  const std::size_t key_size = all.as_keys_size(), value_size = all.as_values_size(all.keys),
                    query_size = all.as_values_size(all.steps);
  const std::size_t score_size = kGradientRows * all.stride;
  const std::size_t tiles_of_scores = config.softcap != 0 ? 3 : 2;
  const std::size_t per_worker = 2 * key_size + value_size + 2 * query_size + tiles_of_scores * score_size;
  T* const memory = exec.arena.take<T>(static_cast<std::size_t>(exec.pool.threads()) * per_worker);
  T* const totals_k = exec.arena.take<T>(heads * value_size);
  T* const totals_v = exec.arena.take<T>(heads * value_size);
  all.run(heads, [&](std::size_t part, int worker) {
    const std::size_t h = part % config.heads, sample = part / config.heads, first = h / all.group() * dim;
    T* next = memory + static_cast<std::size_t>(worker) * per_worker;
    const auto take = [&](std::size_t n) { return (next += n) - n; };
    T *const k_keys = take(key_size), *const v_keys = take(key_size), *const k_values = take(value_size);
    T *const q_values = take(query_size), *const d_values = take(query_size);
    const T* const k_rows = in.k.row<T>(sample * all.keys) + first;
    SequenceHead<T> head = all.head(sample, h, in.q);
    const T* const d_rows = d_out.row<T>(sample * all.steps) + h * dim;
    all.pack_as_keys(k_rows, in.k.cols, k_keys);
    all.pack_as_keys(in.v.row<T>(sample * all.keys) + first, in.v.cols, v_keys);
    all.pack_as_values(k_rows, all.keys, in.k.cols, k_values);
    all.pack_as_values(head.queries, all.steps, in.q.cols, q_values);
    all.pack_as_values(d_rows, all.steps, d_out.cols, d_values);
    head.keys_as_keys = k_keys;
    head.scores = take(score_size);
    T* const d_scores = take(score_size);
    kernels.gradient({.forward = head,
                      .d_out = d_rows,
                      .d_queries = to.dq.row<T>(sample * all.steps) + h * dim,
                      .values_as_keys = v_keys,
                      .keys_as_values = k_values,
                      .queries_as_values = q_values,
                      .d_out_as_values = d_values,
                      .d_keys = totals_k + part * value_size,
                      .d_values = totals_v + part * value_size,
                      .d_scores = d_scores,
                      .slopes = config.softcap != 0 ? take(score_size) : nullptr});
  });
  for_rows(exec, to.dk.rows, to.dk.cols * all.group(), [&](std::size_t r) {
    const std::size_t sample = r / all.keys, key = r % all.keys;
    for (std::size_t h = 0; h < config.kv_heads; ++h) {
      const std::size_t from = (sample * config.heads + h * all.group()) * value_size + key * width;
      kernels.sum_heads(totals_k + from, value_size, all.group(), dim, to.dk.row<T>(r) + h * dim);
      kernels.sum_heads(totals_v + from, value_size, all.group(), dim, to.dv.row<T>(r) + h * dim);
    }
  });
}

}  // namespace

void sequence_attention(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
                        Tensor out) {
  for (const Exec& host : dispatch(exec, [&] { gpu::sequence_attention(exec, config, samples, in, out); }))
    with_element(in.q.element, [&]<class T>() { attend<T>(host, config, samples, in, out); });
}

void sequence_attention_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples,
                                 const SequenceInputs& in, ConstTensor d_out, const SequenceGradients& to) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::sequence_attention_backward(exec, config, samples, in, d_out, to); }))
    with_element(in.q.element, [&]<class T>() { attend_backward<T>(host, config, samples, in, d_out, to); });
}

}  // namespace loom
