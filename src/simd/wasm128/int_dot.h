#pragma once
// Integer dots of one panel slice in WebAssembly SIMD128: 4 rows in a register. Contract: simd/scalar/int_dot.h.

#include <wasm_simd128.h>

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

inline constexpr int kWordOrder[4] = {0, 2, 1, 3};
inline constexpr bool kPrefersWords = true;
inline constexpr bool kHasPairs = false;
inline constexpr bool kConvertsHalfs = false;

// Lanes 0+1, 2+3 of `a`, then of `b`.
LOOM_INLINE v128_t add_neighbours(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}

// The products of a lane are added in 16 bits: 8 of codes up to 31, 4 up to 63.
template <int Most, int Words>
LOOM_INLINE v128_t sum_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  static_assert(Words * Most * 127 <= 32767);
  v128_t first = wasm_i16x8_splat(0), second = first;  // rows 0 and 1, rows 2 and 3
#pragma GCC unroll 8
  for (int i = 0; i < Words; ++i) {
    const auto codes = (v128_t)w[i];
    const v128_t v = wasm_v128_load32_splat(x + 4 * i);
    first = wasm_i16x8_add(first, wasm_i16x8_extmul_low_i8x16(codes, v));
    second = wasm_i16x8_add(second, wasm_i16x8_extmul_high_i8x16(codes, v));
  }
  return add_neighbours(wasm_i32x4_extadd_pairwise_i16x8(first), wasm_i32x4_extadd_pairwise_i16x8(second));
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* x) {
  return (native::I32)sum_codes<Most>(w, x);
}
template <int Most, int Words>
LOOM_INLINE native::I32 dot_codes(const native::U32 (&w)[Words], const std::int8_t* high, const std::int8_t* low) {
  return (native::I32)wasm_i32x4_add(wasm_i32x4_mul(sum_codes<Most>(w, high), wasm_i32x4_splat(255)),
                                     sum_codes<Most>(w, low));
}

// Eight inputs are loaded at once and spread from the register. Engines put all loads of a block before its arithmetic:
// one load for each pair would leave more values than there are registers.
template <int I>
LOOM_INLINE v128_t spread(v128_t v) {
  return wasm_i32x4_shuffle(v, v, I, I, I, I);
}
// Sum of the products of `Words` words with as many times four inputs. even(j) and odd(j): columns 4j and 4j + 2, and
// 4j + 1 and 4j + 3, of each row, as int16.
template <int Words, class Even, class Odd>
LOOM_INLINE native::I32 dot_words_of(const std::int16_t* x, Even even, Odd odd) {
  static_assert(Words % 2 == 0);
  v128_t a = wasm_i32x4_splat(0), b = a;
#pragma GCC unroll 4
  for (int j = 0; j < Words; j += 2) {
    const v128_t v = wasm_v128_load(x + 4 * j);
    a = wasm_i32x4_add(a, wasm_i32x4_dot_i16x8(even(j), spread<0>(v)));
    b = wasm_i32x4_add(b, wasm_i32x4_dot_i16x8(odd(j), spread<1>(v)));
    a = wasm_i32x4_add(a, wasm_i32x4_dot_i16x8(even(j + 1), spread<2>(v)));
    b = wasm_i32x4_add(b, wasm_i32x4_dot_i16x8(odd(j + 1), spread<3>(v)));
  }
  return (native::I32)wasm_i32x4_add(a, b);
}
template <int Words>
LOOM_INLINE native::I32 dot_words(const native::U32 (&w)[Words], const std::int16_t* x) {
  return dot_words_of<Words>(
      x, [&](int j) { return wasm_v128_and((v128_t)w[j], wasm_i16x8_splat(255)); },
      [&](int j) { return wasm_u16x8_shr((v128_t)w[j], 8); });
}

LOOM_INLINE native::U32 look_up(const std::uint8_t (&table)[16], native::U32 words) {
  return (native::U32)wasm_i8x16_swizzle(wasm_v128_load(table), (v128_t)words);
}

class WordSlice {
 public:
  LOOM_INLINE explicit WordSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) {
      const v128_t w = wasm_v128_load(codes + 64 * j);
      even_[j] = wasm_i16x8_shr(wasm_i16x8_shl(w, 8), 8);
      odd_[j] = wasm_i16x8_shr(w, 8);
    }
  }
  LOOM_INLINE native::I32 dot(const std::int16_t* x) const {
    return dot_words_of<8>(x, [this](int j) { return even_[j]; }, [this](int j) { return odd_[j]; });
  }
  static LOOM_INLINE native::I32 dot_once(const std::byte* codes, const std::int16_t* x) {
    return WordSlice(codes).dot(x);
  }

 private:
  v128_t even_[8], odd_[8];
};

// Sign-extended to pairs of int16: their dot is one instruction.
class ByteSlice {
 public:
  LOOM_INLINE explicit ByteSlice(const std::byte* codes) {
    for (int j = 0; j < 8; ++j) codes_[j] = wasm_v128_load(codes + 64 * j);
  }
  LOOM_INLINE native::I32 dot(const std::int8_t* x, std::int32_t sum) const {
    (void)sum;
    v128_t first = wasm_i32x4_splat(0), second = first;  // rows 0 and 1, rows 2 and 3
    const auto add = [&](int j, v128_t v) {
      first = wasm_i32x4_add(first, wasm_i32x4_dot_i16x8(wasm_i16x8_extend_low_i8x16(codes_[j]), v));
      second = wasm_i32x4_add(second, wasm_i32x4_dot_i16x8(wasm_i16x8_extend_high_i8x16(codes_[j]), v));
    };
#pragma GCC unroll 2
    for (int j = 0; j < 8; j += 4) {
      const v128_t v = wasm_v128_load(x + 4 * j);
      const v128_t low = wasm_i16x8_extend_low_i8x16(v), high = wasm_i16x8_extend_high_i8x16(v);
      add(j, wasm_i64x2_shuffle(low, low, 0, 0)), add(j + 1, wasm_i64x2_shuffle(low, low, 1, 1));
      add(j + 2, wasm_i64x2_shuffle(high, high, 0, 0)), add(j + 3, wasm_i64x2_shuffle(high, high, 1, 1));
    }
    return (native::I32)add_neighbours(first, second);
  }

 private:
  v128_t codes_[8];
};

// Exact for every half, as half_to_float(), in a third of its instructions: a subnormal half is a subnormal float
// on the way, which WebAssembly never flushes.
LOOM_INLINE native::F32 floats_of(native::Halfs h) {
  using Signed [[gnu::vector_size(8)]] = std::int16_t;
  const native::I32 wide = __builtin_convertvector((Signed)h, native::I32);
  const native::I32 small = (wide & INT32_MIN) | ((wide << 13) & 0x0fffe000);
  return (native::F32)small * 0x1p112f;
}
LOOM_INLINE native::F32 fp4_values(native::I32 codes) { return fp4_by_bits(codes); }

LOOM_INLINE native::I32 load_bytes(const std::byte* p) {
  return (native::I32)wasm_u32x4_extend_low_u16x8(wasm_u16x8_extend_low_u8x16(wasm_v128_load32_zero(p)));
}

}  // namespace loom::inline LOOM_TARGET
