#include <algorithm>
#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/chain.wgsl.h"
#include "ops/mix/balance.wgsl.h"
#include "ops/mix/gate.wgsl.h"
#include "ops/mix/gate_weights.wgsl.h"
#include "ops/mix/gate_weights_backward.wgsl.h"
#include "ops/mix/mean_of_rows.wgsl.h"
#include "ops/mix/mix_gpu.h"
#include "ops/mix/mix.wgsl.h"
#include "ops/mix/mix_backward.wgsl.h"
#include "ops/mix/mix_gate_backward.wgsl.h"
#include "ops/mix/top_branch.wgsl.h"
#include "ops/mix/top_shares.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

const void* upload_enabled(const Exec& exec, const GateRule& rule, std::size_t n) {
  if (exec.rehearsal()) return nullptr;
  const std::vector<std::uint32_t> words(rule.enabled, rule.enabled + n);
  return exec.gpu()->upload(exec, std::span(words));
}

Kernel& with_gate(const Exec& exec, const GateRule& rule, ConstTensor z, Kernel& kernel) {
  return kernel.reads("z", z.data)
      .reads("enabled", upload_enabled(exec, rule, z.cols))
      .number("cols", z.cols)
      .number("top_k", rule.top_k)
      .number("temperature", static_cast<float>(rule.temperature))
      .fixed("given", rule.given);
}

void record_means(const Exec& exec, ConstTensor x, std::size_t rows, bool backward, Tensor y) {
  const std::size_t elements = y.rows * y.cols;
  exec.gpu()->record(exec,
                     Kernel("mean_of_rows", wgsl::mean_of_rows)
                         .reads("x", x.data)
                         .writes("y", y.data)
                         .number("elements", elements)
                         .number("cols", y.cols)
                         .number("rows", rows)
                         .fixed("backward", backward),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace

void mean_of_rows(const Exec& exec, ConstTensor x, std::size_t rows, Tensor y) {
  record_means(exec, x, rows, false, y);
}
void mean_of_rows_backward(const Exec& exec, ConstTensor dy, std::size_t rows, Tensor dx) {
  record_means(exec, dy, rows, true, dx);
}

void gate_weights(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor p) {
  static const std::string body =
      recorder::math_function("exp_f") + joined({wgsl::lanes, wgsl::largest, wgsl::gate, wgsl::gate_weights});
  Kernel kernel("gate_weights", body, GpuDevice::kRowThreads);
  kernel.updates("p", p.data);
  exec.gpu()->record_row(exec, with_gate(exec, rule, z, kernel), p.rows);
}

void gate_weights_backward(const Exec& exec, const GateRule& rule, ConstTensor z, ConstTensor p, ConstTensor q,
                           Tensor dz) {
  static const std::string body = joined({wgsl::lanes, wgsl::largest, wgsl::gate, wgsl::gate_weights_backward});
  Kernel kernel("gate_weights_backward", body, GpuDevice::kRowThreads);
  kernel.reads("p", p.data).reads("q", q.data).writes("dz", dz.data);
  exec.gpu()->record_row(exec, with_gate(exec, rule, z, kernel), p.rows);
}

void top_shares(const Exec& exec, const GateRule& rule, ConstTensor z, Tensor shares) {
  const ArenaScope scope(exec.arena);
  void* const best = exec.arena.take<std::uint32_t>(z.rows);
  exec.gpu()->record(exec,
                     Kernel("top_branch", wgsl::top_branch)
                         .reads("z", z.data)
                         .reads("enabled", upload_enabled(exec, rule, z.cols))
                         .writes("best", best)
                         .number("groups", z.rows)
                         .number("cols", z.cols),
                     ceil_div(z.rows, Kernel::kThreads));
  exec.gpu()->record(exec,
                     Kernel("top_shares", wgsl::top_shares)
                         .reads("best", best)
                         .writes("shares", shares.data)
                         .number("groups", z.rows)
                         .number("cols", z.cols),
                     ceil_div(z.cols, Kernel::kThreads));
}

void add_balance(const Exec& exec, ConstTensor shares, ConstTensor p, double factor, Tensor sum) {
  static const std::string body = joined({wgsl::lanes, wgsl::balance});
  exec.gpu()->record(exec,
                     Kernel("balance", body, GpuDevice::kRowThreads)
                         .reads("shares", shares.data)
                         .reads("p", p.data)
                         .updates("sum", sum.data)
                         .number("groups", p.rows)
                         .number("cols", p.cols)
                         .number("factor", static_cast<float>(factor)),
                     1);
}

void mix(const Exec& exec, ConstTensor p, const void* const* branches, Tensor y) {
  constexpr std::size_t kTogether = 4;  // branches of a dispatch: each may be in a buffer of its own
  constexpr std::string_view kNames[kTogether] = {"b0", "b1", "b2", "b3"};
  const ArenaScope scope(exec.arena);
  const std::size_t elements = y.rows * y.cols;
  void* const sums = p.cols > kTogether ? exec.arena.take<float>(2 * elements) : y.data;
  if (exec.rehearsal()) return;  // there may be no branches yet
  for (std::size_t first = 0; first < p.cols; first += kTogether) {
    Kernel kernel("mix", wgsl::mix);
    for (std::size_t k = 0; k < kTogether; ++k) {
      const void* const branch = first + k < p.cols ? branches[first + k] : nullptr;
      kernel.reads(kNames[k], branch == nullptr ? p.data : branch);
    }
    exec.gpu()->record(exec,
                       kernel.reads("p", p.data)
                           .updates("sums", sums)
                           .writes("y", y.data)
                           .number("elements", elements)
                           .number("width", elements / p.rows)
                           .number("branches", p.cols)
                           .number("first", first),
                       ceil_div(elements, Kernel::kThreads));
  }
}

void mix_backward(const Exec& exec, ConstTensor p, std::size_t branch, ConstTensor dy, Tensor d) {
  const std::size_t elements = d.rows * d.cols;
  exec.gpu()->record(exec,
                     Kernel("mix_backward", wgsl::mix_backward)
                         .reads("p", p.data)
                         .reads("dy", dy.data)
                         .writes("d", d.data)
                         .number("elements", elements)
                         .number("width", elements / p.rows)
                         .number("branches", p.cols)
                         .number("branch", branch),
                     ceil_div(elements, Kernel::kThreads));
}

void mix_gate_backward(const Exec& exec, ConstTensor dy, ConstTensor b, std::size_t branch, Tensor q) {
  static const std::string body = joined({wgsl::chain, wgsl::mix_gate_backward});
  exec.gpu()->record(exec,
                     Kernel("mix_gate_backward", body)
                         .reads("dy", dy.data)
                         .reads("b", b.data)
                         .writes("q", q.data)
                         .number("width", dy.rows * dy.cols / q.rows)
                         .number("branches", q.cols)
                         .number("branch", branch),
                     q.rows);
}

}  // namespace loom::gpu
