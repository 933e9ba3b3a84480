// Measures src/simd/math.h over all 2^32 inputs of each function (pow: samples) and src/simd/math64.h over samples, and
// writes docs/internals/math_errors.md ("64" chooses the f64 functions). Offline, about a minute and a half per
// function on one core:
//   cmake --preset release && cmake --build build --target loom_simd
//   g++ -std=c++20 -O2 -Isrc tools/check_math.cpp build/libloom_simd.a build/libloom_core.a -lfmt -lmpfr -lgmp -o
//     build/check_math
//   build/check_math docs/internals/math_errors.md [function...]
//
// The reference is libm in f64, good to 2^-28 ulp of f32, and in x87's 80 bits, good to 2^-8 ulp of f64; MPFR confirms
// it on every 4093rd input, on every new worst case and wherever the error is so close to 1 ulp that the count could
// depend on it.

#include <mpfr.h>

#include <algorithm>
#include <cfloat>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "simd/math_reference.h"
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace loom {
namespace {

class Mpfr {
 public:
  explicit Mpfr(double x = 0, int precision = 200) { mpfr_init2(v, precision), mpfr_set_d(v, x, MPFR_RNDN); }
  ~Mpfr() { mpfr_clear(v); }
  Mpfr(const Mpfr&) = delete;
  mpfr_t v;
};

void true_value(std::string name, double x, Mpfr& out) {
  if (name.ends_with("64")) name.resize(name.find_first_of("_6"));  // exp64, expm1_64: as exp, expm1
  const Mpfr in(x);
  const auto r = MPFR_RNDN;
  if (name == "exp")
    mpfr_exp(out.v, in.v, r);
  else if (name == "expm1")
    mpfr_expm1(out.v, in.v, r);
  else if (name == "log")
    mpfr_log(out.v, in.v, r);
  else if (name == "log1p")
    mpfr_log1p(out.v, in.v, r);
  else if (name == "tanh")
    mpfr_tanh(out.v, in.v, r);
  else if (name == "erf")
    mpfr_erf(out.v, in.v, r);
  else if (name == "sin")
    mpfr_sin(out.v, in.v, r);
  else if (name == "cos")
    mpfr_cos(out.v, in.v, r);
  else if (name == "rsqrt")
    mpfr_rec_sqrt(out.v, in.v, r);
  else if (name == "sigmoid") {
    mpfr_neg(out.v, in.v, r), mpfr_exp(out.v, out.v, r), mpfr_add_ui(out.v, out.v, 1, r),
        mpfr_ui_div(out.v, 1, out.v, r);
  }
}

// Error of y in f32 ulps from MPFR, for a finite non-zero true value inside the f32 range.
double confirmed_error(float y, const Mpfr& t) {
  Mpfr difference;
  mpfr_sub_d(difference.v, t.v, y, MPFR_RNDN);
  mpfr_mul_2si(difference.v, difference.v, 24 - mpfr_get_exp(t.v), MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.v, MPFR_RNDN));
}

struct Row {
  std::string name, inputs, worst_input = {};
  double worst = 0;
  std::uint64_t above_one = 0, wrong = 0, flush_differs = 0, reference_off = 0;
};

std::string text(const char* format, auto... values) {
  char buffer[160];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

template <class T, class F>
bool flush_changes(const F& run, const std::vector<T>& y) {
#if defined(__SSE2__)
  std::vector<T> flushed(y.size());
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040);
  run(flushed.data());
  _mm_setcsr(saved);
  return std::memcmp(flushed.data(), y.data(), y.size() * sizeof(T)) != 0;
#else
  return (void)run, (void)y, false;
#endif
}

Row check(const reference::Function& f, const MathKernels& kernels) {
  constexpr std::size_t kBlock = 1 << 14;
  Row row{.name = f.name, .inputs = "all 2^32"};
  std::vector<float> x(kBlock), y(kBlock);
  Mpfr t;
  for (std::uint64_t start = 0; start < (std::uint64_t{1} << 32); start += kBlock) {
    for (std::size_t i = 0; i < kBlock; ++i) x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(start + i));
    (kernels.*f.kernel)(x.data(), y.data(), kBlock);
    row.flush_differs += flush_changes([&](float* out) { (kernels.*f.kernel)(x.data(), out, kBlock); }, y);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const double in = reference::input(x[i]), exact = f.exact(in);
      const bool normal = std::fabs(exact) >= 0x1p-126 && std::fabs(exact) < 0x1p127;
      // half an ulp at most
      if (normal && y[i] == static_cast<float>(exact) && row.worst > 0.5 && (start + i) % 4093 != 0) continue;
      double error = reference::ulp_error(y[i], exact);
      if (error >= 1e9) {
        ++row.wrong;
        continue;
      }
      const bool finite = std::fabs(exact) >= 0x1p-126 && std::fabs(exact) < 0x1p128;
      const bool close = error > row.worst || std::fabs(error - 1) < 1e-6;
      if (finite && (close || (start + i) % 4093 == 0)) {
        true_value(f.name, in, t);
        row.reference_off += !(std::fabs(mpfr_get_d(t.v, MPFR_RNDN) - exact) <= std::fabs(exact) * 0x1p-50);
        if (close && mpfr_number_p(t.v) && !std::isinf(y[i])) error = confirmed_error(y[i], t);
      }
      row.above_one += error > 1;
      if (error > row.worst) row.worst = error, row.worst_input = text("%a", static_cast<double>(x[i]));
    }
  }
  return row;
}

