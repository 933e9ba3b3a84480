// The elementary functions against f64 libm (math_reference.h) on samples and boundaries, their special values, equal
// bits on every target and with subnormals flushed. All 2^32 inputs are the business of tools/check_math.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cfloat>
#include <cstring>

#include "core/philox.h"
#include "simd/math64.h"
#include "simd/math_digest.h"
#include "simd/math_reference.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace loom::math_test {
namespace {

const MathKernels& best() {
  static const MathKernelList list = runnable_math_kernels();
  return *list.tables[list.count - 1];
}
const reference::Function& named(std::string_view name) {
  return *std::find_if(std::begin(reference::kFunctions), std::end(reference::kFunctions),
                       [&](const auto& f) { return f.name == name; });
}
std::vector<float> evaluate(MathKernel f, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  f(x.data(), y.data(), x.size());
  return y;
}
std::uint32_t word(float x) { return std::bit_cast<std::uint32_t>(x); }
float real(std::uint32_t w) { return std::bit_cast<float>(w); }

// Subnormal results become 0 and subnormal operands count as 0 while this lives.
class FlushSubnormals {
 public:
#if defined(__SSE2__)
  static constexpr bool kWorks = true;
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#elif defined(__aarch64__)
  static constexpr bool kWorks = true;
  FlushSubnormals() {
    __asm__ volatile("mrs %0, fpcr" : "=r"(saved_));
    __asm__ volatile("msr fpcr, %0" : : "r"(saved_ | (std::uint64_t{1} << 24)));
  }
  ~FlushSubnormals() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_)); }

 private:
  std::uint64_t saved_ = 0;
#else
  static constexpr bool kWorks = false;
#endif
};

// Both signs and three neighbours on each side of: every power of two, the ends of exp, the switch points of tanh, erf
// and sin, the half-way points of exp's and the octants of the sine's reduction, sqrt(1/2) times powers of two (log).
std::vector<float> boundaries() {
  std::vector<float> centres = {
      0x1.62e42ep+6f, -0x1.5d589ep+6f, 0.5625f, 1.0f,           0x1p-60f, 2048.0f, 0x1p60f,          4.0f, 9.02f,
      10.0f,          17.4f,           18.0f,   60 * 0.693147f, FLT_MAX,  1e38f,   real(0x7f800000), 0.0f};
  for (std::uint32_t e = 0; e < 256; ++e) {
    centres.push_back(real(e << 23));
    if (e < 255) centres.push_back(real((e << 23) | 0x3504f3));
  }
  for (int n = 0; n < 300; ++n) centres.push_back(static_cast<float>((n + 0.5) * 0.69314718055994530942));
  for (int n = 1; n < 20000; ++n) centres.push_back(static_cast<float>(n * 0.78539816339744830962));
  std::vector<float> all;
  for (const float c : centres)
    for (std::uint32_t d = 0; d < 7; ++d)
      for (const std::uint32_t sign : {0u, 0x80000000u}) all.push_back(real((word(c) + d - 3) ^ sign));
  return all;
}

void expect_within_two_ulp(const reference::Function& f, const std::vector<float>& x) {
  const std::vector<float> y = evaluate(best().*f.kernel, x);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double error = reference::ulp_error(y[i], f.exact(reference::input(x[i])));
    if (error > worst) worst = error, at = i;
  }
  EXPECT_LE(worst, 2.0) << f.name << " at " << std::hexfloat << x[at] << " (0x" << std::hex << word(x[at])
                        << "): " << std::hexfloat << y[at];
}

class EveryFunction : public ::testing::TestWithParam<reference::Function> {};
INSTANTIATE_TEST_SUITE_P(Math, EveryFunction, ::testing::ValuesIn(reference::kFunctions),
                         [](const auto& p) { return p.param.name; });

TEST_P(EveryFunction, two_ulp_over_samples) {  // numerics 3
  std::vector<float> x(1 << 16);
  for (std::uint32_t i = 0; i < 1u << 24;) {
    for (float& v : x) v = real(i++ * 257u);
    expect_within_two_ulp(GetParam(), x);
    if (HasFailure()) return;
  }
}

