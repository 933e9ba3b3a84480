#pragma once
// Integer dots of one panel with vpdpbusd: 16 rows in a register. Contract: simd/scalar/int_dot.h.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 2, 1, 3};
inline constexpr bool kPrefersWords = false;
inline constexpr bool kHasPairs = false;
inline constexpr bool kConvertsHalfs = true;

LOOM_INLINE __m512i broadcast4(const void* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm512_set1_epi32(word);
}

template <int Words>
LOOM_INLINE __m512i sum_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  constexpr int kHalf = Words / 2;
  __m512i a = _mm512_setzero_si512(), b = a;
  for (int j = 0; j < kHalf; ++j) {
    a = _mm512_dpbusd_epi32(a, (__m512i)w[j], broadcast4(x + 4 * j));
    b = _mm512_dpbusd_epi32(b, (__m512i)w[kHalf + j], broadcast4(x + 4 * (kHalf + j)));
  }
  return _mm512_add_epi32(a, b);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes(w, x);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  const auto h = (native::I32)sum_codes(w, high);
  return ((h << 8) - h) + (native::I32)sum_codes(w, low);  // a 32-bit product takes ten cycles
}

LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  const __m128i entries = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table));
  return (native::U32)_mm512_shuffle_epi8(_mm512_maskz_broadcast_i32x4(0xffff, entries), (__m512i)words);
}

// Codes are shifted by 128 to be the unsigned factor; 128 times the inputs' sum is taken off again.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    const __m512i shift = _mm512_set1_epi8(static_cast<char>(0x80));
    for (int j = 0; j < 8; ++j) codes_[j] = _mm512_xor_si512(_mm512_loadu_si512(codes + 64 * j), shift);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    __m512i total[2] = {_mm512_set1_epi32(-128 * sum), _mm512_setzero_si512()};
    for (int j = 0; j < 8; ++j) total[j & 1] = _mm512_dpbusd_epi32(total[j & 1], codes_[j], broadcast4(x + 4 * j));
    return (native::I32)_mm512_add_epi32(total[0], total[1]);
  }

 private:
  __m512i codes_[8];
};

class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) {
      const __m512i w = _mm512_loadu_si512(codes + 64 * j);
      even_[j] = _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8);
      odd_[j] = _mm512_srai_epi16(w, 8);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    __m512i a = _mm512_setzero_si512(), b = _mm512_setzero_si512();
    for (int j = 0; j < 8; ++j) {
      a = _mm512_dpwssd_epi32(a, even_[j], broadcast4(x + 4 * j));
      b = _mm512_dpwssd_epi32(b, odd_[j], broadcast4(x + 4 * j + 2));
    }
    return (native::I32)_mm512_add_epi32(a, b);
  }
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return WordSlice(codes).dot(x);
  }

 private:
  __m512i even_[8], odd_[8];
};

LOOM_INLINE native::F32 floats_of(native::Halfs h) { return (native::F32)_mm512_maskz_cvtph_ps(0xffff, (__m256i)h); }
// Half a register of them.
using EightHalfs [[gnu::vector_size(16), gnu::may_alias]] = std::uint16_t;
LOOM_INLINE __m256 floats_of(EightHalfs h) { return _mm256_maskz_cvtph_ps(0xff, (__m128i)h); }
LOOM_INLINE native::F32 fp4_values(native::I32 codes) {
  return (native::F32)_mm512_maskz_permutexvar_ps(0xffff, (__m512i)codes, _mm512_loadu_ps(kFp4Values));
}

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  return (native::I32)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

}  // namespace loom::inline LOOM_TARGET
