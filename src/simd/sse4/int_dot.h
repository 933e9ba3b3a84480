#pragma once
// Integer dots of one panel slice with SSSE3 maddubs: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <smmintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 1, 2, 3};

LOOM_INLINE __m128i broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm_set1_epi32(word);
}
LOOM_INLINE __m128i load_codes(const std::byte* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }

template <int Bits>
class CodeSlice {
 public:
  LOOM_INLINE explicit CodeSlice(const std::byte* codes) {
    const __m128i mask = _mm_set1_epi8((1 << Bits) - 1);
    for (int j = 0; j < Bits; ++j) {
      const __m128i c = load_codes(codes + 64 * j);
      for (int k = 0; k < 8 / Bits; ++k) w_[k * Bits + j] = _mm_and_si128(_mm_srli_epi16(c, k * Bits), mask);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x) const { return (native::I32)_mm_madd_epi16(pairs(x), _mm_set1_epi16(1)); }
  LOOM_INLINE native::I32 dot(const std::int8_t* high, const std::int8_t* low) const {
    return (native::I32)_mm_add_epi32(_mm_madd_epi16(pairs(high), _mm_set1_epi16(255)), _mm_madd_epi16(pairs(low), _mm_set1_epi16(1)));
  }

 private:
  // The sixteen products of a lane are at most 16 * 15 * 127 = 30480: they fit the 16-bit sums of maddubs.
  LOOM_INLINE __m128i pairs(const std::int8_t* x) const {
    __m128i a = _mm_maddubs_epi16(w_[0], broadcast4(x));
    __m128i b = _mm_maddubs_epi16(w_[4], broadcast4(x + 16));
    for (int j = 1; j < 4; ++j) {
      a = _mm_add_epi16(a, _mm_maddubs_epi16(w_[j], broadcast4(x + 4 * j)));
      b = _mm_add_epi16(b, _mm_maddubs_epi16(w_[4 + j], broadcast4(x + 16 + 4 * j)));
    }
    return _mm_add_epi16(a, b);
  }

  __m128i w_[8];   // codes 4i to 4i + 3 of each row
};

// |w| as the unsigned factor (-128 becomes 128), the input with w's sign: a pair is at most 2 * 128 * 127 = 32512.
template <int N>
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < N / 4; ++j) codes_[j] = load_codes(codes + 64 * j);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    __m128i total = _mm_setzero_si128();
    for (int j = 0; j < N / 4; ++j) {
      const __m128i pairs = _mm_maddubs_epi16(_mm_abs_epi8(codes_[j]), _mm_sign_epi8(broadcast4(x + 4 * j), codes_[j]));
      total = _mm_add_epi32(total, _mm_madd_epi16(pairs, _mm_set1_epi16(1)));
    }
    return (native::I32)total;
  }

 private:
  __m128i codes_[N / 4];
};

template <int N>
class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < N / 4; ++j)
      for (int half = 0; half < 2; ++half) words_[j][half] = words(codes, j, half);
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    return dot_with(x, [this](int j, int half) { return words_[j][half]; });
  }
  // For one row of inputs: nothing is held in registers.
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return dot_with(x, [codes](int j, int half) { return words(codes, j, half); });
  }

 private:
  static LOOM_INLINE __m128i words(const std::byte* codes, int j, int half) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + 64 * j + 8 * half)));
  }
  template <class Words>
  static LOOM_INLINE native::I32 dot_with(const std::int16_t* x, Words words) {
    __m128i first = _mm_setzero_si128(), second = first;   // rows 0 and 1, rows 2 and 3: two sums each
    for (int j = 0; j < N / 4; ++j) {
      std::int64_t quad;
      __builtin_memcpy(&quad, x + 4 * j, 8);
      const __m128i v = _mm_set1_epi64x(quad);
      first = _mm_add_epi32(first, _mm_madd_epi16(words(j, 0), v));
      second = _mm_add_epi32(second, _mm_madd_epi16(words(j, 1), v));
    }
    return (native::I32)_mm_hadd_epi32(first, second);
  }

  __m128i words_[N / 4][2];
};

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return half_to_float((native::I32)_mm_cvtepu16_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}

LOOM_INLINE native::I32 load_bytes(const std::byte* p) { return (native::I32)_mm_cvtepu8_epi32(_mm_loadu_si32(p)); }

}  // namespace loom::inline LOOM_TARGET
