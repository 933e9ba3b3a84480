#include "ops/rounding/rounding.h"

#include "ops/non_finite.h"
#include "simd/rows.h"

namespace loom::inline LOOM_TARGET {
namespace {

// Magnitudes rounded to `kBits` fewer bits of their significand, to nearest, ties to even; a carry runs into the
// exponent, as it should.
template <int kBits>
LOOM_INLINE I32x16 rounded(const I32x16& size) {
  const I32x16 odd = shift_right_logical(size, kBits) & splat(std::int32_t{1});
  return (size + splat((std::int32_t{1} << (kBits - 1)) - 1) + odd) & splat(-(std::int32_t{1} << kBits));
}

// Rounds to multiples of 2^kPower, for magnitudes below 2^(kPower + 22): the sum leaves no more bits.
template <int kPower>
LOOM_INLINE I32x16 rounded_to_grid(const F32x16& size) {
  const F32x16 shift = as_float(splat(std::int32_t{127 + kPower + 23} << 23));
  return bits((size + shift) - shift);
}

template <class F>
LOOM_INLINE void round_each(float* x, std::size_t n, F&& f) {
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const F32x16 v = lanes.load(x + i);
    const I32x16 sign = bits(v) & splat(static_cast<std::int32_t>(0x80000000u));
    // snap makes the one quiet NaN of any
    lanes.store(x + i, snap(select(is_nan(v), v, as_float(sign | f(abs(v))))));
  });
}

void round_bf16(float* x, std::size_t n) {
  round_each(x, n, [](const F32x16& size) { return rounded<16>(bits(size)); });
}

void round_f16(float* x, std::size_t n) {
  constexpr std::int32_t kLeastNormal = (127 - 14) << 23, kBeyond = (127 + 16) << 23, kInfinite = 0x7f800000;
  round_each(x, n, [](const F32x16& size) {
    const I32x16 normal = rounded<13>(bits(size));
    const I32x16 v = select(normal < splat(kBeyond), normal, splat(kInfinite));
    return select(bits(size) < splat(kLeastNormal), rounded_to_grid<-24>(size), v);
  });
}

// A float of kMantissa bits whose least normal number is 2^kLowest.
template <int kLowest, int kMantissa>
void round_fp8(float* x, const float* scales, std::size_t n) {
  if (scales[0] == 0) return;
  const F32x16 grow = splat(scales[0]), shrink = splat(scales[1]);
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const F32x16 v = lanes.load(x + i) * grow, size = abs(v);
    const I32x16 sign = bits(v) & splat(static_cast<std::int32_t>(0x80000000u));
    const I32x16 small = rounded_to_grid<kLowest - kMantissa>(size), normal = rounded<23 - kMantissa>(bits(size));
    const I32x16 is_small = bits(size) < splat((127 + kLowest) << 23);
    lanes.store(x + i, snap(as_float(sign | select(is_small, small, normal)) * shrink));
  });
}

std::uint32_t largest_bits(const float* x, std::size_t n) {
  I32x16 most = zero_i();
  for_lanes(n, [&](std::size_t i, auto lanes) {
    const I32x16 size = bits(abs(lanes.load(x + i)));
    most = select(size > most, size, most);
  });
  std::int32_t lanes[kLanes], largest = 0;
  store(lanes, most);
  for (const std::int32_t lane : lanes) largest = lane > largest ? lane : largest;
  return static_cast<std::uint32_t>(largest);
}

float power_of_two(int e) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(127 + e) << 23); }

void fp8_scales(const std::uint32_t* magnitudes, std::size_t count, float most, float* scales) {
  constexpr int kMostShift = 120;
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = magnitudes[i] > largest ? magnitudes[i] : largest;
  scales[0] = scales[1] = 0;
  if (largest == 0 || largest >= detail::kInfinityBits) return;
  const auto limit = __builtin_bit_cast(std::uint32_t, most);
  // Magnitudes are at least 2^-51, so the shift is finite.
  int shift = static_cast<int>(limit >> 23) - static_cast<int>(largest >> 23);
  if ((largest & 0x7fffffu) > (limit & 0x7fffffu)) --shift;
  shift = shift > kMostShift ? kMostShift : shift < -kMostShift ? -kMostShift : shift;
  scales[0] = power_of_two(shift), scales[1] = power_of_two(-shift);
}

}  // namespace

extern const RoundingKernels rounding_kernels;
constinit const RoundingKernels rounding_kernels = {
    .bf16 = round_bf16,
    .f16 = round_f16,
    .largest_bits = largest_bits,
    .fp8_scales = fp8_scales,
    .e4m3 = round_fp8<-6, 3>,
    .e5m2 = round_fp8<-14, 2>,
};

}  // namespace loom::inline LOOM_TARGET
