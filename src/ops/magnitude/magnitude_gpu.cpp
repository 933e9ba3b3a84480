#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/magnitude/bound.wgsl.h"
#include "ops/magnitude/check_finite.wgsl.h"
#include "ops/magnitude/magnitude.h"
#include "ops/magnitude/magnitudes.wgsl.h"

namespace loom::gpu {

Magnitudes largest_magnitudes(const Exec& exec, ConstTensor x) {
  static const std::string body = joined({wgsl::largest, wgsl::magnitudes});
  const std::size_t elements = x.rows * x.cols, count = ceil_div(elements, std::size_t{16384});
  void* const bits = exec.arena.take<std::uint32_t>(count);
  exec.gpu()->record(exec,
                     Kernel("magnitudes", body, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .writes("magnitudes", bits)
                         .number("elements", elements),
                     count);
  return {bits, count};
}

void magnitude_bound(const Exec& exec, ConstTensor x, Tensor bound) {
  static const std::string body = joined({wgsl::largest, wgsl::bound});
  const ArenaScope scope(exec.arena);
  const Magnitudes largest = largest_magnitudes(exec, x);
  exec.gpu()->record(exec,
                     Kernel("magnitude_bound", body, GpuDevice::kRowThreads)
                         .reads("magnitudes", largest.bits)
                         .writes("bound", bound.data)
                         .number("count", largest.count),
                     1);
}

void check_finite(const Exec& exec, ConstTensor x, Tensor failed) {
  static const std::string body = joined({wgsl::largest, wgsl::check_finite});
  exec.gpu()->record(exec,
                     Kernel("check_finite", body, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .writes("failed", failed.data)
                         .number("elements", x.rows * x.cols),
                     1);
}

}  // namespace loom::gpu
