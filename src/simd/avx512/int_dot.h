#pragma once
// Integer dots of one panel with vpdpbusd: 16 rows in a register. Contract: simd/scalar/int_dot.h.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 8;

LOOM_INLINE __m512i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm512_set1_epi32(word);
}

template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  const __m512i mask = _mm512_set1_epi8(15);
  __m512i low[4], high[4];
  for (int j = 0; j < 4; ++j) {
    const __m512i c = _mm512_loadu_si512(codes + 64 * j);
    low[j] = _mm512_and_si512(c, mask);
    high[j] = _mm512_and_si512(_mm512_srli_epi16(c, 4), mask);
  }
  for (int t = 0; t < T; ++t) {
    __m512i a = _mm512_setzero_si512(), b = _mm512_setzero_si512();
    for (int j = 0; j < 4; ++j) {
      a = _mm512_dpbusd_epi32(a, low[j], broadcast4(x[t] + 4 * j));
      b = _mm512_dpbusd_epi32(b, high[j], broadcast4(x[t] + 16 + 4 * j));
    }
    out[t] = (native::I32)_mm512_add_epi32(a, b);
  }
}

// Codes are shifted by 128 to be the unsigned factor; 128 times the activations' sum is taken off again.
template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i total[T][2];
  for (int t = 0; t < T; ++t) {
    total[t][0] = _mm512_set1_epi32(-128 * sums[t]);
    total[t][1] = _mm512_setzero_si512();
  }
  for (int j = 0; j < N / 4; ++j) {
    const __m512i w = _mm512_xor_si512(_mm512_loadu_si512(codes + 64 * j), shift);
    for (int t = 0; t < T; ++t) total[t][j & 1] = _mm512_dpbusd_epi32(total[t][j & 1], w, broadcast4(x[t] + 4 * j));
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)_mm512_add_epi32(total[t][0], total[t][1]);
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return (native::F32)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

}  // namespace loom::inline LOOM_TARGET
