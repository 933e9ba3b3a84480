#pragma once
// Integer dots of one panel slice on AArch64 without the dot-product extension: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <arm_neon.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 4;

LOOM_INLINE int8x16_t broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}

// Adds the four products of each row: widening multiplies, then pairwise sums. Pairs of i16 products (<= 2 * 128 * 127) fit i16.
LOOM_INLINE int32x4_t dot4(int32x4_t total, int8x16_t w, int8x16_t x) {
  const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x));
  const int16x8_t high = vmull_s8(vget_high_s8(w), vget_high_s8(x));
  return vpadalq_s16(total, vpaddq_s16(low, high));
}

template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  int8x16_t low[4], high[4];
  for (int j = 0; j < 4; ++j) {
    const uint8x16_t c = vld1q_u8(reinterpret_cast<const std::uint8_t*>(codes + 64 * j));
    low[j] = vreinterpretq_s8_u8(vandq_u8(c, vdupq_n_u8(15)));
    high[j] = vreinterpretq_s8_u8(vshrq_n_u8(c, 4));
  }
  for (int t = 0; t < T; ++t) {
    int32x4_t total = vdupq_n_s32(0);
    for (int j = 0; j < 4; ++j) {
      total = dot4(total, low[j], broadcast4(x[t] + 4 * j));
      total = dot4(total, high[j], broadcast4(x[t] + 16 + 4 * j));
    }
    out[t] = (native::I32)total;
  }
}

template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  (void)sums;
  int32x4_t total[T];
  for (int t = 0; t < T; ++t) total[t] = vdupq_n_s32(0);
  for (int j = 0; j < N / 4; ++j) {
    const int8x16_t w = vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j));
    for (int t = 0; t < T; ++t) total[t] = dot4(total[t], w, broadcast4(x[t] + 4 * j));
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)total[t];
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return (native::F32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)));
}

}  // namespace loom::inline LOOM_TARGET
