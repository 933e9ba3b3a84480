#pragma once
// The floats of eight and four bits: OCP 8-bit floating point (E4M3 without infinities, E5M2) and OCP microscaling
// E2M1. Codes are exact both ways; scales belong to quantize.h.

#include <bit>
#include <cstdint>

namespace loom {

template <int kExponentBits, int kMantissaBits, std::uint8_t kMaxCode, std::uint8_t kNanCode>
struct SmallFloat {
  static constexpr int kBias = (1 << (kExponentBits - 1)) - 1;
  static constexpr std::uint8_t kSign = 1u << (kExponentBits + kMantissaBits);
  static constexpr std::uint8_t kMax = kMaxCode;  // of the largest finite value

  static float decode(std::uint8_t code) {
    const std::uint32_t magnitude = code & (kSign - 1u);
    const float sign = code & kSign ? -1.0f : 1.0f;
    if constexpr (kNanCode != 0) {
      if (magnitude > kMaxCode) {
        const bool infinite = kNanCode != magnitude && magnitude == kMaxCode + 1u;  // E5M2 only
        return sign * std::bit_cast<float>(infinite ? 0x7f800000u : 0x7fc00000u);
      }
    }
    const int exponent = static_cast<int>(magnitude >> kMantissaBits);
    const std::uint32_t mantissa = magnitude & ((1u << kMantissaBits) - 1);
    const std::uint32_t significand = exponent == 0 ? mantissa : mantissa | 1u << kMantissaBits;
    const int power = (exponent == 0 ? 1 : exponent) - kBias - kMantissaBits;
    return sign *
           (static_cast<float>(significand) * std::bit_cast<float>(static_cast<std::uint32_t>(127 + power) << 23));
  }

  // Round to nearest, ties to the even code; too large values, infinities included, become the largest finite one; the
  // sign of a zero stays.
  static std::uint8_t encode(float x) {
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
    const std::uint8_t sign = bits >> 31 ? kSign : std::uint8_t{0};
    const std::uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint8_t>(sign | (kNanCode != 0 ? kNanCode : 0));
    const int exponent = static_cast<int>(magnitude >> 23) - 127;
    constexpr int kLowest = 1 - kBias;
    if (exponent < kLowest - kMantissaBits - 1) return sign;
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const int below = exponent < kLowest ? kLowest - exponent : 0;
    const int shift = 23 - kMantissaBits + below;
    const std::uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
    std::uint32_t kept = significand >> shift;
    kept += rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
    const std::uint32_t base = below != 0 ? 0u : static_cast<std::uint32_t>(exponent - kLowest) << kMantissaBits;
    const std::uint32_t code = base + kept < kMaxCode ? base + kept : kMaxCode;
    return static_cast<std::uint8_t>(sign | code);
  }
};

using Fp8E4M3 = SmallFloat<4, 3, 0x7e, 0x7f>;  // max 448
using Fp8E5M2 = SmallFloat<5, 2, 0x7b, 0x7e>;  // max 57344; 0x7c is infinity
using Fp4E2M1 = SmallFloat<2, 1, 0x7, 0>;      // 0 .5 1 1.5 2 3 4 6, no NaN (a NaN encodes as 0)

}  // namespace loom
