#pragma once
// Integer dots of one panel slice in plain C++: the definition that the other targets' versions equal.
// A slice is kRegisterLanes rows of a 16-row panel; chunk j (64 bytes apart) holds four codes of each row.

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 4;  // tokens that share one pass over the codes

// 32 unsigned 4-bit codes: byte b of row r in chunk j holds index 4j+b in its low and 16+4j+b in its high nibble.
template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  const auto* c = reinterpret_cast<const std::uint8_t*>(codes);
  for (int t = 0; t < T; ++t)
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      std::int32_t sum = 0;
      for (int j = 0; j < 4; ++j)
        for (int b = 0; b < 4; ++b) {
          const int byte = c[64 * j + 4 * r + b];
          sum += (byte & 15) * x[t][4 * j + b] + (byte >> 4) * x[t][16 + 4 * j + b];
        }
      out[t][r] = sum;
    }
}

// N (16 or 32) signed bytes: byte b of row r in chunk j is index 4j+b. `sums` are the sums of the N activations.
template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  (void)sums;
  const auto* c = reinterpret_cast<const std::int8_t*>(codes);
  for (int t = 0; t < T; ++t)
    for (std::size_t r = 0; r < kRegisterLanes; ++r) {
      std::int32_t sum = 0;
      for (int j = 0; j < N / 4; ++j)
        for (int b = 0; b < 4; ++b) sum += c[64 * j + 4 * r + b] * x[t][4 * j + b];
      out[t][r] = sum;
    }
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  native::I32 h;
  for (std::size_t i = 0; i < kRegisterLanes; ++i) h[i] = p[i];
  return half_to_float(h);
}

}  // namespace loom::inline LOOM_TARGET
