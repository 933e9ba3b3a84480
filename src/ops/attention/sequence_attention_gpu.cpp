#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/attention/sequence_attend.wgsl.h"
#include "ops/attention/sequence_attention.h"
#include "ops/attention/sequence_backward.wgsl.h"
#include "ops/attention/sequence_keys.wgsl.h"
#include "ops/attention/sequence_scores.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

constexpr std::size_t kMostScores = std::size_t{1} << 22;  // that are held at a time, unless one sample has more

std::string attention_body(std::string_view last) {
  return recorder::math_function("exp_f") + recorder::math_function("tanh_f") +
         joined({wgsl::lanes, wgsl::largest, wgsl::sequence_scores, last});
}

struct Sequences {
  const AttentionConfig& config;
  std::size_t steps, keys, at_once;

  Sequences(const AttentionConfig& c, std::size_t samples, ConstTensor q, ConstTensor k)
      : config(c),
        steps(q.rows / samples),
        keys(k.rows / samples),
        at_once(std::clamp<std::size_t>(kMostScores / (c.heads * steps * keys), 1, samples)) {}
  std::size_t scores() const { return at_once * config.heads * steps * keys; }

  void add_shape(Kernel& kernel, std::size_t first_sample) const {
    kernel.number("first_sample", first_sample)
        .fixed("steps", steps)
        .fixed("keys", keys)
        .fixed("heads", config.heads)
        .fixed("kv_heads", config.kv_heads)
        .fixed("dim", config.head_dim);
  }
  Kernel of_step(std::string_view name, std::string_view body, std::size_t first_sample, ConstTensor q, ConstTensor k,
                 ConstTensor v, const void* mask, float* p) const {
    Kernel kernel(name, body, GpuDevice::kRowThreads);
    kernel.reads("q", q.data).reads("k", k.data).reads("v", v.data).updates("p", p);
    kernel.reads("mask", mask == nullptr ? k.data : mask).fixed("has_mask", mask != nullptr);
    kernel.number("scale", attention_scale<float>(config))
        .number("softcap", std::bit_cast<std::uint32_t>(static_cast<float>(config.softcap)))
        .number("window", config.window)
        .fixed("causal", config.causal);
    add_shape(kernel, first_sample);
    return kernel;
  }
};

}  // namespace

void sequence_attention(const Exec& exec, const AttentionConfig& config, std::size_t samples, ConstTensor q,
                        ConstTensor k, ConstTensor v, const void* mask, Tensor out) {
  static const std::string body = attention_body(wgsl::sequence_attend);
  const ArenaScope scope(exec.arena);
  const Sequences all(config, samples, q, k);
  float* const p = exec.arena.take<float>(all.scores());
  for (std::size_t first = 0; first < samples; first += all.at_once)
    exec.gpu()->record(exec, all.of_step("sequence_attend", body, first, q, k, v, mask, p).writes("out", out.data),
                       std::min(all.at_once, samples - first) * config.heads * all.steps);
}

void sequence_attention_backward(const Exec& exec, const AttentionConfig& config, std::size_t samples, ConstTensor q,
                                 ConstTensor k, ConstTensor v, const void* mask, ConstTensor d_out, Tensor dq,
                                 Tensor dk, Tensor dv) {
  static const std::string body = attention_body(wgsl::sequence_backward);
  const ArenaScope scope(exec.arena);
  const Sequences all(config, samples, q, k);
  float* const p = exec.arena.take<float>(all.scores());
  float* const ds = exec.arena.take<float>(all.scores());
  for (std::size_t first = 0; first < samples; first += all.at_once) {
    const std::size_t count = std::min(all.at_once, samples - first);
    exec.gpu()->record(exec,
                       all.of_step("sequence_backward", body, first, q, k, v, mask, p)
                           .reads("dout", d_out.data)
                           .updates("ds", ds)
                           .writes("dq", dq.data),
                       count * config.heads * all.steps);
    Kernel of_keys("sequence_keys", wgsl::sequence_keys);
    all.add_shape(of_keys, first);
    exec.gpu()->record(exec,
                       of_keys.reads("p", p)
                           .reads("ds", ds)
                           .reads("q", q.data)
                           .reads("dout", d_out.data)
                           .writes("dk", dk.data)
                           .writes("dv", dv.data)
                           .number("samples", count),
                       ceil_div(count * all.keys * config.kv_heads * config.head_dim, Kernel::kThreads));
  }
}

}  // namespace loom::gpu