// numerics 3
TEST_P(EveryFunction, two_ulp_at_boundaries) { expect_within_two_ulp(GetParam(), boundaries()); }

TEST_P(EveryFunction, flushing_changes_no_bit) {  // numerics 1.2
  if (!FlushSubnormals::kWorks) GTEST_SKIP() << "no flush mode on this machine kind";
  std::vector<float> x = boundaries();
  for (std::uint32_t i = 0; i < 1u << 20; ++i) x.push_back(real(i * 4097u));
  // where subnormals would come from: the smallest normals and the subnormals
  for (std::uint32_t i = 0; i < 1u << 16; ++i) x.push_back(real((i * 1021u & 0x03ffffffu) | (i << 31)));
  for (const MathKernels* kernels : runnable_math_kernels()) {
    const std::vector<float> y = evaluate(kernels->*GetParam().kernel, x);
    std::vector<float> flushed;
    {
      const FlushSubnormals flush;
      flushed = evaluate(kernels->*GetParam().kernel, x);
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(word(y[i]), word(flushed[i])) << kernels->target << " at 0x" << std::hex << word(x[i]);
  }
}

TEST_P(EveryFunction, Lengths_and_places_do_not_matter) {
  std::vector<float> x(100);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 37.7f - 1000;
  const std::vector<float> all = evaluate(best().*GetParam().kernel, x);
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<float> part(x.begin() + 7, x.begin() + 7 + static_cast<std::ptrdiff_t>(n));
    part.push_back(123);
    (best().*GetParam().kernel)(part.data(), part.data(), n);
    for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(word(part[i]), word(all[7 + i]));
    ASSERT_EQ(part[n], 123);
  }
}

TEST(Math, same_bits_on_every_target) {  // numerics 5
  for (const MathKernels* kernels : runnable_math_kernels()) {
    const auto digests = math_digests(*kernels);
    ASSERT_EQ(digests.size(), golden_math_digests().size());
    for (std::size_t i = 0; i < digests.size(); ++i)
      EXPECT_EQ(digests[i].hex, golden_math_digests()[i].hex) << digests[i].name << " on " << kernels->target;
  }
  const auto digests = math64_digests();
  ASSERT_EQ(digests.size(), golden_math64_digests().size());
  for (std::size_t i = 0; i < digests.size(); ++i)
    EXPECT_EQ(digests[i].hex, golden_math64_digests()[i].hex) << digests[i].name;
}

constexpr std::uint32_t kNan = 0x7fc00000, kInf = 0x7f800000, kOne = 0x3f800000, kSign = 0x80000000;

