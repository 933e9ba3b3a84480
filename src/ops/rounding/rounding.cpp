#include "ops/rounding/rounding.h"

#include <algorithm>
#include <array>
#include <bit>

#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

// f(x, elements) over parts of the elements.
template <class F>
void each_rounded(const Exec& exec, Tensor x, F&& f) {
  for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) { f(x.as<float>() + at, n); });
}

// Bits of the largest magnitude; order-free.
std::uint32_t largest_bits(const Exec& exec, Tensor x) {
  constexpr std::size_t kParts = 64;
  std::array<std::uint32_t, kParts> largest{};
  const std::size_t n = x.rows * x.cols;
  for_ranges(exec, kParts, (n + kParts - 1) / kParts, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t first = part * n / kParts, last = (part + 1) * n / kParts;
      largest[part] = exec.kernels.rounding.largest_bits(x.as<float>() + first, last - first);
    }
  });
  return *std::ranges::max_element(largest);
}

constexpr float power_of_two(int e) { return std::bit_cast<float>(static_cast<std::uint32_t>(127 + e) << 23); }

// `most` is the largest finite number of the type.
template <class Kernel>
void round_fp8(const Exec& exec, Tensor x, float most, Kernel kernel) {
  if (!exec.computes()) return;
  const std::uint32_t bits = largest_bits(exec, x), limit = std::bit_cast<std::uint32_t>(most);
  if (bits == 0 || bits >= 0x7f800000u) return;
  // The largest power of two that leaves the largest magnitude within the type; magnitudes are at least 2^-51, so it is
  // finite.
  int shift = static_cast<int>(limit >> 23) - static_cast<int>(bits >> 23);
  if ((bits & 0x7fffffu) > (limit & 0x7fffffu)) --shift;
  shift = std::clamp(shift, -120, 120);
  each_rounded(exec, x, [&](float* v, std::size_t n) { kernel(v, power_of_two(shift), power_of_two(-shift), n); });
}

void round_to(const Exec& exec, Tensor x, Mixed mixed, bool gradients) {
  if (x.element != Element::f32) return;
  const RoundingKernels& k = exec.kernels.rounding;
  switch (mixed) {
    case Mixed::none: return;
    case Mixed::bf16: return each_rounded(exec, x, k.bf16);
    case Mixed::f16: return each_rounded(exec, x, k.f16);
    case Mixed::fp8:
      return gradients ? round_fp8(exec, x, 57344, k.e5m2)  // the largest of each type
                       : round_fp8(exec, x, 448, k.e4m3);
  }
}

}  // namespace

void round_activations(const Exec& exec, Tensor x, Mixed mixed) { round_to(exec, x, mixed, false); }
void round_gradients(const Exec& exec, Tensor x, Mixed mixed) { round_to(exec, x, mixed, true); }

}  // namespace loom
