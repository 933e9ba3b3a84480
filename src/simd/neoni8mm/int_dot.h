#pragma once
// Integer dots of one panel slice with SMMLA, the matrix extension of ARMv8.6: one instruction multiplies two rows of
// eight codes by two vectors of eight inputs. A single vector takes SDOT. Contract: simd/scalar/int_dot.h.

#include "simd/neondot/dots.h"

namespace loom::inline LOOM_TARGET {

inline constexpr bool kHasPairs = true;

struct PairDots {
  native::I32 first, second;
};
// The dots of four codes of each row in a word, as signed bytes, with two vectors of inputs. These alternate by eight
// columns: eight inputs of the first vector, the same columns of the second.
template <int Words>
LOOM_INLINE PairDots dot_pairs(const native::U32 (&w)[Words], const std::int8_t* x) {
  static_assert(Words % 2 == 0);
  int32x4_t low = vdupq_n_s32(0), high = low;  // rows 0 and 1, rows 2 and 3: both dots of each
  for (int i = 0; i < Words; i += 2) {
    const auto a = (uint32x4_t)w[i], b = (uint32x4_t)w[i + 1];
    const int8x16_t v = vld1q_s8(x + 8 * i);
    low = vmmlaq_s32(low, vreinterpretq_s8_u32(vzip1q_u32(a, b)), v);
    high = vmmlaq_s32(high, vreinterpretq_s8_u32(vzip2q_u32(a, b)), v);
  }
  return {(native::I32)vuzp1q_s32(low, high), (native::I32)vuzp2q_s32(low, high)};
}

}  // namespace loom::inline LOOM_TARGET
