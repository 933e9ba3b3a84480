#pragma once
// Integer dots of one panel with vpdpbusd: 16 rows in a register. Contract: simd/scalar/int_dot.h.

#include <immintrin.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 2, 1, 3};

LOOM_INLINE __m512i broadcast4(const void* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return _mm512_set1_epi32(word);
}

template <int Bits>
class CodeSlice {
 public:
  LOOM_INLINE explicit CodeSlice(const std::byte* codes) {
    const __m512i mask = _mm512_set1_epi8((1 << Bits) - 1);
    for (int j = 0; j < Bits; ++j) {
      const __m512i c = _mm512_loadu_si512(codes + 64 * j);
      for (int k = 0; k < 8 / Bits; ++k) w_[k * Bits + j] = _mm512_and_si512(_mm512_srli_epi16(c, k * Bits), mask);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x) const { return (native::I32)sum(x); }
  LOOM_INLINE native::I32 dot(const std::int8_t* high, const std::int8_t* low) const {
    const auto h = (native::I32)sum(high);
    return ((h << 8) - h) + (native::I32)sum(low);  // a 32-bit product takes ten cycles
  }

 private:
  LOOM_INLINE __m512i sum(const std::int8_t* x) const {
    __m512i a = _mm512_setzero_si512(), b = _mm512_setzero_si512();
    for (int j = 0; j < 4; ++j) {
      a = _mm512_dpbusd_epi32(a, w_[j], broadcast4(x + 4 * j));
      b = _mm512_dpbusd_epi32(b, w_[4 + j], broadcast4(x + 16 + 4 * j));
    }
    return _mm512_add_epi32(a, b);
  }

  __m512i w_[8];   // codes 4i to 4i + 3 of each row
};

// Codes are shifted by 128 to be the unsigned factor; 128 times the inputs' sum is taken off again.
template <int N>
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    const __m512i shift = _mm512_set1_epi8(static_cast<char>(0x80));
    for (int j = 0; j < N / 4; ++j) codes_[j] = _mm512_xor_si512(_mm512_loadu_si512(codes + 64 * j), shift);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    __m512i total[2] = {_mm512_set1_epi32(-128 * sum), _mm512_setzero_si512()};
    for (int j = 0; j < N / 4; ++j) total[j & 1] = _mm512_dpbusd_epi32(total[j & 1], codes_[j], broadcast4(x + 4 * j));
    return (native::I32)_mm512_add_epi32(total[0], total[1]);
  }

 private:
  __m512i codes_[N / 4];
};

template <int N>
class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < N / 4; ++j) {
      const __m512i w = _mm512_loadu_si512(codes + 64 * j);
      even_[j] = _mm512_srai_epi16(_mm512_slli_epi16(w, 8), 8);
      odd_[j] = _mm512_srai_epi16(w, 8);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    __m512i a = _mm512_setzero_si512(), b = _mm512_setzero_si512();
    for (int j = 0; j < N / 4; ++j) {
      a = _mm512_dpwssd_epi32(a, even_[j], broadcast4(x + 4 * j));
      b = _mm512_dpwssd_epi32(b, odd_[j], broadcast4(x + 4 * j + 2));
    }
    return (native::I32)_mm512_add_epi32(a, b);
  }
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) { return WordSlice(codes).dot(x); }

 private:
  __m512i even_[N / 4], odd_[N / 4];
};

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  return (native::F32)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  return (native::I32)_mm512_maskz_cvtepu8_epi32(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

}  // namespace loom::inline LOOM_TARGET
