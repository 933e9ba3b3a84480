#pragma once
// Integer dots of one panel slice with maddubs: 8 rows in a register. Contract: simd/scalar/int_dot.h.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 4;

LOOM_INLINE __m256i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm256_set1_epi32(word);
}

// Sixteen products of a lane are at most 16 * 15 * 127 = 30480: they fit the 16-bit sums of maddubs.
template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  const __m256i mask = _mm256_set1_epi8(15);
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i low[4], high[4];
  for (int j = 0; j < 4; ++j) {
    const __m256i c = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 64 * j));
    low[j] = _mm256_and_si256(c, mask);
    high[j] = _mm256_and_si256(_mm256_srli_epi16(c, 4), mask);
  }
  for (int t = 0; t < T; ++t) {
    __m256i a = _mm256_maddubs_epi16(low[0], broadcast4(x[t]));
    __m256i b = _mm256_maddubs_epi16(high[0], broadcast4(x[t] + 16));
    for (int j = 1; j < 4; ++j) {
      a = _mm256_add_epi16(a, _mm256_maddubs_epi16(low[j], broadcast4(x[t] + 4 * j)));
      b = _mm256_add_epi16(b, _mm256_maddubs_epi16(high[j], broadcast4(x[t] + 16 + 4 * j)));
    }
    out[t] = (native::I32)_mm256_madd_epi16(_mm256_add_epi16(a, b), ones);
  }
}

// |w| as the unsigned factor (-128 becomes 128), the activation with w's sign: a pair is at most 2 * 128 * 127 = 32512.
template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  (void)sums;
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i total[T][2] = {};
  for (int j = 0; j < N / 4; ++j) {
    const __m256i w = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(codes + 64 * j));
    const __m256i size = _mm256_abs_epi8(w);
    for (int t = 0; t < T; ++t) {
      const __m256i pairs = _mm256_maddubs_epi16(size, _mm256_sign_epi8(broadcast4(x[t] + 4 * j), w));
      const __m256i sum = _mm256_madd_epi16(pairs, ones);
      total[t][j & 1] = j < 2 ? sum : _mm256_add_epi32(total[t][j & 1], sum);
    }
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)_mm256_add_epi32(total[t][0], total[t][1]);
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return (native::F32)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

}  // namespace loom::inline LOOM_TARGET
