#pragma once
// Integer dots of one panel slice with SSSE3 maddubs: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <smmintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 1, 2, 3};
inline constexpr bool kPrefersWords = true;
inline constexpr bool kHasPairs = false;
inline constexpr bool kConvertsHalfs = false;

LOOM_INLINE __m128i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm_set1_epi32(word);
}
LOOM_INLINE __m128i load_codes(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

// Products of bytes added in 16 bits. Inputs are spread from a register, four at a time: there is no load that does.
template <int Count>
LOOM_INLINE __m128i pairs(const native::U32* w, const std::int8_t* x) {
  if constexpr (Count == 8) return _mm_add_epi16(pairs<4>(w, x), pairs<4>(w + 4, x + 16));
  const auto* from = reinterpret_cast<const __m128i*>(x);
  const __m128i v = Count == 2 ? _mm_loadl_epi64(from) : _mm_loadu_si128(from);
  const __m128i first = _mm_add_epi16(_mm_maddubs_epi16((__m128i)w[0], _mm_shuffle_epi32(v, 0x00)),
                                      _mm_maddubs_epi16((__m128i)w[1], _mm_shuffle_epi32(v, 0x55)));
  if constexpr (Count == 2) return first;
  const __m128i second = _mm_add_epi16(_mm_maddubs_epi16((__m128i)w[2], _mm_shuffle_epi32(v, 0xaa)),
                                       _mm_maddubs_epi16((__m128i)w[3], _mm_shuffle_epi32(v, 0xff)));
  return _mm_add_epi16(first, second);
}
// `factor` times the sum. As many products are added in 16 bits as fit: 16 of codes up to 15, 8 up to 31, 4 up to 63.
template <int Most, int Words>
LOOM_INLINE __m128i sum_codes(const native::U32 (&w)[Words], const std::int8_t* x, std::int16_t factor) {
  constexpr int kFit = Most <= 15 ? 8 : Most <= 31 ? 4 : 2, kCount = Words < kFit ? Words : kFit;
  static_assert(2 * kCount * Most * 127 <= 32767);
  __m128i total = _mm_madd_epi16(pairs<kCount>(w, x), _mm_set1_epi16(factor));
  for (int i = kCount; i < Words; i += kCount)
    total = _mm_add_epi32(total, _mm_madd_epi16(pairs<kCount>(w + i, x + 4 * i), _mm_set1_epi16(factor)));
  return total;
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes<Most>(w, x, 1);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return (native::I32)_mm_add_epi32(sum_codes<Most>(w, high, 255), sum_codes<Most>(w, low, 1));
}

// Two sums of each row: words(j, half) are those of four columns and two rows.
template <int Words, class F>
LOOM_INLINE native::I32 dot_words_of(const std::int16_t* x, F words) {
  __m128i first = _mm_setzero_si128(), second = first;
  for (int j = 0; j < Words; ++j) {
    std::int64_t quad;
    __builtin_memcpy(&quad, x + 4 * j, 8);
    const __m128i v = _mm_set1_epi64x(quad);
    first = _mm_add_epi32(first, _mm_madd_epi16(words(j, 0), v));
    second = _mm_add_epi32(second, _mm_madd_epi16(words(j, 1), v));
  }
  return (native::I32)_mm_hadd_epi32(first, second);
}
template <int Words>
LOOM_INLINE native::I32 dot_words(const native::U32 (&w)[Words], const std::int16_t* x) {
  const __m128i zero = _mm_setzero_si128();
  return dot_words_of<Words>(x, [&](int j, int half) {
    return half == 0 ? _mm_unpacklo_epi8((__m128i)w[j], zero) : _mm_unpackhi_epi8((__m128i)w[j], zero);
  });
}

LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return (native::U32)_mm_shuffle_epi8(entries, (__m128i)words);
}

// |w| as the unsigned factor (-128 becomes 128), the input with w's sign: a pair is at most 2 * 128 * 127 = 32512.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) codes_[j] = load_codes(codes + 64 * j);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    __m128i total = _mm_setzero_si128();
    for (int j = 0; j < 8; ++j) {
      const __m128i pairs = _mm_maddubs_epi16(_mm_abs_epi8(codes_[j]), _mm_sign_epi8(broadcast4(x + 4 * j), codes_[j]));
      total = _mm_add_epi32(total, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
    }
    return (native::I32)total;
  }

 private:
  __m128i codes_[8];
};

class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j)
      for (int half = 0; half < 2; ++half) words_[j][half] = words(codes, j, half);
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    return dot_words_of<8>(x, [this](int j, int half) { return words_[j][half]; });
  }
  // The kernels for one row of inputs call this: nothing is held in registers.
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return dot_words_of<8>(x, [codes](int j, int half) { return words(codes, j, half); });
  }

 private:
  static LOOM_INLINE __m128i words(const std::byte* codes, int j, int half) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 64 * j + 8 * half)));
  }

  __m128i words_[8][2];
};

LOOM_INLINE native::F32 floats_of(native::Halfs h) { return half_to_float(__builtin_convertvector(h, native::I32)); }
LOOM_INLINE native::F32 fp4_values(native::I32 codes) { return fp4_by_bits(codes); }

LOOM_INLINE native::I32 load_bytes(const std::byte* p) { return (native::I32)_mm_cvtepu8_epi32(_mm_loadu_si32(p)); }

}  // namespace loom::inline LOOM_TARGET
