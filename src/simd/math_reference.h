#pragma once
// For tests and tools only (it calls libm): what math.h is measured against. The double functions are within one ulp of
// f64, so an error in f32 ulps is known to about 2^-28.

#include <bit>
#include <cmath>
#include <cstdint>

#include "simd/math64.h"
#include "simd/math_kernels.h"

namespace loom::reference {

struct Function {
  const char* name;
  MathKernel MathKernels::* kernel;
  double (*exact)(double);
};

inline double sigmoid(double x) {
  const double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0) / (1.0 + e);
}

inline const Function kFunctions[] = {
    {"exp", &MathKernels::exp, [](double x) { return std::exp(x); }},
    {"expm1", &MathKernels::expm1, [](double x) { return std::expm1(x); }},
    {"log", &MathKernels::log, [](double x) { return std::log(x); }},
    {"log1p", &MathKernels::log1p, [](double x) { return std::log1p(x); }},
    {"tanh", &MathKernels::tanh, [](double x) { return std::tanh(x); }},
    {"sigmoid", &MathKernels::sigmoid, sigmoid},
    {"erf", &MathKernels::erf, [](double x) { return std::erf(x); }},
    {"sin", &MathKernels::sin, [](double x) { return std::sin(x); }},
    {"cos", &MathKernels::cos, [](double x) { return std::cos(x); }},
    {"rsqrt", &MathKernels::rsqrt, [](double x) { return 1.0 / std::sqrt(x); }},
};

struct Function64 {
  const char* name;
  double (*run)(double);
  long double (*exact)(long double);  // 64 bits or more on the machines that measure: known to about 2^-10 ulp of f64
};

inline long double sigmoid_long(long double x) {
  const long double e = std::exp(-std::fabs(x));
  return (x < 0 ? e : 1.0L) / (1.0L + e);
}

inline const Function64 kFunctions64[] = {
    {"exp64", exp64, std::exp},       {"expm1_64", expm1_64, std::expm1}, {"log64", log64, std::log},
    {"log1p64", log1p64, std::log1p}, {"tanh64", tanh64, std::tanh},      {"sigmoid64", sigmoid64, sigmoid_long},
    {"erf64", erf64, std::erf},       {"sin64", sin64, std::sin},         {"cos64", cos64, std::cos},
};

// A subnormal counts as 0, and a zero has no sign.
inline double input(float x) { return std::fabs(x) < 0x1p-126f ? 0.0 : double{x}; }

// Distance of y from the exact value in ulps of f32 at that value; a huge number where y breaks the rules of math.h.
inline double ulp_error(float y, double exact) {
  constexpr double kWrong = 1e9;
  if (exact != exact) return std::bit_cast<std::uint32_t>(y) == 0x7fc00000u ? 0 : kWrong;
  if (y != y) return kWrong;
  const double size = std::fabs(exact);
  if (y == 0) {
    if (std::signbit(y)) return kWrong;
    return size < 0x1p-126 ? 0 : kWrong;
  }
  if (std::fabs(y) < 0x1p-126f || size < 0x1p-126 * (1 - 0x1p-24)) return kWrong;
  const auto clamp = [](double v) { return v > 0x1p128 ? 0x1p128 : v < -0x1p128 ? -0x1p128 : v; };
  const double t = clamp(exact);
  if (std::isinf(exact) && !std::isinf(y)) return kWrong;
  const auto exponent = static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(std::fabs(t)) >> 52) - 1023;
  const std::int64_t e = exponent < -126 ? -126 : exponent > 127 ? 127 : exponent;
  const double ulp = std::bit_cast<double>(static_cast<std::uint64_t>(e - 23 + 1023) << 52);
  return std::fabs(clamp(y) - t) / ulp;
}

// long double, because p = y log2 x loses up to seven bits more.
inline double pow(float x, float y) {
  return static_cast<double>(
      std::pow(static_cast<long double>(std::copysign(input(x), x)), static_cast<long double>(input(y))));
}

// The i-th pair of samples from 128 random bits. The kind of pair depends on i: any bits; results over the whole range;
// bases near 1; small fractions and integers of either sign.
inline void pow_sample(std::size_t i, std::uint64_t r, std::uint64_t s, float& x, float& y) {
  const auto unit = [](std::uint64_t v) { return static_cast<double>(static_cast<std::int32_t>(v)) * 0x1p-31; };
  x = std::bit_cast<float>(static_cast<std::uint32_t>(r));
  y = std::bit_cast<float>(static_cast<std::uint32_t>(s));
  if (i % 4 == 1) {
    x = std::fabs(x);
    y = static_cast<float>(unit(s) * 150 / std::log2(double{x}));
  } else if (i % 4 == 2) {
    x = static_cast<float>(1 + std::ldexp(unit(r), -static_cast<int>(s >> 60)));
    y = static_cast<float>(unit(s) * 130 / std::log2(double{x}));
  } else if (i % 4 == 3) {
    x = static_cast<float>(
        std::ldexp(static_cast<double>(static_cast<std::int8_t>(r)), -static_cast<int>((r >> 8) & 7)));
    y = static_cast<float>(
        std::ldexp(static_cast<double>(static_cast<std::int8_t>(s)), -static_cast<int>((s >> 8) & 3)));
  }
}

}  // namespace loom::reference
