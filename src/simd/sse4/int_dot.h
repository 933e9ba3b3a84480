#pragma once
// Integer dots of one panel slice with SSSE3 maddubs: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <smmintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 4;

LOOM_INLINE __m128i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm_set1_epi32(word);
}

template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  const __m128i mask = _mm_set1_epi8(15);
  const __m128i ones = _mm_set1_epi16(1);
  __m128i low[4], high[4];
  for (int j = 0; j < 4; ++j) {
    const __m128i c = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 64 * j));
    low[j] = _mm_and_si128(c, mask);
    high[j] = _mm_and_si128(_mm_srli_epi16(c, 4), mask);
  }
  for (int t = 0; t < T; ++t) {
    __m128i a = _mm_setzero_si128();
    for (int j = 0; j < 4; ++j) {
      a = _mm_add_epi16(a, _mm_maddubs_epi16(low[j], broadcast4(x[t] + 4 * j)));
      a = _mm_add_epi16(a, _mm_maddubs_epi16(high[j], broadcast4(x[t] + 16 + 4 * j)));
    }
    out[t] = (native::I32)_mm_madd_epi16(a, ones);
  }
}

template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  (void)sums;
  const __m128i ones = _mm_set1_epi16(1);
  __m128i total[T] = {};
  for (int j = 0; j < N / 4; ++j) {
    const __m128i w = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 64 * j));
    const __m128i size = _mm_abs_epi8(w);
    for (int t = 0; t < T; ++t) {
      const __m128i pairs = _mm_maddubs_epi16(size, _mm_sign_epi8(broadcast4(x[t] + 4 * j), w));
      total[t] = _mm_add_epi32(total[t], _mm_madd_epi16(pairs, ones));
    }
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)total[t];
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return half_to_float((native::I32)_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

}  // namespace loom::inline LOOM_TARGET