TEST(Math, special_values) {  // numerics 3
  const struct {
    const char* name;
    std::uint32_t x, y;
  } rows[] = {
      {"exp", 0, kOne},
      {"exp", kSign, kOne},
      {"exp", 1, kOne},
      {"exp", kInf, kInf},
      {"exp", kInf | kSign, 0},
      {"exp", word(-87.5f), 0},
      {"exp", word(88.8f), kInf},
      {"exp", 0xff7fffff, 0},
      {"expm1", kSign, 0},
      {"expm1", 0x80000001, 0},
      {"expm1", kInf, kInf},
      {"expm1", kInf | kSign, kOne | kSign},
      {"expm1", 0x80800000, 0x80800000},
      {"log", 0, kInf | kSign},
      {"log", kSign, kInf | kSign},
      {"log", 0x007fffff, kInf | kSign},
      {"log", 0x807fffff, kInf | kSign},
      {"log", kOne, 0},
      {"log", kInf, kInf},
      {"log", kInf | kSign, kNan},
      {"log", 0x80800000, kNan},
      {"log1p", kSign, 0},
      {"log1p", kOne | kSign, kInf | kSign},
      {"log1p", 0xbf800001, kNan},
      {"log1p", kInf, kInf},
      {"log1p", kInf | kSign, kNan},
      {"log1p", 0x00000001, 0},
      {"log1p", 0x00800000, 0x00800000},
      {"tanh", kSign, 0},
      {"tanh", kInf, kOne},
      {"tanh", kInf | kSign, kOne | kSign},
      {"tanh", 0x80000001, 0},
      {"sigmoid", 0, 0x3f000000},
      {"sigmoid", kSign, 0x3f000000},
      {"sigmoid", kInf, kOne},
      {"sigmoid", kInf | kSign, 0},
      {"sigmoid", word(-87.5f), 0},
      {"sigmoid", word(30.0f), kOne},
      {"erf", kSign, 0},
      {"erf", kInf, kOne},
      {"erf", kInf | kSign, kOne | kSign},
      {"erf", 0x007fffff, 0},
      {"sin", kSign, 0},
      {"sin", kInf, kNan},
      {"sin", kInf | kSign, kNan},
      {"sin", 0x807fffff, 0},
      {"sin", 0x00800000, 0x00800000},
      {"cos", kSign, kOne},
      {"cos", kInf, kNan},
      {"cos", kInf | kSign, kNan},
      {"cos", 0x807fffff, kOne},
      {"rsqrt", 0, kInf},
      {"rsqrt", kSign, kInf},
      {"rsqrt", kInf, 0},
      {"rsqrt", 0x807fffff, kInf},
      {"rsqrt", 0x80800000, kNan},
      {"rsqrt", kInf | kSign, kNan},
      {"rsqrt", word(4.0f), 0x3f000000},
  };
  for (const auto& row : rows)
    for (const MathKernels* kernels : runnable_math_kernels())
      EXPECT_EQ(word(evaluate(kernels->*named(row.name).kernel, {real(row.x)})[0]), row.y)
          << row.name << " of 0x" << std::hex << row.x << " on " << kernels->target;
  for (const reference::Function& f : reference::kFunctions)
    for (const std::uint32_t nan : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
      EXPECT_EQ(word(evaluate(best().*f.kernel, {real(nan)})[0]), kNan) << f.name;
}

TEST(Math, shape_of_the_functions) {  // numerics 3
  std::vector<float> x;               // ascending
  for (std::uint32_t i = 0; i < 1u << 17; ++i) x.push_back(real(0xff7fffffu - (i * ((0xff7fffffu - kSign) >> 17))));
  for (std::uint32_t i = 0; i < 1u << 17; ++i) x.push_back(real(i * (0x7f7fffffu >> 17)));
  for (const char* name : {"exp", "expm1", "log1p", "tanh", "sigmoid", "erf", "log"}) {
    const std::vector<float> y = evaluate(best().*named(name).kernel, x);
    for (std::size_t i = 1; i < x.size(); ++i) ASSERT_FALSE(y[i - 1] > y[i]) << name << " falls at " << x[i];
  }
  std::vector<float> mirrored = x;
  for (float& v : mirrored) v = -v;
  for (const char* name : {"tanh", "erf", "sin"}) {
    const std::vector<float> y = evaluate(best().*named(name).kernel, x),
                             m = evaluate(best().*named(name).kernel, mirrored);
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], -m[i]) << name << " is odd: " << x[i];
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_LE(std::fabs(y[i]), 1) << name << " " << x[i];
  }
  const std::vector<float> y = evaluate(best().cos, x), m = evaluate(best().cos, mirrored);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], m[i]) << "cos is even: " << x[i];
}

TEST(Math, pow_within_two_ulp) {  // numerics 3
  constexpr std::size_t kCount = 1 << 21;
  std::vector<float> a(kCount), b(kCount), y(kCount), flushed(kCount);
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const PhiloxBlock r = philox4x32(3, {i, 0, 0, 0});
    reference::pow_sample(i, std::uint64_t{r[0]} << 32 | r[1], std::uint64_t{r[2]} << 32 | r[3], a[i], b[i]);
  }
  best().pow(a.data(), b.data(), y.data(), kCount);
  double worst = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double error = reference::ulp_error(y[i], reference::pow(a[i], b[i]));
    if (error > worst) worst = error, at = i;
  }
  EXPECT_LE(worst, 2.0) << std::hexfloat << a[at] << " ^ " << b[at] << " = " << y[at];
  {
    const FlushSubnormals flush;
    best().pow(a.data(), b.data(), flushed.data(), kCount);
  }
  EXPECT_EQ(std::memcmp(y.data(), flushed.data(), kCount * sizeof(float)), 0);
}

