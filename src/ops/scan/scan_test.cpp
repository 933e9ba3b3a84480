// The selective scan against plain loops in double, its target rule against the sum over every pair of steps, and its
// bits.

#include "ops/scan/scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/fp_environment.h"
#include "core/philox.h"
#include "ops/all.h"
#include "support/divided.h"

namespace loom::scan_test {
namespace {

struct Sizes {
  std::size_t batch, steps, channels, states;
  std::vector<std::size_t> lengths = {};
  ScanShape shape() const { return {batch, steps, channels, states, lengths.empty() ? nullptr : lengths.data()}; }
};

std::vector<double> values(std::size_t n, std::uint64_t seed, double low, double high) {
  const RandomStream random{.seed = seed};
  std::vector<double> v(n);
  for (std::size_t i = 0; i < n; ++i)
    v[i] = static_cast<double>(static_cast<float>(low + (high - low) * static_cast<double>(random.uniform(i))));
  return v;
}

template <class T>
std::vector<T> as(const std::vector<double>& v) {
  return {v.begin(), v.end()};
}

// Inputs holds seeded operands of a scan that computes with T.
template <class T>
struct Inputs {
  Sizes sizes;
  std::vector<T> x, dt, b, c, a_log, skip, h, dy;
  explicit Inputs(const Sizes& s) : sizes(s) {
    const std::size_t rows = s.batch * s.steps;
    x = as<T>(values(rows * s.channels, 1, -2, 2)), dt = as<T>(values(rows * s.channels, 2, 0, 1));
    b = as<T>(values(rows * s.states, 3, -1, 1)), c = as<T>(values(rows * s.states, 4, -1, 1));
    a_log = as<T>(values(s.channels * s.states, 5, -1, 2)), skip = as<T>(values(s.channels, 6, -1, 1));
    h = as<T>(values(s.batch * s.states * s.channels, 7, -1, 1)), dy = as<T>(values(rows * s.channels, 8, -1, 1));
  }
  // Sample b alone.
  Inputs only(std::size_t sample) const {
    Inputs one = *this;
    one.sizes.batch = 1;
    if (!sizes.lengths.empty()) one.sizes.lengths = {sizes.lengths[sample]};
    for (std::vector<T> Inputs::* const part :
         {&Inputs::x, &Inputs::dt, &Inputs::b, &Inputs::c, &Inputs::h, &Inputs::dy}) {
      const auto size = static_cast<std::ptrdiff_t>((this->*part).size() / sizes.batch),
                 first = static_cast<std::ptrdiff_t>(sample) * size;
      (one.*part).assign((this->*part).begin() + first, (this->*part).begin() + first + size);
    }
    return one;
  }
};

// Every result of the op, by sample where it has samples.
template <class T>
struct Results {
  std::vector<T> y, h, dx, ddt, db, dc, da_log, dskip, d, reads, products;
  explicit Results(const Sizes& s) {
    const std::size_t rows = s.batch * s.steps, wide = s.channels * s.states;
    for (std::vector<T>* const v : {&y, &dx, &ddt, &d, &reads}) v->resize(rows * s.channels);
    db.resize(rows * s.states), dc.resize(rows * s.states);
    h.resize(s.batch * wide), da_log.resize(s.batch * wide);
    dskip.resize(s.batch * s.channels), products.resize(s.batch * s.channels);
  }
  std::vector<const std::vector<T>*> all() const {
    return {&y, &h, &dx, &ddt, &db, &dc, &da_log, &dskip, &d, &reads, &products};
  }
};
constexpr const char* kNames[] = {"y", "h", "dx", "ddt", "db", "dc", "da_log", "dskip", "d", "reads", "products"};

template <class T>
Results<T> run(const Inputs<T>& in, Isa isa, int threads) {
  constexpr Element element = element_of<T>;
  const Sizes& s = in.sizes;
  const std::size_t rows = s.batch * s.steps, wide = s.channels * s.states;
  const auto pool = ThreadPool::create(threads).value();
  Arena arena = Arena::create(std::size_t{64} << 20).value();
  const Exec exec{*pool, *kernels_for(isa).value(), arena};
  Results<T> out(s);
  out.h = in.h;
  std::vector<T> a(wide), before(rows * wide);
  scan_rates(exec, in.a_log.data(), s.shape(), element, a.data());
  const auto given = [&](const std::vector<T>& v, std::size_t cols) {
    return ConstTensor{v.data(), v.size() / cols, cols, element};
  };
  const auto made = [&](std::vector<T>& v, std::size_t cols) {
    return Tensor{v.data(), v.size() / cols, cols, element};
  };
  const Scan scan{
      s.shape(), given(in.x, s.channels), given(in.dt, s.channels), given(in.b, s.states), given(in.c, s.states),
      a.data(),  in.skip.data()};
  selective_scan(exec, scan, made(out.h, wide), made(before, wide), made(out.y, s.channels));
  selective_scan_backward(exec, scan, given(before, wide), given(in.dy, s.channels),
                          {made(out.dx, s.channels), made(out.ddt, s.channels), made(out.db, s.states),
                           made(out.dc, s.states), made(out.da_log, wide), made(out.dskip, s.channels)});
  selective_scan_gap(exec, scan, given(in.dy, s.channels), made(out.d, s.channels), made(out.reads, s.channels),
                     made(out.products, s.channels));
  EXPECT_EQ(arena.mark().bytes(), 0u);
  return out;
}

// Loops over the equations. The gradient of a state goes to every step before it by the product of the decays between.
Results<double> expected(const Inputs<double>& in) {
  const auto [batch, steps, channels, states, lengths] = in.sizes;
  Results<double> out(in.sizes);
  out.h = in.h;
  for (std::size_t b = 0; b < batch; ++b)
    for (std::size_t d = 0; d < channels; ++d) {
      const std::size_t length = lengths.empty() ? steps : lengths[b];
      const auto row = [&](std::size_t t) { return b * steps + t; };
      const auto at = [&](std::size_t t) { return row(t) * channels + d; };
      for (std::size_t t = 0; t < length; ++t) {
        out.y[at(t)] += in.skip[d] * in.x[at(t)], out.dx[at(t)] += in.dy[at(t)] * in.skip[d];
        out.dskip[b * channels + d] += in.dy[at(t)] * in.x[at(t)];
        out.reads[at(t)] += std::abs(in.skip[d]);
      }
      for (std::size_t n = 0; n < states; ++n) {
        const double a = -std::exp(in.a_log[d * states + n]);
        double& h = out.h[(b * states + n) * channels + d];
        std::vector<double> was(length);
        const auto decay = [&](std::size_t t) { return std::exp(in.dt[at(t)] * a); };
        for (std::size_t t = 0; t < length; ++t) {
          was[t] = h;
          h = decay(t) * h + in.dt[at(t)] * in.b[row(t) * states + n] * in.x[at(t)];
          out.y[at(t)] += in.c[row(t) * states + n] * h;
          out.dc[row(t) * states + n] += in.dy[at(t)] * h;
        }
        for (std::size_t t = 0; t < length; ++t) {
          double path = in.c[row(t) * states + n];  // from h of step s to y of step t
          for (std::size_t s = t + 1; s-- > 0;) {
            const double g = in.dy[at(t)] * path, bs = in.b[row(s) * states + n], slope = g * was[s] * decay(s);
            out.dx[at(s)] += g * in.dt[at(s)] * bs;
            out.db[row(s) * states + n] += g * in.dt[at(s)] * in.x[at(s)];
            out.ddt[at(s)] += g * bs * in.x[at(s)] + slope * a;
            out.da_log[(b * channels + d) * states + n] += slope * in.dt[at(s)] * a;
            out.reads[at(s)] += std::abs(path * in.dt[at(s)] * bs);
            path *= decay(s);
          }
        }
      }
    }
  out.d = out.dx, out.products = out.dskip;
  return out;
}

const std::vector<Sizes>& sizes() {
  static const std::vector<Sizes> all = {{1, 1, 1, 1},
                                         {3, 2, 5, 4},
                                         {1, 17, 1, 16},
                                         {17, 3, 16, 2},
                                         {2, 67, 33, 3},
                                         {2, 5, 40, 7},
                                         {4, 5, 19, 3, {5, 0, 2, 4}}};
  return all;
}

template <class T>
void expect_near_loops(const Sizes& s, Isa isa, double bound) {
  const Inputs<T> in(s);
  const Results<T> found = run(in, isa, 1);
  const Results<double> wanted = expected(Inputs<double>(s));
  for (std::size_t k = 0; k < std::size(kNames); ++k) {
    const std::vector<double>& w = *wanted.all()[k];
    double largest = 0;
    for (const double v : w) largest = std::max(largest, std::abs(v));
    for (std::size_t i = 0; i < w.size(); ++i)
      ASSERT_NEAR(static_cast<double>((*found.all()[k])[i]), w[i], bound * std::max(largest, 1e-3))
          << kNames[k] << " " << i;
  }
}

TEST(Scan, equals_plain_loops) {  // L-160, L-161, L-162
  const FpEnvironment environment;
  for (const Sizes& s : sizes()) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}], {} states", s.batch, s.steps, s.channels, s.states));
    expect_near_loops<double>(s, usable_isas().back(), 1e-13);
    expect_near_loops<float>(s, usable_isas().back(), 5e-6);
  }
}

