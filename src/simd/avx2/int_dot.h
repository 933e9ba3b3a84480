#pragma once
// Integer dots of one panel slice with maddubs: 8 rows in a register. Contract: simd/scalar/int_dot.h.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 1, 2, 3};
inline constexpr bool kPrefersWords = false;
inline constexpr bool kHasPairs = false;
inline constexpr bool kConvertsHalfs = true;

LOOM_INLINE __m256i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm256_set1_epi32(word);
}
LOOM_INLINE __m256i load_codes(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// Products of bytes added in 16 bits, as a tree.
template <int Count>
LOOM_INLINE __m256i pairs(const native::U32* w, const std::int8_t* x) {
  if constexpr (Count == 1)
    return _mm256_maddubs_epi16((__m256i)*w, broadcast4(x));
  else
    return _mm256_add_epi16(pairs<Count / 2>(w, x), pairs<Count / 2>(w + Count / 2, x + 2 * Count));
}
// `factor` times the sum. As many products are added in 16 bits as fit: 16 of codes up to 15, 8 up to 31, 4 up to 63.
template <int Most, int Words>
LOOM_INLINE __m256i sum_codes(const native::U32 (&w)[Words], const std::int8_t* x, std::int16_t factor) {
  constexpr int kFit = Most <= 15 ? 8 : Most <= 31 ? 4 : 2, kCount = Words < kFit ? Words : kFit;
  static_assert(2 * kCount * Most * 127 <= 32767);
  __m256i total = _mm256_madd_epi16(pairs<kCount>(w, x), _mm256_set1_epi16(factor));
  for (int i = kCount; i < Words; i += kCount)
    total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs<kCount>(w + i, x + 4 * i), _mm256_set1_epi16(factor)));
  return total;
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes<Most>(w, x, 1);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return (native::I32)_mm256_add_epi32(sum_codes<Most>(w, high, 255), sum_codes<Most>(w, low, 1));
}

LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return (native::U32)_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(entries), (__m256i)words);
}

// |w| as the unsigned factor (-128 becomes 128), the input with w's sign: a pair is at most 2 * 128 * 127 = 32512.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) codes_[j] = load_codes(codes + 64 * j);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    __m256i total = _mm256_setzero_si256();
    for (int j = 0; j < 8; ++j) {
      const __m256i pairs =
          _mm256_maddubs_epi16(_mm256_abs_epi8(codes_[j]), _mm256_sign_epi8(broadcast4(x + 4 * j), codes_[j]));
      total = _mm256_add_epi32(total, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
    }
    return (native::I32)total;
  }

 private:
  __m256i codes_[8];
};

class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j)
      for (int half = 0; half < 2; ++half) words_[j][half] = words(codes, j, half);
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    return dot_with(x, [this](int j, int half) { return words_[j][half]; });
  }
  // The kernels for one row of inputs call this: nothing is held in registers.
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return dot_with(x, [codes](int j, int half) { return words(codes, j, half); });
  }

 private:
  static LOOM_INLINE __m256i words(const std::byte* codes, int j, int half) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + 64 * j + 16 * half)));
  }
  template <class Words>
  static LOOM_INLINE native::I32 dot_with(const std::int16_t* x, Words words) {
    __m256i first = _mm256_setzero_si256(), second = first;  // rows 0 to 3, rows 4 to 7: two sums each
    for (int j = 0; j < 8; ++j) {
      std::int64_t quad;
      __builtin_memcpy(&quad, x + 4 * j, 8);
      const __m256i v = _mm256_set1_epi64x(quad);
      first = _mm256_add_epi32(first, _mm256_madd_epi16(words(j, 0), v));
      second = _mm256_add_epi32(second, _mm256_madd_epi16(words(j, 1), v));
    }
    return (native::I32)_mm256_permute4x64_epi64(_mm256_hadd_epi32(first, second), 0xd8);
  }

  __m256i words_[8][2];
};

LOOM_INLINE native::F32 floats_of(native::Halfs h) { return (native::F32)_mm256_cvtph_ps((__m128i)h); }
LOOM_INLINE native::F32 fp4_values(native::I32 codes) {
  const __m256 sizes = _mm256_permutevar8x32_ps(_mm256_loadu_ps(kFp4Values), (__m256i)codes);
  return (native::F32)((native::I32)sizes | (codes & 8) << 28);
}

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  return (native::I32)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

}  // namespace loom::inline LOOM_TARGET
