#pragma once
// Elementary functions in f32 as written sequences of + - * / sqrt, compares, integer operations and bit casts
// (numerics 3), so that every target and the GPU compute the same bits. At most 2 ulp from the true value over every
// input; the measured worst errors are in docs/internals/math_errors.md. Common rules: a subnormal input counts as 0, a
// result below 2^-126 in size is +0 and no result is -0, NaN gives 0x7fc00000. No operation whose result would be
// subnormal can change a result bit (tested with FTZ+DAZ).
//
// Polynomials come from tools/fit_math.py. There is no fused multiply-add: where one rounding is too many, a value is
// kept as an unevaluated sum of two floats (Dekker 1971, Knuth's TwoSum).

#include "simd/simd.h"

// Under a sanitizer every load and shift is checked: unfolded into each kernel they take minutes to compile.
// LOOM_MATH_CALLS is set for targets where the code of sixteen lanes is long beside a call.
#if defined(LOOM_SANITIZED) || defined(LOOM_MATH_CALLS)
#define LOOM_MATH inline __attribute__((noinline))
#else
#define LOOM_MATH LOOM_INLINE
#endif

namespace loom::inline LOOM_TARGET {

namespace detail {
inline constexpr float kInfinity = __builtin_huge_valf();
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2Hi = 0x1.62e4p-1f, kLn2Lo = 0x1.7f7d1cp-20f;  // 15 bits: n * kLn2Hi is exact for |n| < 512
inline constexpr float kRoundShift = 12582912.0f;                        // 1.5 * 2^23: adding it rounds to an integer

LOOM_INLINE F32x16 quiet_nan() { return as_float(splat(static_cast<std::int32_t>(kQuietNan))); }
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
LOOM_INLINE F32x16 scale(const F32x16& x, const F32x16& shift) {
  return as_float(bits(x) + shift_left(bits(shift), 23));
}
// e^x where e^x is neither above the largest float nor below 2^-126; elsewhere the bits mean nothing.
LOOM_INLINE F32x16 exp_in_range(const F32x16& x) {
  const ExpParts p = reduce_exp(x);
  return scale(exp_reduced(p.r).high, p.shift);
}
}  // namespace detail

// First and last argument of a finite exp at or above 2^-126.
inline constexpr float kExpLow = -0x1.5d589ep+6f, kExpHigh = 0x1.62e42ep+6f;

LOOM_MATH F32x16 exp(const F32x16& x) {
  F32x16 y = detail::exp_in_range(x);
  y = select(x > splat(kExpHigh), splat(detail::kInfinity), y);
  y = select(x < splat(kExpLow), zero(), y);
  return select(x == x, y, detail::quiet_nan());
}

// 1 / (1 + e^-x), from e = e^-|x| on both sides so that neither loses its small end: 1 / (1 + e) or e / (1 + e).
LOOM_MATH F32x16 sigmoid(const F32x16& x) {
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
LOOM_MATH F32x16 tanh(const F32x16& x) {
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
LOOM_MATH F32x16 rsqrt(const F32x16& x) {
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
  return poly(f, 0x1.555548p-2f, -0x1.000070p-2f, 0x1.99a540p-3f, -0x1.552f18p-3f, 0x1.23036cp-3f, -0x1.0103dap-3f,
              0x1.eff056p-4f, -0x1.bf29b0p-4f, 0x1.b5abbep-5f);
}
// e ln 2 + f + low, added from the small end; |f| <= 0.42, low much smaller than f.
LOOM_INLINE F32x16 join_log(const F32x16& e, const F32x16& f, const F32x16& low) {
  const F32x16 high = e * splat(kLn2Hi);
  const F32x16 sum = high + f;
  return sum + (((high - sum) + f) + (low + e * splat(kLn2Lo)));  // |high| > |f| or high = 0: what sum lost is exact
}
}  // namespace detail

LOOM_MATH F32x16 log(const F32x16& x) {
  const detail::LogParts p = detail::reduce_log(x);
  const F32x16 f = p.m - splat(1.0f);
  const F32x16 z = f * f;
  F32x16 y = detail::join_log(p.e, f, z * (f * detail::log_tail(f)) - splat(0.5f) * z);
  y = select(x < splat(detail::kInfinity), y, x);
  y = select(x > zero(), y, detail::quiet_nan());
  return select(detail::is_tiny(x), splat(-detail::kInfinity), y);
}

// e^x - 1; -1 from -17.4 down.
LOOM_MATH F32x16 expm1(const F32x16& x) {
  const F32x16 one = splat(1.0f);
  const F32x16 c = max(x, splat(-18.0f));
  const detail::ExpParts p = detail::reduce_exp(c);
  const F32x16 n = p.shift - splat(detail::kRoundShift);
  const F32x16 t = c - n * splat(detail::kLn2Hi);
  const F32x16 low = (t - p.r) - n * splat(detail::kLn2Lo);  // what the reduction lost
  // 2^n (e^r - 1 + 1 - 2^-n): the last two are exact up to n = 24, later 2^-n is too small to matter.
  const F32x16 inverse = as_float(splat(std::int32_t{0x3f800000}) - shift_left(bits(p.shift), 23));
  const F32x16 rest = one - select(n > splat(60.0f), zero(), inverse);
  const F32x16 sum = rest + p.r;  // |rest| > |r| or rest = 0
  const F32x16 y = sum + (((rest - sum) + p.r) + (low + p.r * p.r * detail::exp_tail(p.r)));
  F32x16 v = detail::scale(y, p.shift);
  v = select(x > splat(kExpHigh), splat(detail::kInfinity), v);
  v = select(detail::is_tiny(x) | (n == zero()), y, v);
  v = as_float(bits(v) & ~detail::is_tiny(x));
  return select(x == x, v, detail::quiet_nan());
}

// log(1 + x); -infinity at -1, NaN below.
LOOM_MATH F32x16 log1p(const F32x16& x) {
  const F32x16 one = splat(1.0f);
  const F32x16 u = one + x;
  const F32x16 back = u - one;
  const F32x16 lost = (one - (u - back)) + (x - back);  // TwoSum: u + lost = 1 + x
  const detail::LogParts p = detail::reduce_log(u);
  const I32x16 k = round_to_int(p.e);
  const I32x16 near = p.e == zero();
  const F32x16 down = as_float(splat(std::int32_t{0x3f800000}) - shift_left(k, 23));  // 2^-e
  const F32x16 f = select(near, x, p.m - one);
  const F32x16 c = select(near | (x > splat(0x1p60f)), zero(), lost * down / p.m);
  const F32x16 z = f * f;
  F32x16 y = detail::join_log(p.e, f, c + (z * (f * detail::log_tail(f)) - splat(0.5f) * z));
  y = select(x < splat(detail::kInfinity), y, x);
  y = select(x > splat(-1.0f), y, select(x == splat(-1.0f), splat(-detail::kInfinity), detail::quiet_nan()));
  return as_float(bits(y) & ~detail::is_tiny(x));
}

// Odd polynomial below 1; above, 1 - e^q(|x|) with q near log erfc, which is 1 from 3.84 on.
LOOM_MATH F32x16 erf(const F32x16& x) {
  const F32x16 a = abs(x);
  const F32x16 z = a * a;
  const F32x16 small = a + a * detail::poly(z, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2ce6p-4f, -0x1.b7f71ap-6f,
                                            0x1.53f224p-8f, -0x1.a3515ep-11f, 0x1.4771fep-14f);
  const F32x16 least = a * splat(0x1.20dd76p+0f);  // 2 / sqrt(pi); the polynomial's product could be subnormal
  const F32x16 q = detail::poly(min(a, splat(4.0f)), 0x1.8b3c94p-13f, -0x1.212c2cp+0f, -0x1.4434f6p-1f, -0x1.bc1890p-4f,
                                0x1.9d0b0ap-6f, -0x1.139790p-8f, 0x1.cee59ap-12f, -0x1.6bfe4ep-16f);
  F32x16 y = select(a < splat(1.0f), select(a < splat(0x1p-60f), least, small), splat(1.0f) - detail::exp_in_range(q));
  y = as_float((bits(y) | detail::sign_bit(x)) & ~detail::is_tiny(x));
  return select(x == x, y, detail::quiet_nan());
}

namespace detail {
// |x| = quadrant * pi/2 + high + low, |high| <= pi/4; the quadrant modulo 4.
struct Angle {
  F32x16 high, low;
  I32x16 quadrant;
};

struct Wide {
  std::uint32_t high, low;
};
// 32 x 32 -> 64 bits by halves of 16, as a shader must.
LOOM_INLINE Wide multiply_wide(std::uint32_t a, std::uint32_t b) {
  const std::uint32_t a0 = a & 0xffff, a1 = a >> 16, b0 = b & 0xffff, b1 = b >> 16;
  const std::uint32_t p00 = a0 * b0, p01 = a0 * b1, p10 = a1 * b0, p11 = a1 * b1;
  const std::uint32_t middle = (p00 >> 16) + (p01 & 0xffff) + (p10 & 0xffff);
  return {p11 + (p01 >> 16) + (p10 >> 16) + (middle >> 16), (middle << 16) | (p00 & 0xffff)};
}

struct LaneAngle {
  float high, low;
  std::int32_t quadrant;
};
// Payne and Hanek 1983, for a finite x >= 2^11: x = m * 2^k, and only the bits of 2/pi that reach below 4 after the
// product with m matter: 96 of them from the right place leave 70 bits after the point.
inline LaneAngle reduce_large_angle(float x) {
  // 32 zero bits, then 2/pi.
  constexpr std::uint32_t kTwoOverPi[9] = {0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0,
                                           0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561};
  const auto b = __builtin_bit_cast(std::uint32_t, x);
  const std::uint32_t m = (b & 0x007fffff) | 0x00800000;
  const std::uint32_t at = (b >> 23) - 120;  // k + 30, k = exponent - 150: the bit of the table that weighs 2
  const std::uint32_t word = at >> 5, shift = at & 31;
  std::uint32_t w[3];
  for (std::uint32_t i = 0; i < 3; ++i)
    w[i] = shift == 0 ? kTwoOverPi[word + i]
                      : (kTwoOverPi[word + i] << shift) | (kTwoOverPi[word + i + 1] >> (32 - shift));
  // m * w modulo 2^96: two bits of quadrant, then the fraction.
  const Wide p1 = multiply_wide(m, w[1]), p2 = multiply_wide(m, w[2]);
  const std::uint32_t r1 = p1.low + p2.high;
  const std::uint32_t r0 = m * w[0] + p1.high + (r1 < p1.low ? 1 : 0);
  std::uint32_t q = r0 >> 30;
  std::uint32_t f[3] = {(r0 << 2) | (r1 >> 30), (r1 << 2) | (p2.low >> 30), p2.low << 2};
  const bool above = (f[0] >> 31) != 0;  // nearer to the next quadrant: negate the fraction
  if (above) {
    q += 1;
    for (std::uint32_t& v : f) v = ~v;
    f[2] += 1;
    f[1] += f[2] == 0 ? 1 : 0;
    f[0] += f[1] == 0 && f[2] == 0 ? 1 : 0;
  }
  int zeros = 0;
  if (f[0] == 0) {
    f[0] = f[1], f[1] = f[2], f[2] = 0, zeros = 32;
  }
  while ((f[0] >> 31) == 0 && zeros < 64) {  // no f32 comes nearer to a multiple of pi/2 than about 2^-30
    f[0] = (f[0] << 1) | (f[1] >> 31), f[1] = (f[1] << 1) | (f[2] >> 31), f[2] <<= 1, ++zeros;
  }
  // fraction = 2^-zeros * (h1 * 2^-12 + h2 * 2^-24 + h3 * 2^-48), times pi/2 = A + B + C of 12, 12 and 24 bits.
  const auto whole = [](std::uint32_t v) { return static_cast<float>(static_cast<std::int32_t>(v)); };
  const float h1 = whole(f[0] >> 20) * 0x1p-12f, h2 = whole((f[0] >> 8) & 0xfff) * 0x1p-24f;
  const float h3 = whole(((f[0] & 0xff) << 16) | (f[1] >> 16)) * 0x1p-48f;
  constexpr float kA = 0x1.92p+0f, kB = 0x1.fb4p-12f, kC = 0x1.4442d2p-24f;
  const float main = h1 * kA, rest = (h1 * kB + h2 * kA) + (h1 * kC + h2 * kB + h3 * kA);
  const float high = main + rest, low = (main - high) + rest;
  const auto size = __builtin_bit_cast(float, static_cast<std::uint32_t>(127 - zeros) << 23) * (above ? -1.0f : 1.0f);
  return {high * size, low * size, static_cast<std::int32_t>(q & 3)};
}

inline constexpr float kLargeAngle = 2048.0f;
inline __attribute__((noinline)) void reduce_large_angles(const F32x16& a, Angle& angle) {
  float x[kLanes], high[kLanes], low[kLanes];
  std::int32_t quadrant[kLanes];
  store(x, a), store(high, angle.high), store(low, angle.low), store(quadrant, angle.quadrant);
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (!(x[i] >= kLargeAngle && x[i] < kInfinity)) continue;
    const LaneAngle lane = reduce_large_angle(x[i]);
    high[i] = lane.high, low[i] = lane.low, quadrant[i] = lane.quadrant;
  }
  angle = {load(high), load(low), load(quadrant)};
}

LOOM_INLINE Angle reduce_angle(const F32x16& a) {
  const F32x16 shift = a * splat(0x1.45f306p-1f) + splat(kRoundShift);
  const F32x16 n = shift - splat(kRoundShift);
  // Parts of pi/2 of 12 bits: the products with n <= 2^11 and the first two differences are exact.
  const F32x16 t = (a - n * splat(0x1.92p+0f)) - n * splat(0x1.fb4p-12f);
  const F32x16 third = n * splat(0x1.444p-24f);
  const F32x16 high = t - third;
  Angle angle = {high, ((t - high) - third) - n * splat(0x1.68c234p-39f), bits(shift)};
  if (any(a >= splat(kLargeAngle))) reduce_large_angles(a, angle);
  return angle;
}

// sin(high + low) or, in odd quadrants, the cosine; negated in the quadrants 2 and 3.
LOOM_INLINE F32x16 sine_of(const Angle& angle, const I32x16& quadrant) {
  const F32x16 h = angle.high, z = h * h, one = splat(1.0f);
  const F32x16 sine =
      h + (h * z * poly(z, -0x1.555556p-3f, 0x1.111174p-7f, -0x1.a05954p-13f, 0x1.7c2c4ep-19f) + angle.low);
  const F32x16 half = splat(0.5f) * z;
  const F32x16 sum = one - half;
  const F32x16 cosine = sum + (((one - sum) - half) +
                               (z * z * poly(z, 0x1.55554ap-5f, -0x1.6c0c28p-10f, 0x1.99e80cp-16f) - h * angle.low));
  const I32x16 odd = (quadrant & splat(std::int32_t{1})) != zero_i();
  return as_float(bits(select(odd, cosine, sine)) ^ shift_left(quadrant & splat(std::int32_t{2}), 30));
}
}  // namespace detail

// Any finite argument is reduced exactly; NaN for infinities.
LOOM_MATH F32x16 sin(const F32x16& x) {
  const F32x16 a = abs(x);
  const detail::Angle angle = detail::reduce_angle(a);
  const F32x16 y = as_float((bits(detail::sine_of(angle, angle.quadrant)) ^ detail::sign_bit(x)) & ~detail::is_tiny(x));
  return select(a < splat(detail::kInfinity), y, detail::quiet_nan());
}
LOOM_MATH F32x16 cos(const F32x16& x) {
  const F32x16 a = abs(x);
  const detail::Angle angle = detail::reduce_angle(a);
  const F32x16 y = detail::sine_of(angle, angle.quadrant + splat(std::int32_t{1}));
  return select(a < splat(detail::kInfinity), y, detail::quiet_nan());
}

namespace detail {
// The upper 12 bits of the significand: products of two such halves are exact.
LOOM_INLINE F32x16 upper_half(const F32x16& x) {
  return as_float(bits(x) & splat(static_cast<std::int32_t>(0xfffff000u)));
}
// a * b = high + low exactly (Dekker), while low is normal.
LOOM_INLINE Pair multiply_exactly(const F32x16& a, const F32x16& b) {
  const F32x16 a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  const F32x16 high = a * b;
  return {high, (((a1 * b1 - high) + a1 * b2) + a2 * b1) + a2 * b2};
}
// a + b = high + low exactly for |a| >= |b| or a = 0.
LOOM_INLINE Pair add_exactly(const F32x16& a, const F32x16& b) {
  const F32x16 high = a + b;
  return {high, (a - high) + b};
}

// log2 of a normal positive x to about 2^-36 of its size: with s = f / (2 + f), log2(1 + f) = s (c1 + c3 s^2 + c5 s^4 +
// ...).
LOOM_INLINE Pair log2_pair(const F32x16& x) {
  const LogParts p = reduce_log(x);
  const F32x16 f = p.m - splat(1.0f);
  const Pair d = add_exactly(splat(2.0f), f);
  const F32x16 s = f / d.high;
  const Pair back = multiply_exactly(s, d.high);
  const F32x16 s_low = (((f - back.high) - back.low) - s * d.low) / d.high;

  const Pair square = multiply_exactly(s, s);
  const F32x16 z = square.high, z_low = square.low + splat(2.0f) * s * s_low;
  constexpr float kC1 = 0x1.715476p+1f, kC1Low = 0x1.4ae0c0p-25f, kC3 = 0x1.ec709ep-1f, kC3Low = -0x1.e2fe02p-28f;
  const Pair cubic = multiply_exactly(splat(kC3), z);
  const F32x16 tail = z * z * poly(z, 0x1.277710p-1f, 0x1.a5ba70p-2f, 0x1.5a1228p-2f);
  const Pair factor = add_exactly(splat(kC1), cubic.high);
  const F32x16 factor_low = factor.low + (cubic.low + (splat(kC1Low) + splat(kC3) * z_low + splat(kC3Low) * z + tail));

  const Pair product = multiply_exactly(s, factor.high);
  const Pair sum = add_exactly(p.e, product.high);
  return add_exactly(sum.high, sum.low + (product.low + (s * factor_low + s_low * factor.high)));
}

// 1 where y is an odd integer, 2 where it is an even one (and for infinities), 0 elsewhere.
LOOM_INLINE I32x16 integer_kind(const F32x16& y) {
  const F32x16 a = abs(y), shifted = a + splat(8388608.0f);
  const I32x16 one = splat(std::int32_t{1}), two = splat(std::int32_t{2});
  const I32x16 small = select(shifted - splat(8388608.0f) == a, two - (bits(shifted) & one), zero_i());
  const I32x16 large = select(a < splat(16777216.0f), two - (bits(a) & one), two);
  return select(a < splat(8388608.0f), small, large);
}
}  // namespace detail

// x^y with the special cases of IEEE 754 pow, but no negative zero comes out.
LOOM_MATH F32x16 pow(const F32x16& x, const F32x16& y) {
  const F32x16 infinity = splat(detail::kInfinity), one = splat(1.0f);
  const F32x16 a = abs(x);
  const I32x16 x_zero = detail::is_tiny(x), y_zero = detail::is_tiny(y), x_infinite = a == infinity;
  const I32x16 kind = detail::integer_kind(y);
  const detail::Pair log2 = detail::log2_pair(select(x_zero | x_infinite, one, a));

  // p = y log2 |x|; lanes far outside the range take 0 and are settled below. log2 is 0 or at
  // least 2^-24 in size, so what the exact product loses to subnormals is too small to matter.
  const F32x16 coarse = y * select(x_zero, negate(infinity), select(x_infinite, infinity, log2.high));
  const I32x16 inside = abs(coarse) < splat(200.0f);
  const F32x16 factor = select(inside, y, zero());
  const detail::Pair product = detail::multiply_exactly(factor, log2.high);
  const F32x16 shift = product.high + splat(detail::kRoundShift);
  const F32x16 r = product.high - (shift - splat(detail::kRoundShift));
  // t = r ln 2: 2^r = e^t, the first product exact.
  const F32x16 r1 = detail::upper_half(r);
  const F32x16 main = r1 * splat(0x1.62ep-1f);
  const F32x16 rest =
      r1 * splat(0x1.0bfbe8p-15f) + ((r - r1) + (product.low + factor * log2.low)) * splat(0x1.62e430p-1f);
  const F32x16 t = main + rest, t_low = (main - t) + rest;
  const detail::Pair sum = detail::add_exactly(one, t);
  const F32x16 e = sum.high + (sum.low + (t_low + t * t * detail::exp_tail(t)));
  const I32x16 exponent = shift_right(bits(e), 23) + (bits(shift) - splat(std::int32_t{0x4b400000}));

  F32x16 v = detail::scale(e, shift);
  v = select((coarse >= splat(200.0f)) | (inside & (exponent > splat(std::int32_t{254}))), infinity, v);
  v = select((coarse <= splat(-200.0f)) | (inside & (exponent < splat(std::int32_t{1}))), zero(), v);
  const I32x16 negative = detail::sign_bit(x) & (kind == splat(std::int32_t{1})) & (v != zero());
  v = as_float(bits(v) | negative);
  const I32x16 no_root = (x < zero()) & ~x_zero & ~x_infinite & (kind == zero_i());
  v = select((x == x) & (y == y) & ~no_root, v, detail::quiet_nan());
  return select(y_zero | (x == one) | ((x == splat(-1.0f)) & (abs(y) == infinity)), one, v);
}

// One number: lane 0 of the same sequence, so the same bits.
#define LOOM_SCALAR_FORM(name) \
  LOOM_INLINE float name(float x) { return first_lane(name(splat(x))); }
LOOM_SCALAR_FORM(exp)
LOOM_SCALAR_FORM(expm1)
LOOM_SCALAR_FORM(log)
LOOM_SCALAR_FORM(log1p)
LOOM_SCALAR_FORM(tanh)
LOOM_SCALAR_FORM(sigmoid)
LOOM_SCALAR_FORM(erf)
LOOM_SCALAR_FORM(sin)
LOOM_SCALAR_FORM(cos)
LOOM_SCALAR_FORM(rsqrt)
#undef LOOM_SCALAR_FORM
LOOM_INLINE float pow(float x, float y) { return first_lane(pow(splat(x), splat(y))); }

}  // namespace loom::inline LOOM_TARGET
