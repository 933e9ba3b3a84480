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

// Sixteen numbers of a column, or their sums, the even rows before the odd ones: a shift and a mask separate the two of
// a word, where widening each of them costs more. In registers of at most 32 bytes, since a Zen 4 gets
// more conversions, products and sums done in halves of its registers.
struct EvenOdd {
  static constexpr std::size_t kBytes = kRegisterBytes < 32 ? kRegisterBytes : 32, kLanesOf = kBytes / 4;
  static constexpr std::size_t kOdd = kLanes / 2 / kLanesOf;  // registers of even rows; the first of odd ones
  using F32 [[gnu::vector_size(kBytes), gnu::may_alias]] = float;
  using U32 [[gnu::vector_size(kBytes), gnu::may_alias, gnu::aligned(1)]] = std::uint32_t;
  using Halfs [[gnu::vector_size(kBytes / 2), gnu::may_alias]] = std::uint16_t;
  F32 r[2 * kOdd];
};
LOOM_INLINE EvenOdd operator+(const EvenOdd& a, const EvenOdd& b) {
  EvenOdd sum;
  for (std::size_t i = 0; i < 2 * EvenOdd::kOdd; ++i) sum.r[i] = a.r[i] + b.r[i];
  return sum;
}
LOOM_INLINE EvenOdd times(const EvenOdd& a, float x) {
  EvenOdd product;
  for (std::size_t i = 0; i < 2 * EvenOdd::kOdd; ++i) product.r[i] = a.r[i] * x;
  return product;
}
LOOM_INLINE F32x16 in_order(const EvenOdd& v) {
  alignas(64) float from[kLanes], to[kLanes];
  __builtin_memcpy(from, v.r, sizeof from);
  for (std::size_t i = 0; i < kLanes; ++i) to[i] = from[i % 2 * (kLanes / 2) + i / 2];
  return load(to);
}

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
  static LOOM_INLINE EvenOdd even_odd(const std::byte* p) {
    EvenOdd v;
    for (std::size_t i = 0; i < EvenOdd::kOdd; ++i) {
      const EvenOdd::U32 words = *reinterpret_cast<const EvenOdd::U32*>(p + i * EvenOdd::kBytes);
      v.r[i] = (EvenOdd::F32)(words << 16);
      v.r[EvenOdd::kOdd + i] = (EvenOdd::F32)(words & 0xffff0000u);
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

// Columns of halfs, their even and odd rows apart.
template <std::size_t Columns>
struct EvenOddHalfs {
  alignas(64) std::uint16_t even[Columns][kLanes / 2], odd[Columns][kLanes / 2];
  LOOM_INLINE EvenOdd operator[](std::size_t col) const {
    EvenOdd v;
    for (std::size_t i = 0; i < EvenOdd::kOdd; ++i) {
      v.r[i] = floats_of(*reinterpret_cast<const EvenOdd::Halfs*>(even[col] + i * EvenOdd::kLanesOf));
      v.r[EvenOdd::kOdd + i] = floats_of(*reinterpret_cast<const EvenOdd::Halfs*>(odd[col] + i * EvenOdd::kLanesOf));
    }
    return v;
  }
};
// Four columns of bytes to halfs. Each byte is shifted right as the upper one of a word, its sign kept, of which the
// bits of kMask stay.
template <int kShift, int kMask>
LOOM_INLINE void widen_bytes(const std::byte* p, std::uint16_t* even, std::uint16_t* odd) {
  using Words [[gnu::vector_size(EvenOdd::kBytes), gnu::aligned(1), gnu::may_alias]] = std::int16_t;
  constexpr auto mask = static_cast<std::int16_t>(kMask);
  for (std::size_t i = 0; i < 4 * kLanes; i += EvenOdd::kBytes) {
    const Words words = *reinterpret_cast<const Words*>(p + i), upper = words << 8;
    *reinterpret_cast<Words*>(even + i / 2) = kShift == 0 ? upper : upper >> kShift & mask;
    *reinterpret_cast<Words*>(odd + i / 2) = words >> kShift & mask;
  }
}

// OCP E4M3 without its NaNs: bias 7, subnormals m/8 * 2^-6. Decoded values are 2^8 times smaller, as a half made of the
// code is: the exponent of a half has one bit more, and a bias that is greater by 8. No subnormal f32
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
  static LOOM_INLINE void widen4(const std::byte* p, std::uint16_t* even, std::uint16_t* odd) {
    widen_bytes<1, 0xbf80>(p, even, odd);
  }
};

// OCP E5M2 without infinities and NaNs: the upper byte of an f16.
struct Fp8E5M2Codec {
  using Number = float;
  static constexpr std::size_t kColumnBytes = 16;
  static constexpr bool kRowScale = true, kZeros = false, kWidens = kConvertsHalfs;
  static constexpr float kUnit = 1;
  static LOOM_INLINE F32x16 decode16(const std::byte* p) { return floats_of_bytes<8, 0xffff>(p); }
  static LOOM_INLINE void widen4(const std::byte* p, std::uint16_t* even, std::uint16_t* odd) {
    widen_bytes<0, 0xff00>(p, even, odd);
  }
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