// Every pair of these, by the rules of IEEE 754-2019 9.2.1 as libm follows them; ours gives +0 for -0 and counts
// subnormals as 0.
TEST(Math, pow_special_values) {  // numerics 3
  const float inf = real(kInf);
  const std::vector<float> values = {
      0.0f,        -0.0f,       1.0f,       -1.0f,       2.0f,       -2.0f,        3.0f,
      -3.0f,       0.5f,        -0.5f,      1.5f,        -1.5f,      inf,          -inf,
      real(kNan),  FLT_MAX,     -FLT_MAX,   FLT_MIN,     -FLT_MIN,   real(1),      real(0x80000001),
      8388607.0f,  -8388607.0f, 8388607.5f, 8388608.0f,  8388609.0f, 16777215.0f,  -16777215.0f,
      16777216.0f, 16777218.0f, 4194303.5f, 0.99999994f, 1.0000001f, -0.99999994f, -1.0000001f,
      128.0f,      -126.0f,     -127.0f,    127.0f};
  for (const float x : values)
    for (const float y : values)
      for (const MathKernels* kernels : runnable_math_kernels()) {
        float z = 0;
        kernels->pow(&x, &y, &z, 1);
        const double exact = reference::pow(x, y);
        EXPECT_LE(reference::ulp_error(z, exact), 2.0)
            << x << " ^ " << y << " = " << z << ", not " << exact << " on " << kernels->target;
        if (std::isinf(exact) || exact == 1) {
          EXPECT_EQ(static_cast<double>(z), exact) << x << " ^ " << y;
        }
      }
}

std::uint64_t word64(double x) { return std::bit_cast<std::uint64_t>(x); }
double real64(std::uint64_t w) { return std::bit_cast<double>(w); }

double ulps64(double y, long double exact) {
  const double rounded = static_cast<double>(exact);
  if (rounded != rounded) return std::bit_cast<std::uint64_t>(y) == 0x7ff8000000000000ull ? 0 : 1e9;
  if (std::fabs(rounded) < 0x1p-1022) return y == 0 && !std::signbit(y) ? 0 : 1e9;
  if (std::isinf(rounded)) return y == rounded ? 0 : 1e9;
  return static_cast<double>(std::fabs(y - exact) / std::ldexp(1.0L, std::ilogb(exact) - 52));
}

// Random bits, sizes around 1, 32, 750 and 2^20, multiples of pi/2; both signs and three neighbours on each side of:
// every power of two and 1 + every power of two (both also negated), the switch points of the functions, half-way
// points of exp's reduction.
std::vector<double> inputs64() {
  std::vector<double> x;
  for (std::uint32_t i = 0; i < 200000; ++i) {
    const PhiloxBlock r = philox4x32(4, {i, 0, 0, 0});
    const double unit = static_cast<double>(static_cast<std::int64_t>(std::uint64_t{r[0]} << 32 | r[1])) * 0x1p-63;
    x.push_back(unit * std::array{1.0, 32.0, 750.0, 0x1p20}[i % 4]);
    x.push_back(std::bit_cast<double>(std::uint64_t{r[2]} << 32 | r[3]));
    x.push_back(static_cast<double>(r[2] >> 8) * 1.57079632679489661923);
  }
  std::vector<double> centres = {0.84375,  1,      5.9216,    6,           18.7,
                                 19.06,    20,     36.74,     37.43,       38,
                                 40,       708.39, 708.4,     708.5,       709,
                                 709.78,   710,    745,       1e300,       DBL_MAX,
                                 INFINITY, NAN,    0x1p-1074, 0x0.8p-1022, 6381956970095103.0 * 0x1p797};
  for (int e = -1022; e < 1024; ++e)
    centres.push_back(std::ldexp(1.0, e)), centres.push_back(std::ldexp(0x1.6a09e667f3bcdp-1, e));
  for (int e = -52; e < 52; ++e) centres.push_back(1 + std::ldexp(1.0, e)), centres.push_back(1 - std::ldexp(1.0, e));
  for (int n = 0; n < 1024; ++n) centres.push_back((n + 0.5) * 0.69314718055994530942);
  for (const double c : centres)
    for (std::uint64_t d = 0; d < 7; ++d)
      for (const std::uint64_t sign : {std::uint64_t{0}, std::uint64_t{1} << 63})
        x.push_back(real64((word64(c) + d - 3) ^ sign));
  return x;
}

