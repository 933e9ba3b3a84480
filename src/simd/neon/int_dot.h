#pragma once
// Integer dots of one panel slice on AArch64 without the dot-product extension: 4 rows in a register. Contract:
// simd/scalar/int_dot.h.

#include "simd/neon/shared.h"

namespace loom::inline LOOM_TARGET {

inline constexpr bool kHasPairs = false;

// The products of a lane are added in 16 bits: 8 of codes up to 31, 4 up to 63.
template <int Most, int Words>
LOOM_INLINE int32x4_t sum_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  static_assert(Words * Most * 127 <= 32767);
  int16x8_t first = vdupq_n_s16(0), second = first;  // rows 0 and 1, rows 2 and 3
  for (int i = 0; i < Words; ++i) {
    const auto codes = (int8x16_t)w[i];
    const int8x16_t v = broadcast4(x + 4 * i);
    first = vmlal_s8(first, vget_low_s8(codes), vget_low_s8(v));
    second = vmlal_s8(second, vget_high_s8(codes), vget_high_s8(v));
  }
  if constexpr (2 * Words * Most * 127 <= 32767) return vpaddlq_s16(vpaddq_s16(first, second));
  return vpaddq_s32(vpaddlq_s16(first), vpaddlq_s16(second));
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes<Most>(w, x);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return (native::I32)vmlaq_n_s32(sum_codes<Most>(w, low), sum_codes<Most>(w, high), 255);
}

// Pairs of i16 products (<= 2 * 128 * 127) fit i16.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) codes_[j] = vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j));
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    int32x4_t total = vdupq_n_s32(0);
    for (int j = 0; j < 8; ++j) {
      const int8x16_t v = broadcast4(x + 4 * j);
      total = vpadalq_s16(total, vpaddq_s16(vmull_s8(vget_low_s8(codes_[j]), vget_low_s8(v)),
                                            vmull_s8(vget_high_s8(codes_[j]), vget_high_s8(v))));
    }
    return (native::I32)total;
  }

 private:
  int8x16_t codes_[8];
};

}  // namespace loom::inline LOOM_TARGET
