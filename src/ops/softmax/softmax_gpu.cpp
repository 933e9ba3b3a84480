#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/first_largest.wgsl.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/softmax/gumbel.wgsl.h"
#include "ops/softmax/one_hot.wgsl.h"
#include "ops/softmax/softmax_gpu.h"
#include "ops/softmax/softmax.wgsl.h"
#include "ops/softmax/softmax_backward.wgsl.h"
#include "simd/record/math_functions.h"

namespace loom::gpu {
namespace {

// Records a kernel for every run; a row that is one distribution is a row to its neighbours too.
void record_runs(const Exec& exec, const Kernel& kernel, std::size_t rows, std::size_t cols, double temperature,
                 std::span<const SoftmaxRun> runs) {
  for (const SoftmaxRun& run : runs) {
    Kernel each = kernel;
    each.number("temperature", static_cast<float>(temperature))
        .number("cols", cols)
        .number("first", run.first)
        .number("width", run.width)
        .number("count", run.count);
    run.count == 1 ? exec.gpu()->record_row(exec, each, rows) : exec.gpu()->record(exec, each, rows * run.count);
  }
}

Kernel softmax_kernel(ConstTensor x, const void* mask, std::size_t listed, std::size_t masked, Tensor p) {
  static const std::string body =
      recorder::math_function("exp_f") + joined({wgsl::lanes, wgsl::largest, wgsl::softmax});
  return Kernel("softmax", body, GpuDevice::kRowThreads)
      .reads("x", x.data, x.cols)
      .reads("mask", mask == nullptr ? x.data : mask, masked == 1 ? 0 : x.cols)
      .updates("p", p.data, p.cols)
      .number("listed", listed)
      .fixed("masked", masked);
}

}  // namespace

void softmax(const Exec& exec, ConstTensor x, double temperature, std::span<const SoftmaxRun> runs, Tensor p) {
  record_runs(exec, softmax_kernel(x, nullptr, 0, 0, p), x.rows, x.cols, temperature, runs);
}

void masked_softmax(const Exec& exec, ConstTensor x, double temperature, const SoftmaxMask& mask, Tensor p) {
  const SoftmaxRun run{.first = 0, .width = x.cols, .count = 1};
  if (mask.call != nullptr)
    return record_runs(exec, softmax_kernel(x, mask.call, 0, 2, p), x.rows, x.cols, temperature, {&run, 1});
  const std::vector<std::uint32_t> listed(mask.listed.begin(), mask.listed.end());
  const void* const words = exec.gpu()->upload(exec, std::span(listed));
  record_runs(exec, softmax_kernel(x, words, listed.size(), 1, p), x.rows, x.cols, temperature, {&run, 1});
}

void softmax_backward(const Exec& exec, ConstTensor p, ConstTensor dy, double temperature,
                      std::span<const SoftmaxRun> runs, Tensor dx) {
  static const std::string body = joined({wgsl::lanes, wgsl::softmax_backward});
  record_runs(exec,
              Kernel("softmax_backward", body, GpuDevice::kRowThreads)
                  .reads("p", p.data, p.cols)
                  .reads("dy", dy.data, dy.cols)
                  .writes("dx", dx.data, dx.cols),
              p.rows, p.cols, temperature, runs);
}

void add_gumbel_noise(const Exec& exec, ConstTensor x, const RandomStream& stream, std::size_t first, Tensor y) {
  static const std::string body = recorder::math_function("log_f") + std::string(wgsl::gumbel);
  const std::size_t elements = x.rows * x.cols;
  exec.gpu()->record(exec,
                     Kernel("gumbel", body)
                         .reads("x", x.data)
                         .writes("y", y.data)
                         .number("elements", elements)
                         .number("first", first)
                         .number("seed_low", stream.seed)
                         .number("seed_high", stream.seed >> 32)
                         .number("step", stream.step)
                         .number("site", stream.site)
                         .fixed("domain", static_cast<std::size_t>(stream.domain)),
                     ceil_div(elements, Kernel::kThreads));
}

void one_hot_of_largest(const Exec& exec, ConstTensor p, Tensor y) {
  static const std::string body = joined({wgsl::largest, wgsl::first_largest, wgsl::one_hot});
  exec.gpu()->record_row(exec,
                         Kernel("one_hot", body, GpuDevice::kRowThreads)
                             .reads("x", p.data, p.cols)
                             .writes("y", y.data, y.cols)
                             .number("cols", p.cols),
                         p.rows);
}

}  // namespace loom::gpu
