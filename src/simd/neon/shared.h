#pragma once
// The parts of integer dots that AArch64 has with and without the dot-product extension: inputs in every lane, int16
// inputs, small floats. Contract: simd/scalar/int_dot.h.

#include <arm_neon.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 2, 1, 3};
inline constexpr bool kPrefersWords = false;
inline constexpr bool kConvertsHalfs = true;

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

LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  return (native::U32)vqtbl1q_u8(vld1q_u8(table), (uint8x16_t)words);
}

class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) {
      const int16x8_t w = vreinterpretq_s16_s8(vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j)));
      even_[j] = vshrq_n_s16(vshlq_n_s16(w, 8), 8);
      odd_[j] = vshrq_n_s16(w, 8);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    int32x4_t first = vdupq_n_s32(0), second = first;  // rows 0 and 1, rows 2 and 3
    for (int j = 0; j < 8; ++j) {
      const int16x8_t xe = broadcast2(x + 4 * j), xo = broadcast2(x + 4 * j + 2);
      first = vmlal_s16(vmlal_s16(first, vget_low_s16(even_[j]), vget_low_s16(xe)), vget_low_s16(odd_[j]),
                        vget_low_s16(xo));
      second = vmlal_s16(vmlal_s16(second, vget_high_s16(even_[j]), vget_high_s16(xe)), vget_high_s16(odd_[j]),
                         vget_high_s16(xo));
    }
    return (native::I32)vpaddq_s32(first, second);
  }
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return WordSlice(codes).dot(x);
  }

 private:
  int16x8_t even_[8], odd_[8];
};

LOOM_INLINE native::F32 floats_of(native::Halfs h) { return (native::F32)vcvt_f32_f16((float16x4_t)h); }
LOOM_INLINE native::F32 fp4_values(native::I32 codes) { return fp4_by_bits(codes); }

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  std::uint32_t word;
  __builtin_memcpy(&word, p, 4);
  return (native::I32)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(word))));
}

}  // namespace loom::inline LOOM_TARGET