TEST(Math64, two_ulp_over_samples_and_boundaries) {           // numerics 3
  static_assert(LDBL_MANT_DIG >= 64 || LDBL_MANT_DIG == 53);  // with 53 bits the reference itself adds half an ulp
  const std::vector<double> x = inputs64();
  for (const auto& f : reference::kFunctions64)
    for (const double v : x) {
      const double in = std::fabs(v) < 0x1p-1022 ? 0.0 : v;
      ASSERT_LE(ulps64(f.run(v), f.exact(in)), 2.0) << f.name << " of " << std::hexfloat << v << ": " << f.run(v);
    }
}

TEST(Math64, flushing_changes_no_bit) {  // numerics 1.2
  if (!FlushSubnormals::kWorks) GTEST_SKIP() << "no flush mode on this machine kind";
  std::vector<double> x = inputs64();
  // where subnormals would come from: the smallest normals and the subnormals
  for (std::uint64_t i = 0; i < 1u << 16; ++i)
    x.push_back(real64((i * 0x3fffff00000dull & 0x007fffffffffffffull) | (i << 63)));
  std::vector<double> y(x.size()), flushed(x.size());
  const auto expect_same = [&](const char* name, const auto& f) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = f(i);
    {
      const FlushSubnormals flush;
      for (std::size_t i = 0; i < x.size(); ++i) flushed[i] = f(i);
    }
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_EQ(word64(y[i]), word64(flushed[i])) << name << " at 0x" << std::hex << word64(x[i]);
  };
  for (const auto& f : reference::kFunctions64) expect_same(f.name, [&](std::size_t i) { return f.run(x[i]); });
  expect_same("pow64", [&](std::size_t i) { return pow64(x[i], x[(i * 40503 + 7) % x.size()]); });
}

TEST(Math64, special_values) {  // numerics 3
  const double inf = INFINITY, tiny = 0x0.8p-1022, least = 0x1p-1022;
  const struct {
    double (*f)(double);
    double x, y;
  } rows[] = {{exp64, 0.0, 1},
              {exp64, -tiny, 1},
              {exp64, inf, inf},
              {exp64, -inf, 0},
              {exp64, -708.4, 0},
              {exp64, 709.79, inf},
              {expm1_64, -0.0, 0},
              {expm1_64, -tiny, 0},
              {expm1_64, -least, -least},
              {expm1_64, inf, inf},
              {expm1_64, 709.79, inf},
              {expm1_64, -inf, -1},
              {expm1_64, -37.5, -1},
              {log64, -0.0, -inf},
              {log64, -tiny, -inf},
              {log64, 1, 0},
              {log64, inf, inf},
              {log1p64, -0.0, 0},
              {log1p64, -tiny, 0},
              {log1p64, -least, -least},
              {log1p64, -1, -inf},
              {log1p64, inf, inf},
              {tanh64, -0.0, 0},
              {tanh64, -tiny, 0},
              {tanh64, -least, -least},
              {tanh64, inf, 1},
              {tanh64, -inf, -1},
              {tanh64, 19.1, 1},
              {sigmoid64, -0.0, 0.5},
              {sigmoid64, -tiny, 0.5},
              {sigmoid64, inf, 1},
              {sigmoid64, -inf, 0},
              {sigmoid64, -708.4, 0},
              {sigmoid64, 37.5, 1},
              {erf64, -0.0, 0},
              {erf64, -tiny, 0},
              {erf64, inf, 1},
              {erf64, -inf, -1},
              {erf64, 5.93, 1},
              {sin64, -0.0, 0},
              {sin64, -tiny, 0},
              {sin64, least, least},
              {cos64, -0.0, 1},
              {cos64, -tiny, 1}};
  for (const auto& row : rows)
    EXPECT_EQ(word64(row.f(row.x)), word64(row.y)) << "row " << &row - rows << ": " << row.f(row.x);
  constexpr std::uint64_t kNan64 = 0x7ff8000000000000ull;
  for (const auto f : {log64, log1p64})
    for (const double x : {-inf, -1.5, -DBL_MAX}) EXPECT_EQ(word64(f(x)), kNan64);
  for (const auto f : {sin64, cos64})
    for (const double x : {-inf, inf}) EXPECT_EQ(word64(f(x)), kNan64);
  for (const auto& f : reference::kFunctions64)
    for (const std::uint64_t nan :
         {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff0000000000001ull, 0xffffffffffffffffull})
      EXPECT_EQ(word64(f.run(real64(nan))), kNan64) << f.name;
}

