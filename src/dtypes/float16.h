#pragma once
// float16 and bfloat16 <-> float32 by integer arithmetic alone: the same bits on every host, with or without hardware
// conversion. Tables: IEEE 754-2008 binary16; bfloat16 is the high half of a binary32.

#include <bit>
#include <cstdint>

#include "simd/orders.h"

namespace loom {

inline float snapped(float x) { return snap(x); }

inline float float16_to_float(std::uint16_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16;
  const std::uint32_t exponent = h >> 10 & 31u;
  const std::uint32_t mantissa = h & 0x3ffu;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13 | (mantissa != 0 ? 0x400000u : 0u));
  if (exponent != 0) return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
  // Subnormal: an integer times 2^-24, both exact in f32.
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(static_cast<float>(mantissa) * 0x1p-24f));
}

// Round to nearest, ties to even. IEEE: overflow gives an infinity; a NaN stays one (quiet, sign kept).
inline std::uint16_t float_to_float16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 2^16 and above
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  if (exponent < -25) return static_cast<std::uint16_t>(sign);
  // The significand as an integer, cut to the 2^-10 (or, below 2^-14, the 2^-24) grid. A carry runs into the exponent,
  // as it should.
  const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
  const int shift = exponent >= -14 ? 13 : 13 + (-14 - exponent);
  const std::uint32_t rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
  std::uint32_t kept = significand >> shift;
  kept += rest > half || (rest == half && (kept & 1u)) ? 1u : 0u;
  const std::uint32_t base = exponent >= -14 ? static_cast<std::uint32_t>(exponent + 14) << 10 : 0u;
  return static_cast<std::uint16_t>(sign | (base + kept));
}

// The float16 encoding of weights (engine 4.1): overflow, infinities included, gives +-65504.
inline std::uint16_t float_to_float16_saturated(float x) {
  const std::uint16_t h = float_to_float16(x);
  return (h & 0x7fffu) == 0x7c00u ? static_cast<std::uint16_t>(h - 1) : h;
}

inline float bfloat16_to_float(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

inline std::uint16_t float_to_bfloat16(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16 & 0x8000u) | 0x7fc0u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

inline std::uint16_t float_to_bfloat16_saturated(float x) {
  const std::uint16_t b = float_to_bfloat16(x);
  return (b & 0x7fffu) == 0x7f80u ? static_cast<std::uint16_t>(b - 1) : b;
}

}  // namespace loom
