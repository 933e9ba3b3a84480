#pragma once
// Codecs of the panels of elements: sixteen of one column to the Number in which they are multiplied and added,
// exactly. Where rows have scales, a total is that of the row times kUnit.

#include <type_traits>

#include "int_dot.h"  // of the target, on the include path
#include "simd/simd64.h"

namespace loom::inline LOOM_TARGET {

// Halfs of one register at any address.
LOOM_INLINE native::F32 load_halfs(const std::uint16_t* p) {
  native::Halfs h;
  __builtin_memcpy(&h, p, sizeof h);
  return floats_of(h);
}

struct Float32Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 64;
  static constexpr bool kRowScale = false, kZeros = false, kWidens = false;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return load(reinterpret_cast<const float*>(p)); }
};

struct Float16Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 32;
  static constexpr bool kRowScale = false, kZeros = false, kWidens = false;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    F32x16 v;
    for (std::size_t i = 0; i < kRegisters; ++i)
      v.r[i] = load_halfs(reinterpret_cast<const std::uint16_t*>(p) + i * kRegisterLanes);
    return v;
  }
};

struct BFloat16Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 32;
  static constexpr bool kRowScale = false, kZeros = false, kWidens = false;
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

// Signed bytes in words, each shifted left into a half, of which the bits of kMask stay.
template <int kShift, int kMask, class Words>
LOOM_INLINE Words halfs_of(Words codes) {
  return codes << kShift & static_cast<std::int16_t>(kMask);
}
template <int kShift, int kMask>
LOOM_INLINE F32x16 floats_of_bytes(const std::byte* p) {
  using Bytes [[gnu::vector_size(kRegisterLanes), gnu::aligned(1), gnu::may_alias]] = std::int8_t;
  using Words [[gnu::vector_size(2 * kRegisterLanes)]] = std::int16_t;
  F32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i) {
    const Words codes = __builtin_convertvector(*reinterpret_cast<const Bytes*>(p + i * kRegisterLanes), Words);
    v.r[i] = floats_of((native::Halfs)halfs_of<kShift, kMask>(codes));
  }
  return v;
}
// Four columns to halfs: a loop over memory, which compilers make better code of than of a conversion of vectors.
template <int kShift, int kMask>
LOOM_INLINE void widen_bytes(const std::byte* __restrict p, std::uint16_t* __restrict to) {
  for (std::size_t i = 0; i < 4 * kLanes; ++i)
    to[i] = static_cast<std::uint16_t>(static_cast<std::int8_t>(p[i]) << kShift & kMask);
}

// OCP E4M3 without its NaNs: bias 7, subnormals m/8 * 2^-6. Here all are 2^8 times smaller, as their codes are where a
// half is made of them: the exponent of a half has one bit more, and a bias that is greater by 8. No subnormal f32
// stands on the way, nor do sums of such products come near one, so that kUnit gives every bit back.
struct Fp8E4M3Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true, kZeros = false, kWidens = kConvertsHalfs;
  static constexpr float kUnit = 0x1p8f;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) {
    if constexpr (kConvertsHalfs) return floats_of_bytes<7, 0xbfff>(p);
    const I32x16 code = load_bytes16(p), magnitude = code & splat(std::int32_t{0x7f});
    const I32x16 normal = shift_left(magnitude, 20) + splat(std::int32_t{112 << 23});
    const F32x16 small = to_float(magnitude) * splat(0x1p-17f);
    return as_float(select(magnitude < splat(std::int32_t{8}), bits(small), normal) |
                    shift_left(code & splat(std::int32_t{0x80}), 24));
  }
  static LOOM_INLINE void widen4(const std::byte* p, std::uint16_t* to) { widen_bytes<7, 0xbfff>(p, to); }
};

