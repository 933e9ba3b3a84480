#include "ops/rounding/rounding.h"

#include <algorithm>
#include <array>

#include "dtypes/float16.h"
#include "dtypes/small_float.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

template <class F>
void each(const Exec& exec, Tensor x, F&& f) {
  for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t n) {
    float* const v = x.as<float>() + at;
    for (std::size_t i = 0; i < n; ++i) v[i] = snap(f(v[i]));
  });
}

// Bits of the largest magnitude; order-free.
std::uint32_t largest_bits(const Exec& exec, Tensor x) {
  constexpr std::size_t kParts = 64;
  std::array<std::uint32_t, kParts> largest{};
  const std::size_t n = x.rows * x.cols;
  for_ranges(exec, kParts, (n + kParts - 1) / kParts, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = begin; part < end; ++part)
      for (std::size_t i = part * n / kParts; i < (part + 1) * n / kParts; ++i)
        largest[part] = std::max(largest[part], std::bit_cast<std::uint32_t>(x.as<float>()[i]) & 0x7fffffffu);
  });
  return *std::ranges::max_element(largest);
}

constexpr float power_of_two(int e) { return std::bit_cast<float>(static_cast<std::uint32_t>(127 + e) << 23); }

template <class Codec>
void round_fp8(const Exec& exec, Tensor x) {
  if (!exec.computes()) return;
  const std::uint32_t bits = largest_bits(exec, x), limit = std::bit_cast<std::uint32_t>(Codec::decode(Codec::kMax));
  if (bits == 0 || bits >= 0x7f800000u) return;
  // The largest power of two that leaves the largest magnitude within the type; magnitudes are at least 2^-51, so it is finite.
  int shift = static_cast<int>(limit >> 23) - static_cast<int>(bits >> 23);
  if ((bits & 0x7fffffu) > (limit & 0x7fffffu)) --shift;
  shift = std::clamp(shift, -120, 120);
  const float up = power_of_two(shift), down = power_of_two(-shift);
  each(exec, x, [=](float v) { return Codec::decode(Codec::encode(v * up)) * down; });
}

template <class Fp8>
void round_to(const Exec& exec, Tensor x, Mixed mixed) {
  if (x.element != Element::f32) return;
  switch (mixed) {
    case Mixed::none: return;
    case Mixed::bf16: return each(exec, x, [](float v) { return bfloat16_to_float(float_to_bfloat16(v)); });
    case Mixed::f16: return each(exec, x, [](float v) { return float16_to_float(float_to_float16(v)); });
    case Mixed::fp8: return round_fp8<Fp8>(exec, x);
  }
}

}  // namespace

void round_activations(const Exec& exec, Tensor x, Mixed mixed) { round_to<Fp8E4M3>(exec, x, mixed); }
void round_gradients(const Exec& exec, Tensor x, Mixed mixed) { round_to<Fp8E5M2>(exec, x, mixed); }

}  // namespace loom
