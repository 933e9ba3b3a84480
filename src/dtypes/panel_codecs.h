#pragma once
// Codecs of the float panels: sixteen elements of one column to f32, exactly.

#include "int_dot.h"  // of the target, on the include path
#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

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

// OCP E4M3 without its NaNs: bias 7, subnormals m/8 * 2^-6. No subnormal f32 stands on the way.
struct Fp8E4M3Codec {
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
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
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    const I32x16 code = shift_left(load_bytes16(p), 8);
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i) v.r[i] = half_to_float(code.r[i]);
    return v;
  }
};

// OCP E2M1 of column i of a block of nibbles, without its scale: 0 .5 1 1.5 2 3 4 6.
LOOM_INLINE F32x16 fp4_16(const std::byte* block, std::size_t i) {
  const std::size_t word = i / 4;
  const I32x16 words = load(reinterpret_cast<const std::int32_t*>(block + word % 4 * 64));
  const I32x16 code = shift_right_logical(words, static_cast<int>(i % 4 * 8 + word / 4 * 4)) & splat(std::int32_t{15});
  const I32x16 magnitude = code & splat(std::int32_t{7});
  const I32x16 normal = shift_left(magnitude, 22) + splat(std::int32_t{126 << 23});
  const F32x16 small = to_float(magnitude) * splat(0.5f);
  return as_float(select(magnitude < splat(std::int32_t{2}), bits(small), normal) |
                  shift_left(code & splat(std::int32_t{8}), 28));
}

}  // namespace loom::inline LOOM_TARGET