TEST(Math64, shape_of_the_functions) {  // numerics 3
  std::vector<double> x = inputs64();
  std::erase_if(x, [](double v) { return v != v; });
  std::sort(x.begin(), x.end());
  for (const auto& f : reference::kFunctions64) {
    const std::string_view name = f.name;
    const bool odd = name == "tanh64" || name == "erf64" || name == "sin64";
    const bool rises = name != "sin64" && name != "cos64" && !name.starts_with("log");
    double last = -INFINITY;
    for (const double v : x) {
      const double y = f.run(v);
      if (odd && std::isfinite(v)) {
        ASSERT_EQ(y, -f.run(-v)) << name << " is odd: " << v;
        ASSERT_LE(std::fabs(y), 1) << name << " " << v;
      }
      if (!rises || v - last <= std::fabs(v) * 0x1p-48) continue;  // neighbours may fall by an ulp
      ASSERT_GE(y, f.run(last)) << name << " falls at " << std::hexfloat << v;
      last = v;
    }
  }
}

TEST(Math64, pow_for_rotary_angles_and_special_values) {  // numerics 3
  for (const double theta : {100.0, 10000.0, 500000.0, 1e6, 5e6})
    for (const int rotary : {16, 64, 80, 96, 128, 256})
      for (int i = 0; i < rotary / 2; ++i) {
        const double y = -2.0 * i / rotary;
        ASSERT_LE(ulps64(pow64(theta, y), std::pow(static_cast<long double>(theta), static_cast<long double>(y))), 1.0)
            << theta << " " << y;
      }
  for (std::uint32_t i = 0; i < 100000; ++i) {  // results over the whole range
    const PhiloxBlock r = philox4x32(5, {i, 0, 0, 0});
    const double x = real64((std::uint64_t{1 + r[0] % 2046} << 52) | (std::uint64_t{r[0] >> 12} << 32) | r[1]);
    const double y =
        static_cast<double>(static_cast<std::int64_t>(std::uint64_t{r[2]} << 32 | r[3])) * 0x1p-63 * 745 / std::log(x);
    ASSERT_LE(ulps64(pow64(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))), 2.0)
        << std::hexfloat << x << " " << y;
  }
  const double inf = INFINITY;
  const double values[] = {0.0,      -0.0,        1.0,       -1.0,       2.0,          -2.0,        3.0,
                           -3.0,     0.5,         -0.5,      inf,        -inf,         NAN,         DBL_MAX,
                           -DBL_MAX, DBL_MIN,     0x1p-1074, -0x1p-1074, 0x1p52 - 0.5, 0x1p52 + 1,  0x1p53 - 1,
                           0x1p53,   -0x1p53 + 1, 1024.0,    -1022.0,    -1023.0,      1 - 0x1p-53, 1 + 0x1p-52};
  const auto normal = [](double v) { return std::fabs(v) < 0x1p-1022 ? std::copysign(0.0, v) : v; };
  for (const double x : values)
    for (const double y : values) {
      const long double exact = std::pow(static_cast<long double>(normal(x)), static_cast<long double>(normal(y)));
      ASSERT_LE(ulps64(pow64(x, y), exact), 2.0) << x << " ^ " << y << " = " << pow64(x, y);
    }
}

}  // namespace
}  // namespace loom::math_test
