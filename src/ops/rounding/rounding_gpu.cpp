#include <bit>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/largest.wgsl.h"
#include "core/checked.h"
#include "ops/magnitude/magnitude.h"
#include "ops/magnitude/magnitude_gpu.h"
#include "ops/rounding/fp8_scales.wgsl.h"
#include "ops/rounding/rounding_gpu.h"
#include "ops/rounding/rounding.wgsl.h"

namespace loom::gpu {
namespace {

// A float with this number of bits after its leading one, whose least normal number is 2^lowest and whose numbers are
// below 2^highest; 128 where they reach as far as f32's.
struct Narrow {
  int bits, lowest, highest;
};

void record_rounding(const Exec& exec, const Narrow& to, const void* scales, Tensor x) {
  const std::size_t elements = x.rows * x.cols;
  exec.gpu()->record(exec,
                     Kernel("rounding", wgsl::rounding)
                         .updates("x", x.data)
                         .reads("scales", scales == nullptr ? x.data : scales)
                         .number("elements", elements)
                         .number("lowest", to.lowest)
                         .number("highest", to.highest)
                         .fixed("dropped", static_cast<std::size_t>(23 - to.bits))
                         .fixed("scaled", scales != nullptr),
                     ceil_div(elements, Kernel::kThreads));
}

void round_fp8(const Exec& exec, const Narrow& to, float most, Tensor x) {
  static const std::string body = joined({wgsl::largest, wgsl::fp8_scales});
  const ArenaScope scope(exec.arena);
  const Magnitudes largest = largest_magnitudes(exec, x);
  void* const scales = exec.arena.take<float>(2);
  exec.gpu()->record(exec,
                     Kernel("fp8_scales", body, GpuDevice::kRowThreads)
                         .reads("magnitudes", largest.bits)
                         .writes("scales", scales)
                         .number("count", largest.count)
                         .number("limit", std::bit_cast<std::uint32_t>(most)),
                     1);
  record_rounding(exec, to, scales, x);
}

}  // namespace

void round_to(const Exec& exec, Tensor x, Mixed mixed, bool gradients) {
  switch (mixed) {
    case Mixed::none: return;
    case Mixed::bf16: return record_rounding(exec, {7, -127, 128}, nullptr, x);
    case Mixed::f16: return record_rounding(exec, {10, -14, 16}, nullptr, x);
    case Mixed::fp8:
      // No scaled number is above the type's largest.
      return gradients ? round_fp8(exec, {2, -14, 128}, 57344, x) : round_fp8(exec, {3, -6, 128}, 448, x);
  }
}

}  // namespace loom::gpu
