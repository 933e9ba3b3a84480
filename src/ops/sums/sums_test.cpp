// lanes16 by its definition (docs/numerics.md), and the figures of whole tensors that are made of it, with every instruction set and any number of threads.

#include "ops/sums/sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/philox.h"
#include "ops/gap/gap.h"
#include "ops/noise/noise.h"
#include "ops/statistics/statistics.h"
#include "ops/velocity/velocity.h"
#include "support/divided.h"

namespace loom::sums_test {
namespace {

template <class T>
std::vector<T> values(std::size_t n, std::uint32_t site, double size = 1) {
  const RandomStream stream{20261123, RandomDomain::Init, 0, site};
  std::vector<T> v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = static_cast<T>(size * (2.0 * static_cast<double>(stream.uniform(i)) - 1));
  return v;
}

// The definition, one number at a time.
template <class T, class F>
T defined(std::size_t n, F term) {
  std::vector<T> total(16);
  for (std::size_t lane = 0; lane < 16; ++lane)
    for (std::size_t first = lane; first < n; first += 16 * 64) {
      T block = 0;
      for (std::size_t k = 0, i = first; k < 64 && i < n; ++k, i += 16) block = block + term(i);
      total[lane] = total[lane] + block;
    }
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) total[j] = total[j] + total[j + half];
  return total[0];
}

// f(exec) over n elements with every instruction set and several numbers of threads; what it returns must always be the same.
template <class F>
auto everywhere(std::size_t n, F f) {
  decltype(f(std::declval<const Exec&>())) first{};
  bool is_first = true;
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 7}) {
      const test::ExpectDivided divided(n < kWorthSharing ? 1 : threads);
      const auto pool = ThreadPool::create(threads).value();
      Arena arena = Arena::create(std::size_t{1} << 22).value();
      const auto got = f(Exec{*pool, *kernels_for(isa).value(), arena});
      if (std::exchange(is_first, false)) first = got;
      EXPECT_EQ(got, first) << name(isa) << ", threads " << threads;
    }
  return first;
}

template <class T>
void sums_by_definition() {
  for (const std::size_t n : {1u, 15u, 16u, 1023u, 1024u, 1025u, 2049u, 70000u}) {
    const std::vector<T> x = values<T>(n, 1), e = values<T>(n, 2);
    const auto square = [&](std::size_t i) { return x[i] * x[i]; };
    EXPECT_EQ(lanes16<T>(n, square), defined<T>(n, square)) << n;
    const T width = everywhere(n, [&](const Exec& exec) {
      T to{};
      secant_width(exec, {x.data(), 1, n, element_of<T>}, 0.5, {&to, 1, 1, element_of<T>});
      return to;
    });
    EXPECT_EQ(width, T(0.5) * std::sqrt(defined<T>(n, square) / static_cast<T>(n))) << n;
    const std::vector<T> figures = everywhere(n, [&](const Exec& exec) {
      std::vector<T> to(kGapFigures);
      float failed = 0;
      gap_figures(exec, {x.data(), 1, n, element_of<T>}, {e.data(), 1, n, element_of<T>}, {0.5, 0.75, 0.2}, {to.data(), 1, to.size(), element_of<T>},
                  {&failed, 1, 1, Element::f32});
      EXPECT_EQ(failed, 0);
      return to;
    });
    double dot = 0, aa = 0, tt = 0, gap = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double a = static_cast<double>(x[i]), t = std::clamp(a + 0.5 * static_cast<double>(e[i]), -0.75, 0.75);
      dot += a * t, aa += a * a, tt += t * t, gap += (t - a) * (t - a);
    }
    const double tolerance = sizeof(T) == 8 ? 1e-12 : 2e-6;
    EXPECT_NEAR(static_cast<double>(figures[kBudget]), (dot / std::sqrt(aa * tt) + 1) / 2, tolerance) << n;
    EXPECT_NEAR(static_cast<double>(figures[kGapSize]), std::sqrt(gap / static_cast<double>(n)), tolerance) << n;
    EXPECT_EQ(figures[kMoves], figures[kBudget] < T(0.2) ? T{0} : T{1}) << n;
  }
}

TEST(Sums, N_02_lanes16_is_sixteen_chains_of_64) {
  sums_by_definition<float>();
  sums_by_definition<double>();
}

