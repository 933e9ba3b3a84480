#pragma once
// Integer dots of one panel slice in WebAssembly SIMD128: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <wasm_simd128.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kBlockTokens = 2;

LOOM_INLINE v128_t broadcast4(const std::int8_t* x) { return wasm_v128_load32_splat(x); }

// Adds the four products of each row. A pair of products is at most 2 * 128 * 127 and fits the i16 lanes.
LOOM_INLINE v128_t dot4(v128_t total, v128_t w, v128_t x) {
  const v128_t low = wasm_i16x8_extmul_low_i8x16(w, x), high = wasm_i16x8_extmul_high_i8x16(w, x);
  const v128_t even = wasm_i8x16_shuffle(low, high, 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29);
  const v128_t odd = wasm_i8x16_shuffle(low, high, 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
  return wasm_i32x4_add(total, wasm_i32x4_extadd_pairwise_i16x8(wasm_i16x8_add(even, odd)));
}

template <int T>
LOOM_INLINE void dot32_nibbles(const std::byte* codes, const std::int8_t* const (&x)[T], native::I32 (&out)[T]) {
  v128_t total[T];
  for (int t = 0; t < T; ++t) total[t] = wasm_i32x4_splat(0);
  for (int j = 0; j < 4; ++j) {
    const v128_t c = wasm_v128_load(codes + 64 * j);
    const v128_t low = wasm_v128_and(c, wasm_i8x16_splat(15)), high = wasm_u8x16_shr(c, 4);
    for (int t = 0; t < T; ++t) {
      total[t] = dot4(total[t], low, broadcast4(x[t] + 4 * j));
      total[t] = dot4(total[t], high, broadcast4(x[t] + 16 + 4 * j));
    }
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)total[t];
}

template <int N, int T>
LOOM_INLINE void dot_bytes(const std::byte* codes, const std::int8_t* const (&x)[T], const std::int32_t (&sums)[T], native::I32 (&out)[T]) {
  (void)sums;
  v128_t total[T];
  for (int t = 0; t < T; ++t) total[t] = wasm_i32x4_splat(0);
  for (int j = 0; j < N / 4; ++j) {
    const v128_t w = wasm_v128_load(codes + 64 * j);
    for (int t = 0; t < T; ++t) total[t] = dot4(total[t], w, broadcast4(x[t] + 4 * j));
  }
  for (int t = 0; t < T; ++t) out[t] = (native::I32)total[t];
}

LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) { return half_to_float((native::I32)wasm_u32x4_load16x4(p)); }

}  // namespace loom::inline LOOM_TARGET
