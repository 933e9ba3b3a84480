#pragma once
// Integer dots of one panel slice on AArch64 without the dot-product extension: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <arm_neon.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 2, 1, 3};

LOOM_INLINE int8x16_t broadcast4(const std::int8_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return vreinterpretq_s8_s32(vdupq_n_s32(word));
}
LOOM_INLINE int16x8_t broadcast2(const std::int16_t* x) {
  std::int32_t word;
  __builtin_memcpy(&word, x, 4);
  return vreinterpretq_s16_s32(vdupq_n_s32(word));
}

template <int Bits>
class CodeSlice {
 public:
  LOOM_INLINE explicit CodeSlice(const std::byte* codes) {
    for (int j = 0; j < Bits; ++j) {
      const uint8x16_t c = vld1q_u8(reinterpret_cast<const std::uint8_t*>(codes + 64 * j));
      for (int k = 0; k < 8 / Bits; ++k)
        w_[k * Bits + j] = vreinterpretq_s8_u8(vandq_u8(vshlq_u8(c, vdupq_n_s8(static_cast<std::int8_t>(-k * Bits))), vdupq_n_u8((1 << Bits) - 1)));
    }
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x) const { return (native::I32)sum(x); }
  LOOM_INLINE native::I32 dot(const std::int8_t* high, const std::int8_t* low) const { return (native::I32)vmlaq_n_s32(sum(low), sum(high), 255); }

 private:
  // Eight products of a lane are at most 8 * 15 * 127, a pair of lanes twice that: they fit 16 bits.
  LOOM_INLINE int32x4_t sum(const std::int8_t* x) const {
    int16x8_t first = vdupq_n_s16(0), second = first;   // rows 0 and 1, rows 2 and 3
    for (int j = 0; j < 4; ++j) {
      const int8x16_t xl = broadcast4(x + 4 * j), xh = broadcast4(x + 16 + 4 * j);
      first = vmlal_s8(vmlal_s8(first, vget_low_s8(w_[j]), vget_low_s8(xl)), vget_low_s8(w_[4 + j]), vget_low_s8(xh));
      second = vmlal_s8(vmlal_s8(second, vget_high_s8(w_[j]), vget_high_s8(xl)), vget_high_s8(w_[4 + j]), vget_high_s8(xh));
    }
    return vpaddlq_s16(vpaddq_s16(first, second));
  }

  int8x16_t w_[8];   // codes 4i to 4i + 3 of each row
};

// Pairs of i16 products (<= 2 * 128 * 127) fit i16.
template <int N>
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < N / 4; ++j) codes_[j] = vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j));
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    int32x4_t total = vdupq_n_s32(0);
    for (int j = 0; j < N / 4; ++j) {
      const int8x16_t v = broadcast4(x + 4 * j);
      total = vpadalq_s16(total, vpaddq_s16(vmull_s8(vget_low_s8(codes_[j]), vget_low_s8(v)), vmull_s8(vget_high_s8(codes_[j]), vget_high_s8(v))));
    }
    return (native::I32)total;
  }

 private:
  int8x16_t codes_[N / 4];
};

template <int N>
class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < N / 4; ++j) {
      const int16x8_t w = vreinterpretq_s16_s8(vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j)));
      even_[j] = vshrq_n_s16(vshlq_n_s16(w, 8), 8);
      odd_[j] = vshrq_n_s16(w, 8);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    int32x4_t first = vdupq_n_s32(0), second = first;   // rows 0 and 1, rows 2 and 3
    for (int j = 0; j < N / 4; ++j) {
      const int16x8_t xe = broadcast2(x + 4 * j), xo = broadcast2(x + 4 * j + 2);
      first = vmlal_s16(vmlal_s16(first, vget_low_s16(even_[j]), vget_low_s16(xe)), vget_low_s16(odd_[j]), vget_low_s16(xo));
      second = vmlal_s16(vmlal_s16(second, vget_high_s16(even_[j]), vget_high_s16(xe)), vget_high_s16(odd_[j]), vget_high_s16(xo));
    }
    return (native::I32)vpaddq_s32(first, second);
  }
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) { return WordSlice(codes).dot(x); }

 private:
  int16x8_t even_[N / 4], odd_[N / 4];
};

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) { return (native::F32)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  std::uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return (native::I32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(word))));
}

}  // namespace loom::inline LOOM_TARGET
