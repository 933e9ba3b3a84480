#include "simd/math64.h"

#include <bit>
#include <cstdint>

// The methods are those of math.h, where they are explained; polynomials from tools/fit_math.py.

namespace loom {
namespace {

constexpr double kInfinity = __builtin_huge_val();
constexpr double kNan = std::bit_cast<double>(0x7ff8000000000000ull);
constexpr double kRoundShift = 0x1.8p+52;  // adding it rounds to an integer

std::uint64_t bits(double x) { return std::bit_cast<std::uint64_t>(x); }
double absolute(double x) { return std::bit_cast<double>(bits(x) & 0x7fffffffffffffffull); }
// A subnormal counts as 0; decided by the bits, so that DAZ does not matter.
bool is_tiny(double x) { return bits(absolute(x)) < 0x0010000000000000ull; }
// -1022 <= e <= 1023
double power_of_two(int e) { return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }

double poly(double, double c) { return c; }
template <class... C>
double poly(double x, double c0, C... c) {
  return c0 + x * poly(x, c...);
}

struct Pair {  // an unevaluated sum
  double high, low;
};
Pair add_exactly(double a, double b) {  // |a| >= |b| or a = 0
  const double high = a + b;
  return {high, (a - high) + b};
}
double upper_half(double x) { return std::bit_cast<double>(bits(x) & 0xfffffffff8000000ull); }
Pair multiply_exactly(double a, double b) {
  const double a1 = upper_half(a), a2 = a - a1, b1 = upper_half(b), b2 = b - b1;
  const double high = a * b;
  return {high, (((a1 * b1 - high) + a1 * b2) + a2 * b1) + a2 * b2};
}

// (a.high + a.low) / (b.high + b.low) to about 2^-100; the low parts are far below the high ones.
Pair divide(Pair a, Pair b) {
  const double q = a.high / b.high;
  const Pair back = multiply_exactly(q, b.high);
  return {q, (((a.high - back.high) - back.low) + (a.low - q * b.low)) / b.high};
}
// y * 2^n for a normal y: 0 below 2^-1022; infinity above the largest double, which only positive values reach.
double scale(double y, std::int64_t n) {
  const auto exponent = static_cast<std::int64_t>((bits(y) >> 52) & 0x7ff) + n;
  if (exponent > 2046) return kInfinity;
  if (exponent < 1) return 0;
  return std::bit_cast<double>((bits(y) & 0x800fffffffffffffull) | (static_cast<std::uint64_t>(exponent) << 52));
}

struct Exponent {  // x + low = n ln 2 + r + lost with |r| <= 0.3466
  double r, lost;
  std::int64_t n;
};
Exponent reduce_exp(double x, double low) {  // |x| < 800
  const double shift = x * 0x1.71547652b82fep+0 + kRoundShift;
  const double n = shift - kRoundShift;
  const double t = x - n * 0x1.62e42fefa2p-1;  // 40 bits of ln 2: exact
  const double rest = low - n * 0x1.9ef35793c7673p-41;
  const double r = t + rest;
  return {r, (t - r) + rest, static_cast<std::int64_t>(n)};
}
// e^(r + lost) - 1 + rest for a rest of 0 or above |r| in size: e^(x + low) / 2^n for rest = 1.
Pair exp_reduced(const Exponent& p, double rest) {
  const double tail = poly(p.r, 0.5, 0x1.555555555555dp-3, 0x1.555555555556cp-5, 0x1.111111110e54bp-7,
                           0x1.6c16c16c0a434p-10, 0x1.a01a01b5f388ap-13, 0x1.a01a01e89a8b4p-16, 0x1.71ddeab001984p-19,
                           0x1.27e44aa2c73abp-22, 0x1.af7442105fef7p-26, 0x1.205063d6172ebp-29);
  const Pair sum = add_exactly(rest, p.r);
  return add_exactly(sum.high, sum.low + (p.lost + p.r * p.r * tail));
}
double exp_pair(double x, double low) {  // e^(x + low)
  const Exponent p = reduce_exp(x, low);
  return scale(exp_reduced(p, 1.0).high, p.n);
}
// e^x - 1 = 2^n (e^r - 1 + 1 - 2^-n): the last two are exact up to n = 53, later 2^-n is too small to matter. Not for n
// < -60.
Pair expm1_reduced(const Exponent& p) {
  return exp_reduced(p, p.n > 60 ? 1.0 : 1.0 - power_of_two(static_cast<int>(-p.n)));
}

// log of a normal positive x to 2^-61 of its size (measured: 2^-61.8, where f is largest); pow multiplies that by up to
// 710.
Pair log_pair(double x) {
  constexpr std::uint64_t base = 0x3fe6a09e667f3bcdull;  // sqrt 1/2
  const auto k = static_cast<std::int64_t>(bits(x) - base);
  const auto e = static_cast<double>(k >> 52);
  const double f = std::bit_cast<double>((static_cast<std::uint64_t>(k) & 0x000fffffffffffffull) + base) - 1.0;
  const Pair d = add_exactly(2.0, f);
  const auto [s, s_low] = divide({f, 0}, d);

  const Pair square = multiply_exactly(s, s);
  const double z = square.high, z_low = square.low + 2.0 * s * s_low;
  constexpr double kThird = 0x1.5555555555555p-1, kThirdLow = 0x1.5555555555555p-55;  // 2/3
  const Pair cubic = multiply_exactly(kThird, z);
  const double tail = z * z *
                      poly(z, 0x1.9999999999995p-2, 0x1.2492492493192p-2, 0x1.c71c71c557425p-3, 0x1.745d1845e6750p-3,
                           0x1.3b135d885f3abp-3, 0x1.11217b5cc4dfep-3, 0x1.de14520cab3e1p-4, 0x1.ec124e56d2225p-4);
  const Pair factor = add_exactly(2.0, cubic.high);
  const double factor_low = factor.low + (cubic.low + (kThird * z_low + kThirdLow * z + tail));
  const Pair product = multiply_exactly(s, factor.high);
  const double product_low = product.low + (s * factor_low + s_low * factor.high);

  const Pair ln2 = multiply_exactly(e, 0x1.9ef35793c7673p-41);
  const Pair upper = add_exactly(e * 0x1.62e42fefa2p-1, product.high);  // the product by e is exact
  const double low = upper.low + (ln2.low + e * 0x1.f97b57a079a19p-103 + product_low);
  // |e| > 0: larger than low but for a few bits, which joined.low may lose
  const Pair joined = add_exactly(ln2.high, low);
  const Pair sum = add_exactly(upper.high, joined.high);
  return add_exactly(sum.high, sum.low + joined.low);
}

struct Angle {  // |x| = quadrant * pi/2 + high + low
  double high, low;
  std::uint64_t quadrant;
};

constexpr std::uint32_t kTwoOverPi[40] = {  // 64 zero bits, then 2/pi
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041,
    0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e,
    0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b,
    0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d,
    0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab};

// Payne-Hanek for x >= 2^20: x = m * 2^k; 192 bits of 2/pi from the bit on that weighs 2 after the product with 2^k.
Angle reduce_large(double x) {
  const std::uint64_t m = (bits(x) & 0x000fffffffffffffull) | 0x0010000000000000ull;
  const auto at = static_cast<std::uint32_t>((bits(x) >> 52) - 1075 + 62);  // k + 62
  const std::uint32_t word = at >> 5, shift = at & 31;
  std::uint32_t w[6];
  for (std::uint32_t i = 0; i < 6; ++i)
    w[i] = static_cast<std::uint32_t>(
        ((std::uint64_t{kTwoOverPi[word + i]} << 32 | kTwoOverPi[word + i + 1]) >> (32 - shift)));
  // f = m * w modulo 2^192, most significant word first.
  std::uint32_t f[6] = {};
  for (int part = 0; part < 2; ++part) {
    const std::uint64_t factor = part == 0 ? m & 0xffffffff : m >> 32;
    std::uint64_t carry = 0;
    for (int i = 5; i - part >= 0; --i) {
      carry += factor * w[i] + f[i - part];  // below 2^64: (2^32 - 1)^2 + 2 (2^32 - 1)
      f[i - part] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  std::uint64_t q = f[0] >> 30;
  const auto shift_left = [&f](int n) {
    for (int i = 0; i < 6; ++i) f[i] = (f[i] << n) | (i < 5 ? f[i + 1] >> (32 - n) : 0);
  };
  shift_left(2);
  const bool above = (f[0] >> 31) != 0;  // nearer to the next quadrant: negate the fraction
  if (above) {
    q += 1;
    std::uint64_t carry = 1;
    for (int i = 5; i >= 0; --i) {
      carry += static_cast<std::uint32_t>(~f[i]);
      f[i] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
  }
  int zeros = 0;
  for (; (f[0] >> 31) == 0 && zeros < 128; ++zeros) shift_left(1);
  // fraction = 2^-zeros * (h1 * 2^-26 + h2 * 2^-52 + h3 * 2^-104), times pi/2 = A + B + C of 26, 26 and 53 bits.
  const std::uint64_t g = std::uint64_t{f[0]} << 32 | f[1], rest = std::uint64_t{f[2]} << 32 | f[3];
  const double h1 = static_cast<double>(g >> 38) * 0x1p-26, h2 = static_cast<double>((g >> 12) & 0x3ffffff) * 0x1p-52;
  const double h3 = static_cast<double>((g & 0xfff) << 40 | rest >> 24) * 0x1p-104;
  constexpr double kA = 0x1.921fb5p+0, kB = 0x1.110b46p-26, kC = 0x1.1a62633145c07p-54;
  const Pair sum = add_exactly(h1 * kA, (h1 * kB + h2 * kA) + (h1 * kC + h2 * kB + h3 * kA));
  const double size = power_of_two(-zeros) * (above ? -1.0 : 1.0);
  return {sum.high * size, sum.low * size, q};
}

Angle reduce(double a) {
  if (a >= 0x1p20) return reduce_large(a);
  const double shift = a * 0x1.45f306dc9c883p-1 + kRoundShift;
  const double n = shift - kRoundShift;
  // Parts of pi/2 of 26 bits: the products with n < 2^20 and the first two differences are exact.
  const double t = (a - n * 0x1.921fb5p+0) - n * 0x1.110b46p-26;
  const double third = n * 0x1.1a6263p-54;
  const double high = t - third;
  return {high, ((t - high) - third) - n * 0x1.8a2e03707344ap-81, bits(shift)};
}

double sine_of(const Angle& angle, std::uint64_t quadrant) {
  const double h = angle.high, z = h * h;
  double y;
  if ((quadrant & 1) == 0) {
    y = h + (h * z *
                 poly(z, -0x1.5555555555555p-3, 0x1.1111111111068p-7, -0x1.a01a019ffe08bp-13, 0x1.71de3a332c1f1p-19,
                      -0x1.ae642b9913121p-26, 0x1.610939efb8ccep-33, -0x1.9fb6620318f00p-41) +
             angle.low);
  } else {
    const double half = 0.5 * z;
    const Pair sum = add_exactly(1.0, -half);
    y = sum.high + (sum.low + (z * z *
                                   poly(z, 0x1.555555555554bp-5, -0x1.6c16c16c15015p-10, 0x1.a01a019c8f25cp-16,
                                        -0x1.27e4f7f1920bdp-22, 0x1.1ee9dbcfbce7dp-29, -0x1.8fa685046614fp-37) -
                               h * angle.low));
  }
  return (quadrant & 2) != 0 ? -y : y;
}

bool is_integer(double a) { return a >= 0x1p52 || (a + 0x1p52) - 0x1p52 == a; }  // for a >= 0
bool is_odd(double a) {                                                          // of an integer
  if (a >= 0x1p53) return false;
  return (bits(a >= 0x1p52 ? a : a + 0x1p52) & 1) != 0;
}

}  // namespace

double exp64(double x) {
  if (x != x) return kNan;
  if (x > 710) return kInfinity;
  if (x < -709) return 0;  // e^-709 is below 2^-1022
  return exp_pair(x, 0);
}

double log64(double x) {
  if (x != x) return kNan;
  if (is_tiny(x)) return -kInfinity;
  if (x < 0) return kNan;
  return x == kInfinity ? x : log_pair(x).high;
}

// The f64 nearest to the result is -1 for all x below -37.43.
double expm1_64(double x) {
  if (x != x) return kNan;
  if (x > 710) return kInfinity;
  if (x < -38) return -1;
  if (is_tiny(x)) return 0;
  const Exponent p = reduce_exp(x, 0);
  return scale(expm1_reduced(p).high, p.n);
}

// log(u + lost) with u + lost = 1 + x exactly, by TwoSum; the square of lost / u is too small to matter.
double log1p64(double x) {
  if (x != x || x < -1) return kNan;
  if (x == -1) return -kInfinity;
  if (x == kInfinity) return x;
  if (absolute(x) < 0x1p-54) return is_tiny(x) ? 0 : x;
  const double u = 1.0 + x, back = u - 1.0;
  const double lost = (1.0 - (u - back)) + (x - back);
  const Pair log = log_pair(u);
  return log.high + (log.low + lost / u);
}

// t / (t + 2) with t = e^2|x| - 1; from 19.06 on 1 is nearest.
double tanh64(double x) {
  if (x != x) return kNan;
  const double a = absolute(x);
  if (a < 0x1p-28) return is_tiny(x) ? 0 : x;
  double y = 1;
  if (a < 20) {
    const Exponent p = reduce_exp(2 * a, 0);
    const Pair reduced = expm1_reduced(p);
    const double size = power_of_two(static_cast<int>(p.n));
    const Pair t = {reduced.high * size, reduced.low * size};
    const Pair d = t.high < 2 ? add_exactly(2, t.high) : add_exactly(t.high, 2);
    const Pair q = divide(t, {d.high, d.low + t.low});
    y = q.high + q.low;
  }
  return x < 0 ? -y : y;
}

// From e = e^-|x| on both sides, so that neither loses its small end: 1 / (1 + e) or e / (1 + e).
double sigmoid64(double x) {
  if (x != x) return kNan;
  if (x > 40) return 1;
  if (x < -709) return 0;
  const Exponent p = reduce_exp(-absolute(x), 0);
  const Pair e = exp_reduced(p, 1.0);
  const double size = p.n < -100 ? 0.0 : power_of_two(static_cast<int>(p.n));
  const Pair d = add_exactly(1.0, e.high * size);
  const bool negative = x < 0;
  const Pair q = divide(negative ? e : Pair{1, 0}, {d.high, d.low + e.low * size});
  const double y = q.high + q.low;
  return negative ? scale(y, p.n) : y;
}

// Odd polynomial below 1; above, 1 - e^q(|x| - 1) with q near log erfc; from 5.93 on 1 is nearest.
double erf64(double x) {
  if (x != x) return kNan;
  if (is_tiny(x)) return 0;
  const double a = absolute(x);
  double y = 1;
  if (a < 0x1p-28) {
    y = a * 0x1.20dd750429b6dp+0;  // 2 / sqrt(pi); the polynomial's product could be subnormal
  } else if (a < 1) {
    y = a + a * poly(a * a, 0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d5p-4, -0x1.b82ce31354ae6p-6,
                     0x1.565bcd2c5ba63p-8, -0x1.c02db9315f2e6p-11, 0x1.f9a3b9151c03cp-14, -0x1.f4dcebe38be0bp-17,
                     0x1.ba68c54002bedp-20, -0x1.638ddd351657fp-23, 0x1.130fa3223c70cp-26, -0x1.c448f167a0abap-30,
                     0x1.3afdf1d95fec7p-33);
  } else if (a < 6) {
    const double q = poly(a - 1, -0x1.d97fbf27aa2a1p+0, -0x1.51c9b0006c23cp+1, -0x1.afabc11a29353p-1,
                          -0x1.5477f09c1dc93p-5, 0x1.48c9d3ebd3571p-7, -0x1.033f656e70ba3p-9, 0x1.f1b363fae0c45p-13,
                          0x1.b8e3bd37d69dfp-16, -0x1.c7b583e57fb31p-16, 0x1.42a0241037a02p-17, -0x1.158ae7b8bb271p-19,
                          0x1.438aa58dbebf0p-23, 0x1.8b621be7051d4p-24, -0x1.a6b72b725521ap-25, 0x1.dc4f3703371dap-27,
                          -0x1.642f890424ec8p-29, 0x1.6152222a3fb97p-32, -0x1.a6804d083a4ffp-36, 0x1.ccd3131b162ecp-41);
    y = 1 - exp_pair(q, 0);
  }
  return x < 0 ? -y : y;
}

double sin64(double x) {
  const double a = absolute(x);
  if (!(a < kInfinity)) return kNan;
  if (is_tiny(x)) return 0;
  const Angle angle = reduce(a);
  const double y = sine_of(angle, angle.quadrant);
  return x < 0 ? -y : y;
}

double cos64(double x) {
  const double a = absolute(x);
  if (!(a < kInfinity)) return kNan;
  const Angle angle = reduce(a);
  return sine_of(angle, angle.quadrant + 1);
}

double pow64(double x, double y) {
  if (is_tiny(y) || x == 1) return 1;
  if (x != x || y != y) return kNan;
  const double a = absolute(x);
  const bool negative = (bits(x) >> 63) != 0, zero = is_tiny(x);
  const bool integer = is_integer(absolute(y));
  const bool odd = negative && integer && is_odd(absolute(y));
  if (zero || a == kInfinity) {
    if (zero == (y > 0)) return 0;
    return odd ? -kInfinity : kInfinity;
  }
  if (negative && !integer) return kNan;
  if (a == 1) return odd ? -1 : 1;  // also (-1)^infinity
  const Pair log = log_pair(a);
  const double coarse = y * log.high;
  double v = coarse > 0 ? kInfinity : 0.0;
  if (absolute(coarse) < 800) {
    const Pair p = multiply_exactly(log.high, y);
    v = exp_pair(p.high, p.low + y * log.low);
  }
  return odd && v != 0 ? -v : v;
}

}  // namespace loom
