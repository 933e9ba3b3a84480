#include "ops/pool/pool.h"

#include <algorithm>

#include "ops/op_test.h"
#include "ops/pool/pool_cases.h"

namespace loom::op_test::of_pool {
namespace {

using test::kPoolCases;
using test::PoolCase;
using test::volume;

using Axes = PoolGeometry::Axes;

// f(tap, element of the plane) for the positions of output o's window that are inside the input, ascending.
template <class F>
void window(const PoolGeometry& g, const Axes& out, std::size_t o, F f) {
  const std::size_t at[] = {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
  for (std::size_t tap = 0; tap < volume(g.kernel); ++tap) {
    const std::size_t k[] = {tap / (g.kernel[1] * g.kernel[2]), tap / g.kernel[2] % g.kernel[1], tap % g.kernel[2]};
    std::size_t element = 0;
    bool inside = true;
    for (std::size_t a = 0; a < 3; ++a) {
      const std::size_t i = at[a] * g.stride[a] + k[a] * g.dilation[a] - g.padding[a];  // wraps outside
      inside = inside && i < g.in[a];
      element = element * g.in[a] + i;
    }
    if (inside) f(tap, element);
  }
}

// A chain64 whose terms come with their indices.
template <class T>
struct Sum {
  std::vector<T> blocks;
  explicit Sum(std::size_t terms) : blocks((terms + 63) / 64) {}
  void add(std::size_t index, T term) { blocks[index / 64] = blocks[index / 64] + term; }
  T total() const {
    T sum = 0;
    for (const T b : blocks) sum = sum + b;
    return sum;
  }
};

template <class T>
std::vector<T> expected_max(const PoolGeometry& g, const Axes& out, const std::vector<T>& x, const std::vector<T>& dy) {
  const std::size_t inputs = volume(g.in), outputs = volume(out), taps = volume(g.kernel);
  std::vector<T> y(dy.size()), dx;
  for (std::size_t plane = 0; plane < x.size() / inputs; ++plane) {
    std::vector<Sum<T>> sums(inputs, Sum<T>(taps));
    for (std::size_t o = 0; o < outputs; ++o) {
      const T* in = x.data() + plane * inputs;
      std::size_t winner = inputs, winning_tap = 0;
      window(g, out, o, [&](std::size_t tap, std::size_t i) {
        if (winner == inputs ? !std::isnan(in[i]) : in[i] > in[winner]) winner = i, winning_tap = tap;
      });
      const bool none = winner == inputs;
      y[plane * outputs + o] = none ? -std::numeric_limits<T>::infinity() : snapped<T>(in[winner]);
      // Windows ascend, so an input meets their taps from the last to the first.
      if (!none) sums[winner].add(taps - 1 - winning_tap, dy[plane * outputs + o]);
    }
    for (const Sum<T>& s : sums) dx.push_back(snapped<T>(s.total()));
  }
  return joined({y, dx});
}

template <class T>
void check_max() {
  for (const PoolCase& c : kPoolCases) {
    SCOPED_TRACE(c.name);
    const Axes out = c.geometry.out().value();
    std::vector<T> x = values<T>(c.planes * volume(c.geometry.in), 1);
    for (std::size_t i = 0; i < x.size(); i += 3) x[i] = static_cast<T>(std::round(x[i] * 4)) / 4;  // ties
    for (std::size_t i = 5; i < x.size(); i += 9) x[i] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t i = 7; i < x.size(); i += 11) x[i] = -T{0};
    for (std::size_t i = 0; i < 40 && i < x.size(); ++i) x[i] = std::numeric_limits<T>::quiet_NaN();  // of nothing else
    const std::vector<T> dy = values<T>(c.planes * volume(out), 2);
    EXPECT_TRUE(same(everywhere(c.shared,
                                [&](const Exec& exec) {
                                  std::vector<T> y(dy.size()), dx(x.size(), T{9});
                                  max_pool(exec, c.geometry, out, tensor(x, 1, x.size()), c.planes,
                                           tensor(y, 1, y.size()));
                                  max_pool_backward(exec, c.geometry, out, tensor(x, 1, x.size()), c.planes,
                                                    tensor(dy, 1, dy.size()), tensor(dx, 1, dx.size()));
                                  return joined({y, dx});
                                }),
                     expected_max(c.geometry, out, x, dy)));
  }
}
LOOM_OP_TEST(Pool, the_largest_of_a_window_and_where_its_gradient_goes, check_max)

template <class T>
std::vector<T> expected_average(const PoolGeometry& g, const Axes& out, const std::vector<T>& x,
                                const std::vector<T>& dy, bool divides) {
  const std::size_t inputs = volume(g.in), outputs = volume(out), taps = volume(g.kernel);
  std::vector<T> y, dx;
  for (std::size_t plane = 0; plane < x.size() / inputs; ++plane) {
    std::vector<Sum<T>> sums(inputs, Sum<T>(taps));
    for (std::size_t o = 0; o < outputs; ++o) {
      std::size_t count = 1;  // positions inside the input, or inside the padded input
      const std::size_t at[] = {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]};
      for (std::size_t a = 0; a < 3; ++a) {
        std::size_t inside = 0;
        for (std::size_t k = 0; k < g.kernel[a]; ++k) {
          const std::size_t i = at[a] * g.stride[a] + k, p = g.padding[a];  // in the padded input
          inside += g.count_include_pad ? i < g.in[a] + 2 * p : i >= p && i < g.in[a] + p;
        }
        count *= inside;
      }
      const T e = dy[plane * outputs + o];
      Sum<T> sum(taps);
      window(g, out, o, [&](std::size_t tap, std::size_t i) {
        sum.add(tap, x[plane * inputs + i]);
        sums[i].add(taps - 1 - tap, divides ? snapped<T>(e / static_cast<T>(count)) : e);
      });
      y.push_back(snapped<T>(sum.total() / static_cast<T>(count)));
    }
    for (const Sum<T>& s : sums) dx.push_back(snapped<T>(s.total()));
  }
  return joined({y, dx});
}

template <class T>
void check_average() {
  for (const PoolCase& c : kPoolCases) {
    if (volume(c.geometry.dilation) != 1) continue;  // averages have none
    for (const bool divides : {true, false}) {
      SCOPED_TRACE(c.name);
      const Axes out = c.geometry.out().value();
      const std::vector<T> x = values<T>(c.planes * volume(c.geometry.in), 3),
                           dy = values<T>(c.planes * volume(out), 4);
      EXPECT_TRUE(same(everywhere(c.shared,
                                  [&](const Exec& exec) {
                                    std::vector<T> y(dy.size()), dx(x.size(), T{9});
                                    average_pool(exec, c.geometry, out, tensor(x, 1, x.size()), c.planes,
                                                 tensor(y, 1, y.size()));
                                    average_pool_backward(exec, c.geometry, out, c.planes, tensor(dy, 1, dy.size()),
                                                          tensor(dx, 1, dx.size()), divides);
                                    return joined({y, dx});
                                  }),
                       expected_average(c.geometry, out, x, dy, divides)));
    }
  }
}
LOOM_OP_TEST(Pool, averages_and_their_gradient_by_chain64, check_average)

template <class T>
void check_planes() {
  for (const std::size_t n : kSizes)
    for (const std::size_t planes : {std::size_t{3}, kShared / n + 1}) {
      const std::vector<T> x = values<T>(planes * n, 5);
      std::vector<T> wanted;
      for (std::size_t p = 0; p < planes; ++p) {
        const T* plane = x.data() + p * n;
        wanted.push_back(snapped(lanes_sum<T>(n, [&](std::size_t i) { return plane[i]; }) / static_cast<T>(n)));
      }
      for (std::size_t p = 0; p < planes; ++p)
        wanted.push_back(snapped(*std::max_element(x.begin() + static_cast<std::ptrdiff_t>(p * n),
                                                   x.begin() + static_cast<std::ptrdiff_t>((p + 1) * n))));
      EXPECT_TRUE(same(everywhere(planes > 3,
                                  [&](const Exec& exec) {
                                    std::vector<T> y(2 * planes);
                                    mean_of_planes(exec, tensor(x, planes, n), y.data());
                                    largest_of_planes(exec, tensor(x, planes, n), y.data() + planes);
                                    return y;
                                  }),
                       wanted))
          << planes << " planes of " << n;
    }
  const T nan = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> odd(40, nan);
  odd[33] = T{-2}, odd[3] = T{-3};
  EXPECT_TRUE(same(everywhere(false,
                              [&](const Exec& exec) {
                                std::vector<T> y(1);
                                largest_of_planes(exec, tensor(odd, 1, odd.size()), y.data());
                                return y;
                              }),
                   std::vector<T>{T{-2}}));
}
LOOM_OP_TEST(Pool, means_and_largest_elements_of_whole_planes, check_planes)

}  // namespace
}  // namespace loom::op_test::of_pool
