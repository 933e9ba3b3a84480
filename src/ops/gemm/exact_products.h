#pragma once
// Whether all products of two sets of numbers are exact in f32, by the bits that the numbers have: two bf16 make at
// most 16 significant bits, two f16 make 22, and f32 holds 24.

#include <cstdint>

#include "backend/exec.h"
#include "simd/orders.h"

namespace loom {

// Magnitudes of some numbers, as bits of f32.
struct ValueBits {
  std::uint32_t any = 0;             // the bits that one of them has
  std::uint32_t least = 0x7f800000;  // that is not 0
  std::uint32_t most = 0;

  // Bits of the longest significand.
  LOOM_INLINE constexpr int significant() const { return 24 - __builtin_ctz(any | 0x800000); }
};

// No product has more than 24 significant bits, is subnormal or overflows. Infinities, NaN and subnormal numbers are
// refused.
LOOM_INLINE constexpr bool are_products_exact(const ValueBits& a, const ValueBits& b) {
  constexpr std::uint32_t kInfinity = 0x7f800000, kLeastNormal = 0x800000;
  if (a.most >= kInfinity || b.most >= kInfinity || a.least < kLeastNormal || b.least < kLeastNormal) return false;
  // Exponents have a bias of 127: 2^p * 2^q is normal from p + q = -126 on, and less than 4 times that is finite up to
  // p + q = 126.
  constexpr std::uint32_t kBiases = 2 * 127, kLeast = kBiases - 126, kMost = kBiases + 126;
  return a.significant() + b.significant() <= 24 && (a.least >> 23) + (b.least >> 23) >= kLeast &&
         (a.most >> 23) + (b.most >> 23) <= kMost;
}

// Rows of contiguous numbers.
struct NumberRows {
  const float* data = nullptr;
  std::size_t rows = 0, cols = 0, stride = 0;
};
// The bits of all numbers, as far as products with `other` may be exact: the look ends at a number that is too long.
ValueBits bits_of(const Exec& exec, const NumberRows& x, const ValueBits& other);
// The bits of the first few numbers.
ValueBits sample_of(const Exec& exec, const NumberRows& x);
bool are_products_exact(const Exec& exec, const NumberRows& a, const NumberRows& b);

}  // namespace loom