// OCP E5M2 without infinities and NaNs: the upper byte of an f16.
struct Fp8E5M2Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true, kZeros = false, kWidens = kConvertsHalfs;
  static constexpr float kUnit = 1;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return floats_of_bytes<8, 0xffff>(p); }
  static LOOM_INLINE void widen4(const std::byte* p, std::uint16_t* to) { widen_bytes<8, 0xffff>(p, to); }
};

// One register of integers to f64, each rounded once. Few targets convert 64 bits: their halves are put into the low
// bits of 2^52 and 2^84, which are taken away again.
template <class Code>
LOOM_INLINE native::F64 wide_values(const std::byte* p) {
  using Shorts [[gnu::vector_size(kRegisterLanes64 * 2), gnu::aligned(2), gnu::may_alias]] = std::int16_t;
  using Ints [[gnu::vector_size(kRegisterLanes64 * 4), gnu::aligned(4), gnu::may_alias]] = std::int32_t;
  using Words [[gnu::vector_size(native::kBytes64), gnu::aligned(8), gnu::may_alias]] = std::uint64_t;
  constexpr std::uint64_t kLow = __builtin_bit_cast(std::uint64_t, 0x1p52);
  if constexpr (sizeof(Code) == 2) {
    const Ints codes = __builtin_convertvector(*reinterpret_cast<const Shorts*>(p), Ints);
    return __builtin_convertvector(std::is_signed_v<Code> ? codes : codes & 0xffff, native::F64);
  } else if constexpr (sizeof(Code) == 4 && std::is_signed_v<Code>) {
    return __builtin_convertvector(*reinterpret_cast<const Ints*>(p), native::F64);
  } else if constexpr (sizeof(Code) == 4) {
    const Words codes = __builtin_convertvector(*reinterpret_cast<const Ints*>(p), Words);
    return (native::F64)((codes & 0xffffffffu) | kLow) - 0x1p52;
  } else {
    constexpr std::uint64_t kSign = std::is_signed_v<Code> ? 0x80000000u : 0u;
    constexpr double kAdded = 0x1p84 + 0x1p52 + (std::is_signed_v<Code> ? 0x1p63 : 0.0);
    const Words codes = *reinterpret_cast<const Words*>(p);
    const auto low = (native::F64)((codes & 0xffffffffu) | kLow);
    const auto high = (native::F64)((codes >> 32) ^ (__builtin_bit_cast(std::uint64_t, 0x1p84) | kSign));
    return (high - kAdded) + low;
  }
}

// float64, and integers of 16 bits and more less their zero points, which the unsigned have.
template <class Code>
struct WideCodec {
  using Number = double;
  static constexpr std::size_t kColumnBytes = kLanes * sizeof(Code);
  static constexpr bool kIsFloat = std::is_floating_point_v<Code>;
  static constexpr bool kRowScale = !kIsFloat, kZeros = std::is_unsigned_v<Code>, kWidens = false;
  std::conditional_t<kZeros, F64x16, std::nullptr_t> zero_points{};

  LOOM_INLINE F64x16 decode16(const std::byte* p) const {
    if constexpr (kIsFloat) return load(reinterpret_cast<const double*>(p));
    F64x16 v;
    for (std::size_t i = 0; i < kRegisters64; ++i) v.r[i] = wide_values<Code>(p + i * kRegisterLanes64 * sizeof(Code));
    if constexpr (kZeros) return v - zero_points;
    return v;
  }
};

// OCP E2M1 of column i of a block of nibbles, without its scale.
LOOM_INLINE F32x16 fp4_16(const std::byte* block, std::size_t i) {
  const std::size_t word = i / 4;
  const I32x16 words = load(reinterpret_cast<const std::int32_t*>(block + word % 4 * 64));
  const I32x16 codes = shift_right_logical(words, static_cast<int>(i % 4 * 8 + word / 4 * 4));
  return detail::each<F32x16>([](native::I32 code) { return fp4_values(code); }, codes);
}

}  // namespace loom::inline LOOM_TARGET
