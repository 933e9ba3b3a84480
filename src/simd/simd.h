#pragma once
// Logical vectors: sixteen f32 or i32 lanes on every target, held in one, two, four or sixteen registers. Lane i of
// every operation gives the same bits everywhere. Built on the compilers' vector extensions; targets.inc says how wide
// a target's registers are.
//
// Included by kernels only: everything lives in an inline namespace named after the target, so that objects compiled
// with different instruction sets can be linked together. For the same reason, neither this header nor kernels use std
// containers or algorithms.

#include "simd/orders.h"

namespace loom::inline LOOM_TARGET {

inline constexpr std::size_t kRegisterBytes = LOOM_REGISTER_BYTES;
inline constexpr std::size_t kRegisterLanes = kRegisterBytes / 4;
inline constexpr std::size_t kRegisters = kLanes / kRegisterLanes;

namespace native {
using F32 [[gnu::vector_size(kRegisterBytes), gnu::may_alias]] = float;
using I32 [[gnu::vector_size(kRegisterBytes), gnu::may_alias]] = std::int32_t;
using U32 [[gnu::vector_size(kRegisterBytes), gnu::may_alias]] = std::uint32_t;
using Halfs [[gnu::vector_size(kRegisterBytes / 2), gnu::may_alias]] = std::uint16_t;           // a lane each
using F32Memory [[gnu::vector_size(kRegisterBytes), gnu::may_alias, gnu::aligned(4)]] = float;  // at any address
using I32Memory [[gnu::vector_size(kRegisterBytes), gnu::may_alias, gnu::aligned(4)]] = std::int32_t;
}  // namespace native

struct F32x16 {
  native::F32 r[kRegisters];
};
struct I32x16 {  // also masks: all bits of a lane set or clear
  native::I32 r[kRegisters];
};

namespace detail {
template <class Out, class F, class... A>
LOOM_INLINE Out each(F f, const A&... a) {
  Out out;
  for (std::size_t i = 0; i < kRegisters; ++i) out.r[i] = f(a.r[i]...);
  return out;
}
}  // namespace detail

// Memory at any address: sixteen elements.
LOOM_INLINE F32x16 load(const float* p) {
  F32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i)
    v.r[i] = *reinterpret_cast<const native::F32Memory*>(p + i * kRegisterLanes);
  return v;
}
LOOM_INLINE void store(float* p, const F32x16& v) {
  for (std::size_t i = 0; i < kRegisters; ++i) *reinterpret_cast<native::F32Memory*>(p + i * kRegisterLanes) = v.r[i];
}
LOOM_INLINE I32x16 load(const std::int32_t* p) {
  I32x16 v;
  for (std::size_t i = 0; i < kRegisters; ++i)
    v.r[i] = *reinterpret_cast<const native::I32Memory*>(p + i * kRegisterLanes);
  return v;
}
LOOM_INLINE void store(std::int32_t* p, const I32x16& v) {
  for (std::size_t i = 0; i < kRegisters; ++i) *reinterpret_cast<native::I32Memory*>(p + i * kRegisterLanes) = v.r[i];
}

LOOM_INLINE F32x16 splat(float x) {
  F32x16 v;
  for (auto& r : v.r) r = x - native::F32{};  // x - 0 is x, the sign of zero included; a signalling NaN may turn quiet
  return v;
}
LOOM_INLINE I32x16 splat(std::int32_t x) {
  I32x16 v;
  for (auto& r : v.r) r = x - native::I32{};
  return v;
}
LOOM_INLINE F32x16 zero() {
  F32x16 v;
  for (auto& r : v.r) r = native::F32{};
  return v;
}
LOOM_INLINE I32x16 zero_i() {
  I32x16 v;
  for (auto& r : v.r) r = native::I32{};
  return v;
}

#define LOOM_LANE_OPERATOR(T, op)                                        \
  LOOM_INLINE T operator op(const T& a, const T& b) {                    \
    return detail::each<T>([](auto x, auto y) { return x op y; }, a, b); \
  }