struct Random {
  std::uint64_t state = 0x9e3779b97f4a7c15ull;
  std::uint64_t next() {
    state += 0x9e3779b97f4a7c15ull;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  double signed_unit() { return static_cast<double>(static_cast<std::int64_t>(next())) * 0x1p-63; }
};

Row check_pow(const MathKernels& kernels) {
  constexpr std::size_t kBlock = 1 << 14, kBlocks = 1 << 13;
  Row row{.name = "pow", .inputs = "2^27 samples"};
  std::vector<float> a(kBlock), b(kBlock), y(kBlock);
  Random random;
  Mpfr t;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) reference::pow_sample(i, random.next(), random.next(), a[i], b[i]);
    kernels.pow(a.data(), b.data(), y.data(), kBlock);
    row.flush_differs += flush_changes([&](float* out) { kernels.pow(a.data(), b.data(), out, kBlock); }, y);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const double exact = reference::pow(a[i], b[i]);
      double error = reference::ulp_error(y[i], exact);
      if (error >= 1e9) {
        ++row.wrong;
        continue;
      }
      const bool finite = std::fabs(exact) >= 0x1p-126 && std::fabs(exact) < 0x1p128 && !std::isinf(y[i]);
      if (finite && (error > row.worst || std::fabs(error - 1) < 1e-6 || i % 253 == 0)) {
        const Mpfr base(reference::input(a[i])), power(reference::input(b[i]));
        mpfr_pow(t.v, base.v, power.v, MPFR_RNDN);
        row.reference_off += !(std::fabs(mpfr_get_d(t.v, MPFR_RNDN) - exact) <= std::fabs(exact) * 0x1p-50);
        error = confirmed_error(y[i], t);
      }
      row.above_one += error > 1;
      if (error > row.worst)
        row.worst = error, row.worst_input = text("%a ^ %a", static_cast<double>(a[i]), static_cast<double>(b[i]));
    }
  }
  return row;
}

static_assert(LDBL_MANT_DIG >= 64);
constexpr double kUnsure = 0x1p-8;  // what the long double reference may be off, in ulps of f64

// Error of y in f64 ulps; 1e9 where y breaks a rule.
double coarse_error64(double y, long double t) {
  const auto rounded = static_cast<double>(t);
  if (std::fabs(rounded) < 0x1p-1022) return y == 0 && !std::signbit(y) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(y)) return y == rounded ? 0 : 1e9;
  return static_cast<double>(std::fabs(y - t) / std::ldexp(1.0L, std::ilogb(t) - 52));
}
double error64(double y, const Mpfr& t) {
  const double rounded = mpfr_get_d(t.v, MPFR_RNDN);
  if (std::fabs(rounded) < 0x1p-1022) return y == 0 && !std::signbit(y) ? 0 : 1e9;
  if (std::isinf(rounded) || std::isinf(y)) return y == rounded ? 0 : 1e9;
  Mpfr difference;
  mpfr_sub_d(difference.v, t.v, y, MPFR_RNDN);
  mpfr_mul_2si(difference.v, difference.v, 53 - mpfr_get_exp(t.v), MPFR_RNDN);
  return std::fabs(mpfr_get_d(difference.v, MPFR_RNDN));
}

// One argument of a function, or two of pow.
struct Sample {
  double x, y;
};