TEST(Sums, L_150_figures_of_long_tensors) {
  for (const std::size_t n : {5u, 1024u, 3000u, 70001u}) {
    std::vector<float> x = values<float>(n, 3, 3);
    if (n > 100) x[n / 2] = std::nanf("");
    const auto figures = everywhere(n, [&](const Exec& exec) {
      std::vector<float> to(TensorStats::kCount);
      tensor_statistics(exec, {x.data(), 1, n}, {to.data(), 1, to.size(), Element::f32});
      for (float& v : to) v = v != v ? -77.0f : v;  // comparable
      return to;
    });
    const TensorStats s = TensorStats::read({figures.data(), 1, figures.size()});
    double most = -10, least = 10;
    for (const float v : x)
      if (v == v) most = std::max(most, static_cast<double>(v)), least = std::min(least, static_cast<double>(v));
    EXPECT_EQ(s.max, most) << n;
    EXPECT_EQ(s.min, least) << n;
    EXPECT_EQ(s.total, static_cast<double>(n));
    EXPECT_EQ(s.avg == -77, n > 100) << "a NaN shows in the mean";
  }
}

TEST(Velocity, W_11_moves_with_any_number_of_threads_and_counts_what_is_not_finite) {
  constexpr std::size_t kN = 70000;
  const std::vector<float> g = values<float>(kN, 4), w = values<float>(kN, 5), before = values<float>(kN, 6);
  for (const bool moves : {true, false}) {
    const std::vector<float> rate = {moves ? 0.25f : 0.0f, moves ? 1.0f : 0.0f};
    const auto all = everywhere(kN, [&](const Exec& exec) {
      std::vector<float> v = before, to = w, figures(kVelocityFigures);
      float failed = 0;
      const Tensor velocities{v.data(), 1, kN, Element::f32};
      velocity(exec, {0.9, 0.1}, {rate.data(), 1, 2}, {g.data(), 1, kN}, {w.data(), 1, kN}, velocities, {figures.data(), 1, 2, Element::f32},
               {&failed, 1, 1, Element::f32});
      add_velocity(exec, {rate.data(), 1, 2}, {figures.data(), 1, 2}, {&failed, 1, 1}, velocities, 0.8, {to.data(), 1, kN, Element::f32});
      v.insert(v.end(), to.begin(), to.end());
      v.insert(v.end(), figures.begin(), figures.end());
      return v;
    });
    double squares = 0;
    for (std::size_t i = 0; i < kN; ++i) {
      const float v = moves ? 0.9f * before[i] + 0.1f * (0.25f * g[i]) : before[i];
      ASSERT_EQ(all[i], v) << i;
      ASSERT_EQ(all[kN + i], moves ? std::clamp(w[i] + v, -0.8f, 0.8f) : w[i]) << i;
      squares += moves ? static_cast<double>(v) * static_cast<double>(v) : 0;
    }
    EXPECT_NEAR(all[2 * kN], squares, 1e-6 * squares);
    EXPECT_EQ(all[2 * kN + 1], 0);
  }
  std::vector<float> bad = g;
  bad[40000] = std::numeric_limits<float>::infinity(), bad[69999] = std::nanf("");
  const auto counted = everywhere(kN, [&](const Exec& exec) {
    std::vector<float> v = before, to = w, figures(kVelocityFigures);
    const float rate[] = {0.25f, 1};
    float failed = 0;
    const Tensor velocities{v.data(), 1, kN, Element::f32};
    velocity(exec, {0.9, 0.1}, {rate, 1, 2}, {bad.data(), 1, kN}, {w.data(), 1, kN}, velocities, {figures.data(), 1, 2, Element::f32},
             {&failed, 1, 1, Element::f32});
    add_velocity(exec, {rate, 1, 2}, {figures.data(), 1, 2}, {&failed, 1, 1}, velocities, 0, {to.data(), 1, kN, Element::f32});
    EXPECT_EQ(failed, 1);
    EXPECT_EQ(to, w) << "a step that has failed moves nothing";
    return figures[kNotFinite];
  });
  EXPECT_EQ(counted, 2);
}

TEST(Noise, N_08_normal_numbers_have_their_moments_and_do_not_depend_on_how_they_are_divided) {
  const RandomStream stream{7, RandomDomain::Noise, 3, 11};
  for (const std::size_t n : {1u, 7u, 100001u}) {
    const auto x = everywhere(n, [&](const Exec& exec) {
      std::vector<float> to(n);
      normal_noise(exec, 2, stream, {to.data(), 1, n, Element::f32});
      return to;
    });
    const auto wide = everywhere(n, [&](const Exec& exec) {
      std::vector<double> to(n);
      normal_noise(exec, 2, stream, {to.data(), 1, n, Element::f64});
      return to;
    });
    double mean = 0, square = 0;
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_NEAR(static_cast<double>(x[i]), wide[i], 4e-6) << i;
      mean += wide[i] / static_cast<double>(n), square += wide[i] * wide[i] / static_cast<double>(n);
    }
    if (n < 1000) continue;
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(square, 4, 0.1);
  }
}

}  // namespace
}  // namespace loom::sums_test