LOOM_LANE_OPERATOR(F32x16, +)
LOOM_LANE_OPERATOR(F32x16, -)
LOOM_LANE_OPERATOR(F32x16, *)
LOOM_LANE_OPERATOR(F32x16, /)
LOOM_LANE_OPERATOR(I32x16, &)
LOOM_LANE_OPERATOR(I32x16, |)
LOOM_LANE_OPERATOR(I32x16, ^)
#undef LOOM_LANE_OPERATOR

// Through unsigned lanes: wraps modulo 2^32, which signed lanes need not.
#define LOOM_LANE_WRAPPING(op)                                                                                         \
  LOOM_INLINE I32x16 operator op(const I32x16& a, const I32x16& b) {                                                   \
    return detail::each<I32x16>([](auto x, auto y) { return (native::I32)((native::U32)x op(native::U32) y); }, a, b); \
  }
LOOM_LANE_WRAPPING(+)
LOOM_LANE_WRAPPING(-)
LOOM_LANE_WRAPPING(*)
#undef LOOM_LANE_WRAPPING

#define LOOM_LANE_COMPARE(T, op)                                                             \
  LOOM_INLINE I32x16 operator op(const T& a, const T& b) {                                   \
    return detail::each<I32x16>([](auto x, auto y) { return (native::I32)(x op y); }, a, b); \
  }
LOOM_LANE_COMPARE(F32x16, <)
LOOM_LANE_COMPARE(F32x16, <=)
LOOM_LANE_COMPARE(F32x16, >)
LOOM_LANE_COMPARE(F32x16, >=)
LOOM_LANE_COMPARE(F32x16, ==)
LOOM_LANE_COMPARE(F32x16, !=)
LOOM_LANE_COMPARE(I32x16, <)
LOOM_LANE_COMPARE(I32x16, >)
LOOM_LANE_COMPARE(I32x16, ==)
LOOM_LANE_COMPARE(I32x16, !=)
#undef LOOM_LANE_COMPARE

LOOM_INLINE I32x16 operator~(const I32x16& a) {
  return detail::each<I32x16>([](auto x) { return ~x; }, a);
}

// Bit casts, shifts by a constant (right shifts of I32 are arithmetic), conversions.
LOOM_INLINE I32x16 bits(const F32x16& a) {
  return detail::each<I32x16>([](auto x) { return (native::I32)x; }, a);
}
LOOM_INLINE F32x16 as_float(const I32x16& a) {
  return detail::each<F32x16>([](auto x) { return (native::F32)x; }, a);
}
LOOM_INLINE I32x16 shift_left(const I32x16& a, int n) {
  return detail::each<I32x16>([n](auto x) { return x << n; }, a);
}
LOOM_INLINE I32x16 shift_right(const I32x16& a, int n) {
  return detail::each<I32x16>([n](auto x) { return x >> n; }, a);
}
LOOM_INLINE I32x16 shift_right_logical(const I32x16& a, int n) {
  return detail::each<I32x16>([n](auto x) { return (native::I32)((native::U32)x >> n); }, a);
}
// Nearest even, as every target's conversion of an i32 does.
LOOM_INLINE F32x16 to_float(const I32x16& a) {
  return detail::each<F32x16>([](auto x) { return __builtin_convertvector(x, native::F32); }, a);
}
// Nearest even for |x| <= 2^22; other values are undefined.
LOOM_INLINE I32x16 round_to_int(const F32x16& a) {
  return bits(a + splat(12582912.0f)) - splat(std::int32_t{0x4b400000});
}

// m ? a : b per lane; m from a comparison.
LOOM_INLINE F32x16 select(const I32x16& m, const F32x16& a, const F32x16& b) {
  return detail::each<F32x16>([](auto mm, auto x, auto y) { return mm ? x : y; }, m, a, b);
}
LOOM_INLINE I32x16 select(const I32x16& m, const I32x16& a, const I32x16& b) {
  return detail::each<I32x16>([](auto mm, auto x, auto y) { return mm ? x : y; }, m, a, b);
}

