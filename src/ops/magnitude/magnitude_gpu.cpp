#include <vector>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/magnitude/bound.wgsl.h"
#include "ops/magnitude/check_finite.wgsl.h"
#include "ops/magnitude/magnitude_gpu.h"
#include "ops/magnitude/magnitudes.wgsl.h"

namespace loom::gpu {

namespace {

constexpr std::size_t kPart = 16384;  // elements that a workgroup looks at

std::size_t parts_of(ConstTensor x) { return ceil_div(x.rows * x.cols, kPart); }

void record_magnitudes(const Exec& exec, ConstTensor x, std::uint32_t* bits) {
  static const std::string body = joined({wgsl::largest, wgsl::magnitudes});
  exec.gpu()->record(exec,
                     Kernel("magnitudes", body, GpuDevice::kRowThreads)
                         .reads("x", x.data)
                         .writes("magnitudes", bits)
                         .number("elements", x.rows * x.cols),
                     parts_of(x));
}

}  // namespace

Magnitudes largest_magnitudes(const Exec& exec, ConstTensor x) {
  auto* const bits = exec.arena.take<std::uint32_t>(parts_of(x));
  record_magnitudes(exec, x, bits);
  return {bits, parts_of(x)};
}

void magnitude_bounds(const Exec& exec, std::span<const ConstTensor> x, Tensor bounds) {
  static const std::string body = joined({wgsl::largest, wgsl::bound});
  const ArenaScope scope(exec.arena);
  std::vector<std::uint32_t> ends = {0};  // of the parts of each
  for (const ConstTensor& one : x) ends.push_back(ends.back() + static_cast<std::uint32_t>(parts_of(one)));
  auto* const bits = exec.arena.take<std::uint32_t>(ends.back());
  for (std::size_t i = 0; i < x.size(); ++i) record_magnitudes(exec, x[i], bits + ends[i]);
  exec.gpu()->record(exec,
                     Kernel("magnitude_bounds", body, GpuDevice::kRowThreads)
                         .reads("magnitudes", bits)
                         .reads("ends", exec.gpu()->upload(exec, std::span<const std::uint32_t>(ends)))
                         .writes("bounds", bounds.data),
                     x.size());
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