template <class T>
void expect_same(const Results<T>& found, const Results<T>& wanted) {
  for (std::size_t k = 0; k < std::size(kNames); ++k) EXPECT_EQ(*found.all()[k], *wanted.all()[k]) << kNames[k];
}

template <class T>
void check_bits(const Sizes& s, bool divides) {
  const Inputs<T> in(s);
  const Results<T> wanted = run(in, usable_isas().front(), 1);
  for (const Isa isa : usable_isas())
    for (const int threads : {1, 2, 3, 7}) {
      SCOPED_TRACE(fmt::format("{}, {} threads", name(isa), threads));
      const test::ExpectDivided divided(divides ? threads : 1);
      expect_same(run(in, isa, threads), wanted);
    }
}

TEST(Scan, the_same_bits_on_every_instruction_set_and_number_of_threads) {  // N-01
  const FpEnvironment environment;
  for (const Sizes& s : sizes()) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}], {} states", s.batch, s.steps, s.channels, s.states));
    check_bits<float>(s, false), check_bits<double>(s, false);
  }
  check_bits<float>({3, 40, 70, 16}, true);
  check_bits<double>({1, 90, 70, 16}, true);
}

// A sample gives the same bits alone and among others, and a run the same in two parts as in one.
template <class T>
void check_neighbours() {
  const Sizes s{3, 9, 35, 5, {9, 4, 7}};
  const Inputs<T> in(s);
  const Results<T> whole = run(in, usable_isas().back(), 1);
  for (std::size_t b = 0; b < s.batch; ++b) {
    const Results<T> alone = run(in.only(b), usable_isas().back(), 1);
    for (std::size_t k = 0; k < std::size(kNames); ++k) {
      const std::vector<T>& one = *alone.all()[k];
      EXPECT_TRUE(
          std::equal(one.begin(), one.end(), whole.all()[k]->begin() + static_cast<std::ptrdiff_t>(b * one.size())))
          << kNames[k] << " of sample " << b;
    }
  }
}