LOOM_INLINE bool any(const I32x16& m) {
  std::int32_t a[kLanes], found = 0;
  store(a, m);
  for (const std::int32_t lane : a) found |= lane;
  return found != 0;
}

// Compare and select; the second operand where the comparison fails, so a NaN in `a` loses.
LOOM_INLINE F32x16 min(const F32x16& a, const F32x16& b) { return select(a < b, a, b); }
LOOM_INLINE F32x16 max(const F32x16& a, const F32x16& b) { return select(a > b, a, b); }
LOOM_INLINE F32x16 abs(const F32x16& a) { return as_float(bits(a) & splat(std::int32_t{0x7fffffff})); }
LOOM_INLINE F32x16 negate(const F32x16& a) { return as_float(bits(a) ^ splat(static_cast<std::int32_t>(0x80000000u))); }
// Masks, by the bits (ops/non_finite.h).
LOOM_INLINE I32x16 is_nan(const F32x16& a) { return bits(abs(a)) > splat(std::int32_t{0x7f800000}); }
LOOM_INLINE I32x16 is_finite(const F32x16& a) { return bits(abs(a)) < splat(std::int32_t{0x7f800000}); }
LOOM_INLINE F32x16 sqrt(const F32x16& a) {
  return detail::each<F32x16>(
      [](native::F32 x) {
        for (std::size_t i = 0; i < kRegisterLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
        return x;
      },
      a);
}

// f16 codes, one to a lane, to f32: exact, and without a subnormal on the way, so a host that flushes gets the same
// bits. Infinities and NaNs do not stand in weights and decode to large finite values.
LOOM_INLINE native::F32 half_to_float(native::I32 h) {
  const native::I32 magnitude = h & 0x7fff;
  const native::F32 small = __builtin_convertvector(magnitude, native::F32) * 0x1p-24f;
  const native::I32 normal = (magnitude << 13) + (112 << 23);
  const native::I32 value = magnitude < 0x400 ? (native::I32)small : normal;
  return (native::F32)(value | (h & 0x8000) << 16);
}

// OCP E2M1: 0 .5 1 1.5 2 3 4 6 and their negatives.
inline constexpr float kFp4Values[16] = {0, .5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -.5f, -1, -1.5f, -2, -3, -4, -6};
LOOM_INLINE native::F32 fp4_by_bits(native::I32 codes) {
  const native::I32 magnitude = codes & 7;
  const native::F32 small = __builtin_convertvector(magnitude, native::F32) * 0.5f;
  const native::I32 normal = (magnitude << 22) + (126 << 23);
  const native::I32 value = magnitude < 2 ? (native::I32)small : normal;
  return (native::F32)(value | (codes & 8) << 28);
}

// Sixteen lanes are snapped and folded as orders.h does it with one number and with an array.
LOOM_INLINE F32x16 snap(const F32x16& a) {
  const F32x16 kept = as_float(bits(a) & ~(abs(a) < splat(kSnap)));
  return select(a == a, kept, as_float(splat(static_cast<std::int32_t>(kQuietNan))));
}
LOOM_INLINE float fold(const F32x16& v) {
  using Eight [[gnu::vector_size(32), gnu::may_alias]] = float;
  alignas(64) float a[kLanes];
  store(a, v);
  const Eight sum = *reinterpret_cast<const Eight*>(a) + *reinterpret_cast<const Eight*>(a + 8);
  const auto four = __builtin_shufflevector(sum, sum, 0, 1, 2, 3) + __builtin_shufflevector(sum, sum, 4, 5, 6, 7);
  const auto two = four + __builtin_shufflevector(four, four, 2, 3, 2, 3);
  return two[0] + two[1];
}
// A NaN loses, as in max; -infinity where every lane is NaN.
LOOM_INLINE float max_lane(const F32x16& v) {
  alignas(64) float a[kLanes];
  store(a, v);
  float m = -__builtin_huge_valf();
  for (std::size_t j = 0; j < kLanes; ++j) m = a[j] > m ? a[j] : m;
  return m;
}
LOOM_INLINE float first_lane(const F32x16& v) { return v.r[0][0]; }

}  // namespace loom::inline LOOM_TARGET