// 2^24 samples in blocks. make(random, i) draws the i-th one; exact(sample) is the reference, confirm(sample, t) sets t
// by MPFR.
template <class Make, class Run, class Exact, class Confirm>
Row check64(const char* name, const char* inputs, const Make& make, const Run& run, const Exact& exact,
            const Confirm& confirm) {
  constexpr std::size_t kBlock = 1 << 14, kBlocks = 1 << 10;
  Row row{.name = name, .inputs = inputs};
  Random random;
  Mpfr t;
  std::vector<Sample> samples(kBlock);
  std::vector<double> y(kBlock);
  for (std::size_t block = 0; block < kBlocks; ++block) {
    for (std::size_t i = 0; i < kBlock; ++i) samples[i] = make(random, i);
    const auto evaluate = [&](double* out) {
      for (std::size_t i = 0; i < kBlock; ++i) out[i] = run(samples[i]);
    };
    evaluate(y.data());
    row.flush_differs += flush_changes(evaluate, y);
    for (std::size_t i = 0; i < kBlock; ++i) {
      const long double reference = exact(samples[i]);
      double error = coarse_error64(y[i], reference);
      if (error > row.worst - kUnsure || std::fabs(error - 1) < kUnsure || (block * kBlock + i) % 4093 == 0) {
        confirm(samples[i], t);
        const double confirmed = error64(y[i], t);
        row.reference_off += !(std::fabs(confirmed - error) < kUnsure || confirmed == error);
        error = confirmed;
      }
      if (error >= 1e9) {
        ++row.wrong;
        continue;
      }
      row.above_one += error > 1;
      if (error > row.worst)
        row.worst = error,
        row.worst_input = row.name == "pow64" ? text("%a ^ %a", samples[i].x, samples[i].y) : text("%a", samples[i].x);
    }
  }
  return row;
}

double normal_magnitude(Random& random) {  // every exponent alike, no subnormals, infinities or NaN
  const std::uint64_t r = random.next();
  return std::bit_cast<double>((r & 0x000fffffffffffffull) | ((1 + (r >> 52) % 2046) << 52));
}

double angle(Random& r, std::size_t i) {
  if (i % 4 == 0) return normal_magnitude(r);
  // beside a multiple of pi/2
  if (i % 4 == 1) return static_cast<double>(r.next() >> 44) * (3.14159265358979323846 / 2);
  return r.signed_unit() * (i % 4 == 2 ? 0x1p20 : 8.0);
}
// Half within +-range, a quarter within +-1, the rest of every exponent from 2^-64 on, of either sign.
double around_zero(Random& r, std::size_t i, double range) {
  if (i % 4 != 0) return r.signed_unit() * (i % 4 == 1 ? 1 : range);
  return std::ldexp(r.signed_unit(), -static_cast<int>(r.next() % 64));
}
double above_minus_one(Random& r, std::size_t i) {  // for log1p
  if (i % 4 == 0) return normal_magnitude(r);
  if (i % 4 == 1) return std::ldexp(1 + r.signed_unit(), -static_cast<int>(r.next() % 64)) - 1;
  return around_zero(r, 1 - i % 2, 1);
}

const struct {
  const char *name, *inputs;
  double (*make)(Random&, std::size_t);
} kSamples64[] = {
    {"exp64", "+-745, half within +-1", [](Random& r, std::size_t i) { return r.signed_unit() * (i % 2 ? 1 : 745); }},
    {"expm1_64", "+-711, +-40, +-1, exponents from 2^-64",
     [](Random& r, std::size_t i) { return around_zero(r, i, i % 4 == 2 ? 711 : 40); }},
    {"log64", "all exponents, [1/2, 2]",
     [](Random& r, std::size_t i) {
       return i % 2 ? normal_magnitude(r) : std::exp2(r.signed_unit() * (i % 4 ? 1 : 0x1p-8));
     }},
    {"log1p64", "all exponents, beside -1, +-1, exponents from 2^-64", above_minus_one},
    {"tanh64", "+-20, +-1, exponents from 2^-64", [](Random& r, std::size_t i) { return around_zero(r, i, 20); }},
    {"sigmoid64", "+-710, +-40, +-1, exponents from 2^-64",
     [](Random& r, std::size_t i) { return around_zero(r, i, i % 4 == 2 ? 710 : 40); }},
    {"erf64", "+-6, +-1, exponents from 2^-64",
     [](Random& r, std::size_t i) { return around_zero(r, i, i % 4 == 2 ? 6 : 2); }},
    {"sin64", "+-8, +-2^20, the doubles nearest to multiples of pi/2, all exponents", angle},
    {"cos64", "+-8, +-2^20, the doubles nearest to multiples of pi/2, all exponents", angle},
};

