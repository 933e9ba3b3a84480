#pragma once
// Integer dots of one panel slice with SDOT, the dot-product extension of ARMv8.2: 4 rows in a register, four products
// of each added in 32 bits. Contract: simd/scalar/int_dot.h.

#include "simd/neon/shared.h"

namespace loom::inline LOOM_TARGET {

// Four inputs of every fourth register are a lane of one load.
template <int Words, class Codes>
LOOM_INLINE int32x4_t sum_products(Codes codes, const std::int8_t* x) {
  int32x4_t even = vdupq_n_s32(0), odd = even;
  int i = 0;
  for (; i + 4 <= Words; i += 4) {
    const int8x16_t v = vld1q_s8(x + 4 * i);
    even = vdotq_laneq_s32(even, codes(i), v, 0);
    odd = vdotq_laneq_s32(odd, codes(i + 1), v, 1);
    even = vdotq_laneq_s32(even, codes(i + 2), v, 2);
    odd = vdotq_laneq_s32(odd, codes(i + 3), v, 3);
  }
  for (; i < Words; ++i) even = vdotq_s32(even, codes(i), broadcast4(x + 4 * i));
  return vaddq_s32(even, odd);
}

template <int Most, int Words>
LOOM_INLINE int32x4_t sum_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  static_assert(Most <= 127);  // unsigned codes are signed bytes too
  return sum_products<Words>([&](int i) { return (int8x16_t)w[i]; }, x);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes<Most>(w, x);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return (native::I32)vmlaq_n_s32(sum_codes<Most>(w, low), sum_codes<Most>(w, high), 255);
}

class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) codes_[j] = vld1q_s8(reinterpret_cast<const std::int8_t*>(codes + 64 * j));
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    return (native::I32)sum_products<8>([&](int j) { return codes_[j]; }, x);
  }

 private:
  int8x16_t codes_[8];
};

}  // namespace loom::inline LOOM_TARGET
