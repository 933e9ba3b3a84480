#pragma once
// The tests of ops share this code: numbers, the two orders of sums by their definition (docs/internals/numerics.md),
// and runs with every instruction set of this machine and several numbers of threads.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "simd/math.h"
#include "simd/simd64.h"
#include "support/divided.h"

namespace loom::op_test {

// Lengths about the sixteen lanes, a block of chain64 and one of lanes16.
inline constexpr std::size_t kSizes[] = {1, 15, 17, 65, 1003, 2100};
// Elements that are shared out among threads, whatever they cost.
inline constexpr std::size_t kShared = 70001;

// n numbers in (-size, size), another row of them for each `site`.
template <class T>
std::vector<T> values(std::size_t n, std::uint32_t site, double size = 1) {
  const RandomStream stream{20261123, RandomDomain::Init, 0, site};
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; i += 4) {
    const PhiloxBlock words = stream.block(i / 4);
    for (std::size_t k = 0; k < 4 && i + k < n; ++k)
      v[i + k] = static_cast<T>(static_cast<float>(size * (2.0 * static_cast<double>(uniform_of(words[k])) - 1)));
  }
  return v;
}
// Like values(), with some special values: infinities, NaN, signed zeros, subnormals.
template <class T>
std::vector<T> special_values(std::size_t n, std::uint32_t site, double size = 1) {
  using L = std::numeric_limits<T>;
  const T special[] = {T{0},        -L::infinity(), L::quiet_NaN(), -T{0},    L::denorm_min(), L::infinity(),
                       L::lowest(), L::max(),       -L::min(),      T(1e-40), T(-1e-16)};
  std::vector<T> v = values<T>(n, site, size);
  for (std::size_t i = site % 7; i < n; i += 7) v[i] = special[i / 7 % std::size(special)];
  return v;
}

// Smaller than 2^-51 (f64: 2^-485) in size: +0. NaN: the one quiet NaN.
template <class T>
T snapped(T x) {
  if (std::isnan(x))
    return std::bit_cast<T>(std::conditional_t < sizeof(T) == 8, std::uint64_t,
                            std::uint32_t > (sizeof(T) == 8 ? 0x7ff8000000000000u : 0x7fc00000u));
  return std::abs(x) < static_cast<T>(sizeof(T) == 8 ? 0x1p-485 : 0x1p-51) ? T{0} : x;
}

// term(0) + ... + term(n - 1): sixteen chains whose blocks of 64 terms are added one after the other, then the fold.
template <class T, class F>
T lanes_sum(std::size_t n, F&& term) {
  T total[16];
  for (std::size_t lane = 0; lane < 16; ++lane) {
    total[lane] = 0;
    for (std::size_t first = lane; first < n; first += 16 * 64) {
      T block = 0;
      for (std::size_t k = 0, i = first; k < 64 && i < n; ++k, i += 16) block = block + static_cast<T>(term(i));
      total[lane] = total[lane] + block;
    }
  }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) total[j] = total[j] + total[j + half];
  return total[0];
}
// Blocks of 64 terms, each from +0, added ascending.
template <class T, class F>
T chain_sum(std::size_t n, F&& term) {
  T total = 0;
  for (std::size_t first = 0; first < n; first += 64) {
    T block = 0;
    for (std::size_t i = first; i < n && i < first + 64; ++i) block = block + static_cast<T>(term(i));
    total = total + block;
  }
  return total;
}

template <class T>
Tensor tensor(std::vector<T>& v, std::size_t rows, std::size_t cols) {
  return {v.data(), rows, cols, element_of<T>};
}
template <class T>
ConstTensor tensor(const std::vector<T>& v, std::size_t rows, std::size_t cols) {
  return {v.data(), rows, cols, element_of<T>};
}

// Succeeds for equal bits, of every NaN too; a failure names the first number that differs.
template <class T>
::testing::AssertionResult same(const std::vector<T>& found, const std::vector<T>& wanted) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  if (found.size() != wanted.size())
    return ::testing::AssertionFailure() << found.size() << " elements, not " << wanted.size();
  for (std::size_t i = 0; i < found.size(); ++i)
    if (std::bit_cast<Bits>(found[i]) != std::bit_cast<Bits>(wanted[i]))
      return ::testing::AssertionFailure() << "element " << i << " is " << found[i] << ", not " << wanted[i];
  return ::testing::AssertionSuccess();
}
template <class T>
::testing::AssertionResult near(const std::vector<T>& found, const std::vector<double>& wanted, double bound) {
  if (found.size() != wanted.size())
    return ::testing::AssertionFailure() << found.size() << " elements, not " << wanted.size();
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(static_cast<double>(found[i]) - wanted[i]) <= bound * std::max(1.0, std::abs(wanted[i]))))
      return ::testing::AssertionFailure() << "element " << i << " is " << found[i] << ", not " << wanted[i];
  return ::testing::AssertionSuccess();
}

// Returns the vector that f(exec) gives, and expects the same bits with every instruction set and with 1 and 3 threads.
// A rehearsal comes first, in which nothing may be touched. `shared`: three threads must have divided the work.
template <class F>
auto everywhere(bool shared, F&& f) {
  const FpEnvironment environment;
  {
    const auto pool = ThreadPool::create(1).value();
    Arena measuring = Arena::measuring();
    (void)f(Exec{*pool, *kernels_for(usable_isas().front()).value(), measuring});
  }
  decltype(f(std::declval<const Exec&>())) first{};
  bool is_first = true;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 3}) {
      const test::ExpectDivided divided(shared ? threads : 1);
      const auto pool = ThreadPool::create(threads).value();
      Arena arena = Arena::create(std::size_t{64} << 20).value();
      auto got = f(Exec{*pool, *kernels_for(isa).value(), arena});
      EXPECT_EQ(arena.mark().bytes(), 0u);
      if (std::exchange(is_first, false)) first = got;
      EXPECT_TRUE(same(got, first)) << name(isa) << ", threads " << threads;
    }
  return first;
}

// The parts one after the other, for everywhere().
template <class T>
std::vector<T> joined(std::initializer_list<std::vector<T>> parts) {
  std::vector<T> all;
  for (const std::vector<T>& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline float exp_of(float x) { return first_lane(exp(splat(x))); }
inline double exp_of(double x) { return exp64(x); }
inline float log_of(float x) { return first_lane(log(splat(x))); }
inline double log_of(double x) { return log64(x); }
inline float tanh_of(float x) { return first_lane(tanh(splat(x))); }
inline double tanh_of(double x) { return tanh64(x); }
inline float sigmoid_of(float x) { return first_lane(sigmoid(splat(x))); }
inline double sigmoid_of(double x) { return sigmoid64(x); }
inline float cos_of(float x) { return first_lane(cos(splat(x))); }
inline double cos_of(double x) { return cos64(x); }
inline float sin_of(float x) { return first_lane(sin(splat(x))); }
inline double sin_of(double x) { return sin64(x); }
inline float pow_of(float x, float y) { return first_lane(pow(splat(x), splat(y))); }
inline double pow_of(double x, double y) { return pow64(x, y); }

// Calls check<float>() and check<double>().
#define LOOM_OP_TEST(suite, test_name, check) \
  TEST(suite, test_name) {                    \
    const FpEnvironment environment;          \
    {                                         \
      SCOPED_TRACE("f32");                    \
      check<float>();                         \
    }                                         \
    SCOPED_TRACE("f64");                      \
    check<double>();                          \
  }

}  // namespace loom::op_test
