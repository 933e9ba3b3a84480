#pragma once
// Codecs of the float panels: sixteen elements of one column to f32, exactly.

#include "int_dot.h"  // of the target, on the include path
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

// Halfs of one register at any address.
LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  native::Halfs h;
  __builtin_memcpy(&h, p, sizeof h);
  return floats_of(h);
}

struct Float32Codec {
  static constexpr std::size_t kColumnBytes = 64;
  static constexpr bool kRowScale = false;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return load(reinterpret_cast<const float*>(p)); }
};

struct Float16Codec {
  static constexpr std::size_t kColumnBytes = 32;
  static constexpr bool kRowScale = false;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i)
      v.r[i] = load_halfs(reinterpret_cast<const std::uint16_t*>(p) + i * kRegisterLanes);
    return v;
  }
};

struct BFloat16Codec {
  static constexpr std::size_t kColumnBytes = 32;
  static constexpr bool kRowScale = false;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    using U16 [[gnu::vector_size(kRegisterBytes / 2), gnu::aligned(2), gnu::may_alias]] = std::uint16_t;
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const U16 half = *reinterpret_cast<const U16*>(p + i * kRegisterBytes / 2);
      v.r[i] = (native::F32)(__builtin_convertvector(half, native::U32) << 16);
    }
    return v;
  }
};

LOOM_INLINE I32x16 load_bytes16(const std::byte* p) {
  I32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i) v.r[i] = load_bytes(p + i * kRegisterLanes);
  return v;
}

// Sixteen signed bytes, each shifted left into a half, of which the bits of kMask stay.
template <int kShift, int kMask>
LOOM_INLINE F32x16 floats_of_bytes(const std::byte* p) {
  using Bytes [[gnu::vector_size(kRegisterLanes), gnu::aligned(1), gnu::may_alias]] = std::int8_t;
  using Words [[gnu::vector_size(2 * kRegisterLanes)]] = std::int16_t;
  F32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    const Words codes = __builtin_convertvector(*reinterpret_cast<const Bytes*>(p + i * kRegisterLanes), Words);
    v.r[i] = floats_of((native::Halfs)(codes << kShift) & static_cast<std::uint16_t>(kMask));
  }
  return v;
}

// OCP E4M3 without its NaNs: bias 7, subnormals m/8 * 2^-6. No subnormal f32 stands on the way.
struct Fp8E4M3Codec {
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    // The exponent of a half has one bit more, and a bias that is greater by 8.
    if constexpr (kConvertsHalfs) return floats_of_bytes<7, 0xbfff>(p) * splat(0x1p8f);
    const I32x16 code = load_bytes16(p), magnitude = code & splat(std::int32_t{0x7f});
    const I32x16 normal = shift_left(magnitude, 20) + splat(std::int32_t{120 << 23});
    const F32x16 small = to_float(magnitude) * splat(0x1p-9f);
    return as_float(select(magnitude < splat(std::int32_t{8}), bits(small), normal) |
                    shift_left(code & splat(std::int32_t{0x80}), 24));
  }
};

// OCP E5M2 without infinities and NaNs: the upper byte of an f16.
struct Fp8E5M2Codec {
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return floats_of_bytes<8, 0xffff>(p); }
};

// OCP E2M1 of column i of a block of nibbles, without its scale.
LOOM_INLINE F32x16 fp4_16(const std::byte* block, std::size_t i) {
  const std::size_t word = i / 4;
  const I32x16 words = load(reinterpret_cast<const std::int32_t*>(block + word % 4 * 64));
  const I32x16 codes = shift_right_logical(words, static_cast<int>(i % 4 * 8 + word / 4 * 4));
  return detail::each<F32x16>([](native::I32 code) { return fp4_values(code); }, codes);
}

}  // namespace loom::inline LOOM_TARGET
