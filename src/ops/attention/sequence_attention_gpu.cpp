// Products of all queries, keys and values of a head, many heads at a time, and between them rows of scores.

#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/attention/sequence_attention_gpu.h"
#include "ops/attention/sequence_rows.wgsl.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm_gpu.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kMostScores = std::size_t{1} << 22;  // that are held at a time, unless one sample has more

class Sequences {
 public:
  Sequences(const Exec& exec, const AttentionConfig& config, std::size_t samples, ConstTensor q, ConstTensor k,
            const void* mask)
      : exec_(exec),
        config_(config),
        mask_(mask),
        steps_(q.rows / samples),
        keys_(k.rows / samples),
        group_(config.heads / config.kv_heads),
        at_once_(std::clamp<std::size_t>(kMostScores / (config.heads * steps_ * keys_), 1, samples)) {}

  std::size_t at_once() const { return at_once_; }
  float* take_scores() const { return exec_.arena.take<float>(at_once_ * config_.heads * steps_ * keys_); }
  void take_samples(std::size_t first, std::size_t count) { first_ = first, count_ = count; }

  // Products of rows and others' rows, [steps, keys] of each head: of queries and keys, or gradients and values.
  void multiply_heads(ConstTensor rows, ConstTensor others, float* scores) const {
    const std::size_t dim = config_.head_dim;
    gemm_of_each(exec_, {.a = {row_of(rows, steps_), rows.cols, 1},
                         .of_a = {steps_ * rows.cols, dim, 1},
                         .b = {row_of(others, keys_), 1, others.cols},
                         .of_b = {keys_ * others.cols, dim, group_},
                         .c = scores,
                         .c_stride = keys_,
                         .of_c = of_scores(),
                         .m = steps_,
                         .n = keys_,
                         .k = dim,
                         .count = count_ * config_.heads,
                         .inner = config_.heads});
  }

  // The sums of `others`' rows by weights, [steps, keys] of each head, that the steps see.
  void mix_rows(const float* weights, ConstTensor others, Tensor out) const {
    const std::size_t dim = config_.head_dim;
    gemm_of_each(exec_, {.a = {weights, keys_, 1},
                         .of_a = of_scores(),
                         .b = {row_of(others, keys_), others.cols, 1},
                         .of_b = {keys_ * others.cols, dim, group_},
                         .c = out.row(first_ * steps_),
                         .c_stride = out.cols,
                         .of_c = {steps_ * out.cols, dim, 1},
                         .m = steps_,
                         .n = dim,
                         .k = keys_,
                         .count = count_ * config_.heads,
                         .inner = config_.heads,
                         .causal = config_.causal});
  }

  // For each key the weighted sum over the steps of `rows`; sums of heads that share a key head are added in order.
  void mix_steps(const float* weights, ConstTensor rows, Tensor out) const {
    const std::size_t dim = config_.head_dim;
    for (std::size_t n = 0; n < group_; ++n)
      gemm_of_each(exec_, {.a = {weights + n * steps_ * keys_, 1, keys_},
                           .of_a = {config_.heads * steps_ * keys_, group_ * steps_ * keys_, 1},
                           .b = {static_cast<const float*>(row_of(rows, steps_)) + n * dim, rows.cols, 1},
                           .of_b = {steps_ * rows.cols, group_ * dim, 1},
                           .c = out.row(first_ * keys_),
                           .c_stride = out.cols,
                           .of_c = {keys_ * out.cols, dim, 1},
                           .m = keys_,
                           .n = dim,
                           .k = steps_,
                           .count = count_ * config_.kv_heads,
                           .inner = config_.kv_heads,
                           .into = n == 0 ? Into::Store : Into::Add});
  }

  // Probabilities p, which may overwrite the scores, and unless ds is null the gradient of the scores.
  void attend(const float* scores, float* p, float* ds) const {
    static const std::string body = recorder::math_function("exp_f") + recorder::math_function("tanh_f") +
                                    joined({wgsl::lanes, wgsl::largest, wgsl::sequence_rows});
    exec_.gpu()->record(exec_,
                        Kernel("sequence_rows", body, GpuDevice::kRowThreads)
                            .reads("scores", scores)
                            .reads("mask", mask_ == nullptr ? scores : mask_)
                            .updates("p", p)
                            .updates("ds", ds == nullptr ? p : ds)
                            .number("scale", attention_scale<float>(config_))
                            .number("softcap", std::bit_cast<std::uint32_t>(static_cast<float>(config_.softcap)))
                            .number("window", config_.window)
                            .number("first_sample", first_)
                            .fixed("has_mask", mask_ != nullptr)
                            .fixed("causal", config_.causal)
                            .fixed("steps", steps_)
                            .fixed("keys", keys_)
                            .fixed("heads", config_.heads)
                            .fixed("backward", ds != nullptr),
                        count_ * config_.heads * steps_);
  }

 private:
  Batch of_scores() const { return {config_.heads * steps_ * keys_, steps_ * keys_, 1}; }
  const void* row_of(ConstTensor t, std::size_t rows_of_sample) const { return t.row(first_ * rows_of_sample); }

  const Exec& exec_;
  const AttentionConfig& config_;
  const void* mask_;
  std::size_t steps_, keys_, group_, at_once_;
  std::size_t first_ = 0, count_ = 0;  // samples
};

}  // namespace

void sequence_attention(const Exec& exec, const AttentionConfig& config, std::size_t samples, const SequenceInputs& in,
                        Tensor out) {
  const ArenaScope scope(exec.arena);
  Sequences all(exec, config, samples, in.q, in.k, in.mask);
  float* const p = all.take_scores();
  for (std::size_t first = 0; first < samples; first += all.at_once()) {
    all.take_samples(first, std::min(all.at_once(), samples - first));
    all.multiply_heads(in.q, in.k, p);
    all.attend(p, p, nullptr);
    all.mix_rows(p, in.v, out);
  }
}

void sequence_attention_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples,
                                 const SequenceInputs& in, ConstTensor d_out, const SequenceGradients& to) {
  const ArenaScope scope(exec.arena);
  Sequences all(exec, config, samples, in.q, in.k, in.mask);
  float *const p = all.take_scores(), *const ds = all.take_scores();
  float* const scores = config.softcap != 0 ? all.take_scores() : p;  // its slope is of the scores
  for (std::size_t first = 0; first < samples; first += all.at_once()) {
    all.take_samples(first, std::min(all.at_once(), samples - first));
    all.multiply_heads(in.q, in.k, scores);
    all.multiply_heads(d_out, in.v, ds);
    all.attend(scores, p, ds);
    all.mix_rows(ds, in.k, to.dq);
    all.mix_steps(ds, in.q, to.dk);
    all.mix_steps(p, d_out, to.dv);
  }
}

}  // namespace loom::gpu