TEST(Scan, a_sample_has_the_same_bits_alone_and_in_a_batch) {  // N-01
  const FpEnvironment environment;
  check_neighbours<float>();
  check_neighbours<double>();
}

// A step size that lets everything decay at once, one that snaps to 0, and 0, which changes nothing.
TEST(Scan, extreme_step_sizes_leave_numbers) {  // numerics 1.2
  const FpEnvironment environment;
  Inputs<float> in(Sizes{1, 2, 3, 2});
  in.dt = {0, 1e4f, 1e-20f, 0, 1e4f, 1e-20f};
  const Results<float> out = run(in, usable_isas().back(), 1);
  for (std::size_t k = 0; k < std::size(kNames); ++k)
    for (const float v : *out.all()[k]) {
      EXPECT_TRUE(std::isfinite(v)) << kNames[k];
      EXPECT_TRUE(v == 0 ? !std::signbit(v) : std::abs(v) >= 0x1p-51f) << kNames[k] << " " << v;
    }
  for (const std::size_t n : {0u, 1u}) EXPECT_EQ(out.h[n * 3], in.h[n * 3]);  // dt 0
  EXPECT_EQ(out.h[1], 1e4f * in.x[4] * in.b[2]);                              // all before has decayed
}

}  // namespace
}  // namespace loom::scan_test
