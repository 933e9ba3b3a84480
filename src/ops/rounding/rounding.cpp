#include "ops/rounding/rounding.h"

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/rounding/rounding_gpu.h"

namespace loom {
namespace {

// f(x, elements) over parts of the elements.
template <class F>
void each_rounded(const Exec& exec, Tensor x, F&& f) {
  for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) { f(x.as<float>() + at, n); });
}

// `most` is the largest finite number of the type. The scale is made from partial maxima, which are order-free, in
// memory of the arena: no pass waits for its value.
template <class Kernel>
void round_fp8(const Exec& exec, Tensor x, float most, Kernel kernel) {
  constexpr std::size_t kParts = 64;
  const ArenaScope scope(exec.arena);
  auto* const largest = exec.arena.take<std::uint32_t>(kParts);
  auto* const scales = exec.arena.take<float>(2);
  const RoundingKernels& k = exec.kernels.rounding;
  const std::size_t n = x.rows * x.cols;
  for_ranges(exec, kParts, (n + kParts - 1) / kParts, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t first = part * n / kParts, last = (part + 1) * n / kParts;
      largest[part] = k.largest_bits(x.as<float>() + first, last - first);
    }
  });
  exec.run(1, [&](std::size_t) { k.fp8_scales(largest, kParts, most, scales); });
  each_rounded(exec, x, [&](float* v, std::size_t count) { kernel(v, scales, count); });
}

void round_to(const Exec& exec, Tensor x, Mixed mixed, bool gradients) {
  if (x.element != Element::f32) return;
  for (const Exec& host : dispatch(exec, [&] { gpu::round_to(exec, x, mixed, gradients); })) {
    const RoundingKernels& k = host.kernels.rounding;
    switch (mixed) {
      case Mixed::none: return;
      case Mixed::bf16: return each_rounded(host, x, k.bf16);
      case Mixed::f16: return each_rounded(host, x, k.f16);
      case Mixed::fp8:
        return gradients ? round_fp8(host, x, 57344, k.e5m2)  // the largest of each type
                         : round_fp8(host, x, 448, k.e4m3);
    }
  }
}

}  // namespace

void round_activations(const Exec& exec, Tensor x, Mixed mixed) { round_to(exec, x, mixed, false); }
void round_gradients(const Exec& exec, Tensor x, Mixed mixed) { round_to(exec, x, mixed, true); }

}  // namespace loom
