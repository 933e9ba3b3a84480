#pragma once
// Elementary functions in f32 as written sequences of + - * / sqrt, compares, integer operations and bit casts (numerics 3), so
// that every target and the GPU compute the same bits. At most 2 ulp from the true value over every input; the measured worst
// errors are in docs/math_errors.md. Common rules: a subnormal input counts as 0, a result below 2^-126 in size is +0 and no
// result is -0, NaN gives 0x7fc00000. No operation whose result would be subnormal can change a result bit (tested with FTZ+DAZ).
//
// Polynomials come from tools/fit_math.py. There is no fused multiply-add: where one rounding is too many, a value is kept as
// an unevaluated sum of two floats (Dekker 1971, Knuth's TwoSum).

#include "simd/simd.h"

namespace loom::inline LOOM_TARGET {

namespace detail {
inline constexpr float kInfinity = __builtin_huge_valf();
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;  // 15 bits: n * kLn2Hi is exact for |n| < 512
inline constexpr float kRoundShift = 12582912.0f;                        // 1.5 * 2^23: adding it rounds to an integer

LOOM_INLINE F32x16 quiet_nan() { return as_float(splat(std::int32_t{0x7fc00000})); }
LOOM_INLINE I32x16 sign_bit(const F32x16& x) { return bits(x) & splat(static_cast<std::int32_t>(0x80000000u)); }
LOOM_INLINE I32x16 magnitude_bits(const F32x16& x) { return bits(x) & splat(std::int32_t{0x7fffffff}); }
// By the bits: a compare of floats would see a subnormal as 0 or not, as the hardware is set.
LOOM_INLINE I32x16 is_tiny(const F32x16& x) { return magnitude_bits(x) < splat(std::int32_t{0x00800000}); }

// Horner: c0 + x * (c1 + x * (...)).
LOOM_INLINE F32x16 poly(const F32x16&, float c) { return splat(c); }
template <class... C>
LOOM_INLINE F32x16 poly(const F32x16& x, float c0, C... c) {
  return splat(c0) + x * poly(x, c...);
}

// x = n ln 2 + r with |r| <= 0.3466; shift holds n in its low bits. For |x| < 354.
struct ExpParts {
  F32x16 shift, r;
};
LOOM_INLINE ExpParts reduce_exp(const F32x16& x) {
  const F32x16 shift = x * splat(kLog2E) + splat(kRoundShift);
  const F32x16 n = shift - splat(kRoundShift);
  return {shift, (x - n * splat(kLn2Hi)) - n * splat(kLn2Lo)};
}
// (e^r - 1 - r) / r^2
LOOM_INLINE F32x16 exp_tail(const F32x16& r) {
  return poly(r, 0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.555858p-5f, 0x1.123de0p-7f, 0x1.6ac754p-10f);
}
// e^r = y + low, low being what the rounding of y lost.
struct Pair {
  F32x16 high, low;
};
LOOM_INLINE Pair exp_reduced(const F32x16& r) {
  const F32x16 sum = splat(1.0f) + r;
  const F32x16 rest = ((splat(1.0f) - sum) + r) + r * r * exp_tail(r);  // what sum lost is exact
  const F32x16 y = sum + rest;
  return {y, (sum - y) + rest};
}
// x * 2^n with n in the low bits of shift; the result must be normal.
LOOM_INLINE F32x16 scale(const F32x16& x, const F32x16& shift) { return as_float(bits(x) + shift_left(bits(shift), 23)); }
// e^x where e^x is neither above the largest float nor below 2^-126; elsewhere the bits mean nothing.
LOOM_INLINE F32x16 exp_in_range(const F32x16& x) {
  const ExpParts p = reduce_exp(x);
  return scale(exp_reduced(p.r).high, p.shift);
}
}  // namespace detail

// First and last argument of a finite exp at or above 2^-126.
inline constexpr float kExpLow = -0x1.5d589ep+6f, kExpHigh = 0x1.62e42ep+6f;

LOOM_INLINE F32x16 exp(const F32x16& x) {
  F32x16 y = detail::exp_in_range(x);
  y = select(x > splat(kExpHigh), splat(detail::kInfinity), y);
  y = select(x < splat(kExpLow), zero(), y);
  return select(x == x, y, detail::quiet_nan());
}

// 1 / (1 + e^-x), from e = e^-|x| on both sides so that neither loses its small end: 1 / (1 + e) or e / (1 + e).
LOOM_INLINE F32x16 sigmoid(const F32x16& x) {
  const F32x16 a = negate(abs(x));
  const detail::ExpParts p = detail::reduce_exp(max(a, splat(kExpLow)));
  const detail::Pair y = detail::exp_reduced(p.r);
  const F32x16 e = detail::scale(y.high, p.shift);
  const F32x16 d = splat(1.0f) + e;
  const I32x16 negative = x < zero();
  // The numerator takes over what d and y lost; its factors 1/d and 1/y may be coarse (within 9 % and 17 %).
  const F32x16 lost = select(negative, y.low * (splat(2.0f) - y.high), zero()) - ((splat(1.0f) - d) + e);
  const F32x16 numerator = select(negative, y.high, splat(1.0f));
  const F32x16 q = (numerator + numerator * (lost * (splat(1.457f) - splat(0.5f) * d))) / d;
  F32x16 s = select(negative, detail::scale(q, p.shift), q);
  s = select(x < splat(kExpLow), zero(), s);
  return select(x == x, s, detail::quiet_nan());
}

// Odd polynomial below 9/16; above, 1 - 2 / (e^2|x| + 1), which is 1 from 9.02 on.
LOOM_INLINE F32x16 tanh(const F32x16& x) {
  const F32x16 a = abs(x);
  const F32x16 z = a * a;
  const F32x16 small =
      a + a * (z * detail::poly(z, -0x1.555548p-2f, 0x1.110c5ep-3f, -0x1.b905c4p-5f, 0x1.5811f6p-6f, -0x1.9454f0p-8f));
  const F32x16 c = min(a, splat(10.0f));
  const F32x16 large = splat(1.0f) - splat(2.0f) / (detail::exp_in_range(c + c) + splat(1.0f));
  F32x16 y = select(a < splat(0.5625f), small, large);
  y = as_float((bits(y) | detail::sign_bit(x)) & ~detail::is_tiny(x));
  return select(x == x, y, detail::quiet_nan());
}

// 1 / sqrt(x); +infinity at both zeros, NaN below.
LOOM_INLINE F32x16 rsqrt(const F32x16& x) {
  F32x16 y = splat(1.0f) / sqrt(x);
  y = select(x >= zero(), y, detail::quiet_nan());
  return select(detail::is_tiny(x), splat(detail::kInfinity), y);
}

namespace detail {
// x = 2^e * m with m in [sqrt 1/2, sqrt 2), for a normal positive x.
struct LogParts {
  F32x16 e, m;
};
LOOM_INLINE LogParts reduce_log(const F32x16& x) {
  const I32x16 base = splat(std::int32_t{0x3f3504f3});
  const I32x16 k = bits(x) - base;
  return {to_float(shift_right(k, 23)), as_float((k & splat(std::int32_t{0x007fffff})) + base)};
}
// (log(1 + f) - f + f^2/2) / f^3 for 1 + f in [sqrt 1/2, sqrt 2]
LOOM_INLINE F32x16 log_tail(const F32x16& f) {
  return poly(f, 0x1.555554p-2f, -0x1.ffffd0p-3f, 0x1.999ab4p-3f, -0x1.5564d2p-3f, 0x1.2479d4p-3f, -0x1.fca01cp-4f, 0x1.c6369cp-4f,
              -0x1.bd2c20p-4f, 0x1.ac3ef6p-4f, -0x1.e6ac66p-5f);
}
// e ln 2 + f + low, added from the small end; |f| <= 0.42, low much smaller than f.
LOOM_INLINE F32x16 join_log(const F32x16& e, const F32x16& f, const F32x16& low) {
  const F32x16 high = e * splat(kLn2Hi);
  const F32x16 sum = high + f;
  return sum + (((high - sum) + f) + (low + e * splat(kLn2Lo)));  // |high| > |f| or high = 0: what sum lost is exact
}
}  // namespace detail

LOOM_INLINE F32x16 log(const F32x16& x) {
  const detail::LogParts p = detail::reduce_log(x);
  const F32x16 f = p.m - splat(1.0f);
  const F32x16 z = f * f;
  F32x16 y = detail::join_log(p.e, f, z * (f * detail::log_tail(f)) - splat(0.5f) * z);
  y = select(x < splat(detail::kInfinity), y, x);
  y = select(x > zero(), y, detail::quiet_nan());
  return select(detail::is_tiny(x), splat(-detail::kInfinity), y);
}

}  // namespace loom::inline LOOM_TARGET