Row check_one64(const reference::Function64& f) {
  const auto& s = *std::find_if(std::begin(kSamples64), std::end(kSamples64),
                                [&](const auto& v) { return std::strcmp(v.name, f.name) == 0; });
  return check64(
      f.name, s.inputs, [&](Random& r, std::size_t i) { return Sample{s.make(r, i), 0}; },
      [&](Sample v) { return f.run(v.x); }, [&](Sample v) { return f.exact(v.x); },
      [&](Sample v, Mpfr& t) { true_value(f.name, v.x, t); });
}

Row check_pow64() {
  return check64(
      "pow64", "two thirds over the whole range of results, the rest theta^(-2i/R)",
      [](Random& r, std::size_t i) {
        if (i % 3 != 0) {
          const double x = normal_magnitude(r);
          return Sample{x, r.signed_unit() * 745 / std::log(x)};
        }
        const std::uint64_t rotary = std::uint64_t{16} << (r.next() % 5);
        const double x = 1e4 * static_cast<double>(1 + r.next() % 1000);
        return Sample{x, -2.0 * static_cast<double>(r.next() % (rotary / 2)) / static_cast<double>(rotary)};
      },
      [](Sample v) { return pow64(v.x, v.y); },
      [](Sample v) { return std::pow(static_cast<long double>(v.x), static_cast<long double>(v.y)); },
      [](Sample v, Mpfr& t) {
        const Mpfr base(v.x), power(v.y);
        mpfr_pow(t.v, base.v, power.v, MPFR_RNDN);
      });
}

void print(std::FILE* out, const Row& r) {
  std::fprintf(out, "| %s | %s | %.4f | %s | %llu | %llu | %llu | %llu |\n", r.name.c_str(), r.inputs.c_str(), r.worst,
               r.worst_input.c_str(), static_cast<unsigned long long>(r.above_one),
               static_cast<unsigned long long>(r.wrong), static_cast<unsigned long long>(r.flush_differs),
               static_cast<unsigned long long>(r.reference_off));
  std::fflush(out);
}

}  // namespace
}  // namespace loom

int main(int count, char** arguments) {
  using namespace loom;
  if (count < 2) return std::fprintf(stderr, "usage: check_math OUT.md [function...]\n"), 2;
  const std::vector<std::string> chosen(arguments + 2, arguments + count);
  const auto wanted = [&](const char* name) {
    return chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end();
  };
  const MathKernelList targets = runnable_math_kernels();
  const MathKernels& kernels = *targets.tables[targets.count - 1];  // all targets give the same bits (math_test.cpp)
  std::vector<Row> rows;
  const auto add = [&](Row row) { print(stdout, row), rows.push_back(std::move(row)); };
  for (const reference::Function& f : reference::kFunctions)
    if (wanted(f.name)) add(check(f, kernels));
  if (wanted("pow")) add(check_pow(kernels));
  for (const reference::Function64& f : reference::kFunctions64)
    if (wanted("64") || wanted(f.name)) add(check_one64(f));
  if (wanted("64") || wanted("pow64")) add(check_pow64());

  std::FILE* out = std::fopen(arguments[1], "w");
  if (out == nullptr) return std::perror(arguments[1]), 1;
  std::fprintf(out,
               "# Errors of the elementary functions\n\n"
               "Written by `build/check_math docs/internals/math_errors.md`, half an hour, which the head of "
               "`tools/check_math.cpp` says how to build; do not edit.\n"
               "The bound is 2 ulp for every input ([numerics.md](numerics.md#functions)). An ulp is the distance of "
               "floats at the true value; f32\n"
               "functions are measured against f64 libm, f64 ones (`...64`, 2^24 samples each) against 80-bit libm, "
               "both confirmed by MPFR. *Wrong*:\n"
               "inputs that break a rule (NaN, zero, infinity, sign). *FTZ*: blocks of 2^14 inputs with any bit "
               "changed when MXCSR flushes subnormals.\n"
               "*Reference*: MPFR disagreed with libm by more than 2^-50 (f32) or 2^-8 ulp (f64).\n\n"
               "| function | inputs | worst error, ulp | at | inputs above 1 ulp | wrong | FTZ | reference |\n"
               "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  for (const Row& row : rows) print(out, row);
  return std::fclose(out) == 0 ? 0 : 1;
}
