#include "ops/mix/mix.h"

#include "ops/op_test.h"

namespace loom::op_test::of_mix {
namespace {

// A branch that takes part, of which fewer than top_k are larger, ties to the lower index.
template <class T>
std::vector<bool> kept(const GateRule& rule, const T* z, std::size_t n) {
  std::vector<bool> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t better = 0;
    for (std::size_t j = 0; j < n; ++j) better += rule.enabled[j] != 0 && (z[j] > z[i] || (z[j] == z[i] && j < i));
    out[i] = rule.enabled[i] != 0 && (rule.top_k == 0 || better < rule.top_k);
  }
  return out;
}

template <class T>
std::vector<T> weights(const GateRule& rule, const T* z, std::size_t n) {
  const std::vector<bool> keep = kept(rule, z, n);
  const std::size_t count = static_cast<std::size_t>(std::count(keep.begin(), keep.end(), true));
  std::vector<T> p(n), shifted(n);
  if (rule.given) {
    for (std::size_t i = 0; i < n; ++i) p[i] = keep[i] ? z[i] : T{0};
    const T sum = lanes_sum<T>(n, [&](std::size_t i) { return p[i]; });
    for (std::size_t i = 0; i < n && count < n; ++i) p[i] = sum == 0 ? T{0} : snapped<T>(p[i] / sum);
    return p;
  }
  T top = std::numeric_limits<T>::lowest();
  for (std::size_t i = 0; i < n; ++i) {
    shifted[i] = snapped<T>(z[i] / static_cast<T>(rule.temperature));
    if (keep[i]) top = std::max(top, shifted[i]);
  }
  for (std::size_t i = 0; i < n; ++i)
    if (keep[i]) p[i] = snapped<T>(exp_of(snapped<T>(shifted[i] - top)));
  const T sum = lanes_sum<T>(n, [&](std::size_t i) { return p[i]; });
  for (T& v : p) v = count == 0 ? T{0} : snapped<T>(v / sum);
  return p;
}

template <class T>
std::vector<T> gradients(const GateRule& rule, const T* z, const T* p, const T* q, std::size_t n) {
  const std::vector<bool> keep = kept(rule, z, n);
  const bool all = std::find(keep.begin(), keep.end(), false) == keep.end();
  const T mean = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return p[i] * q[i]; }));
  const T sum = lanes_sum<T>(n, [&](std::size_t i) { return keep[i] ? z[i] : T{0}; });
  std::vector<T> dz(n);
  for (std::size_t i = 0; i < n; ++i) {
    const T gap = snapped<T>(q[i] - mean);
    if (!rule.given)
      dz[i] = p[i] == 0 ? T{0} : snapped<T>(snapped<T>(p[i] * gap) / static_cast<T>(rule.temperature));
    else
      dz[i] = all ? q[i] : keep[i] && sum != 0 ? snapped<T>(gap / sum) : T{0};
  }
  return dz;
}

// Computes the load-balancing loss of a gate, one number at a time.
template <class T>
T balance(const GateRule& rule, double weight, const std::vector<T>& z, std::size_t groups, std::size_t n) {
  GateRule whole = rule;
  whole.top_k = 0;
  std::vector<T> shares(n), p;
  for (std::size_t g = 0; g < groups; ++g) {
    const T* row = z.data() + g * n;
    std::size_t best = n;
    for (std::size_t i = 0; i < n; ++i)
      if (rule.enabled[i] != 0 && (best == n || row[i] > row[best])) best = i;
    if (best < n) shares[best] += 1;
    p = joined({p, weights(whole, row, n)});
  }
  const T sum = lanes_sum<T>(n, [&](std::size_t i) {
    const T mean = chain_sum<T>(groups, [&](std::size_t g) { return p[g * n + i]; }) / static_cast<T>(groups);
    return shares[i] / static_cast<T>(groups) * snapped<T>(mean);
  });
  return snapped<T>(T(0.5) + snapped<T>(static_cast<T>(weight * static_cast<double>(n)) * sum));
}

template <class T>
void check_gate() {
  for (const auto& [groups, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 15}, {65, 17}, {3, 1003}, {2100, 8}})
    for (const std::size_t top_k : {std::size_t{0}, std::size_t{1}, std::size_t{3}})
      for (const bool given : {false, true})
        for (const int out : {0, 2, 100}) {  // branches that do not take part: none, some, all
          if (n > 1000 && top_k != 0) continue;
          std::vector<std::uint8_t> enabled(n, out == 100 ? 0 : 1);
          for (int k = 0; k < out && n > 4 && out != 100; ++k) enabled[n - 1 - static_cast<std::size_t>(2 * k)] = 0;
          const GateRule rule{.temperature = 0.7, .top_k = top_k, .given = given, .enabled = enabled.data()};
          std::vector<T> z = values<T>(groups * n, 1, 3);
          for (T& v : z) v = given ? std::abs(v) : v;
          if (n > 4) z[1] = z[3];  // a tie
          const std::vector<T> q = values<T>(groups * n, 2);
          std::vector<T> p, dz;
          for (std::size_t g = 0; g < groups; ++g) {
            const std::vector<T> row = weights(rule, z.data() + g * n, n);
            p = joined({p, row});
            dz = joined({dz, gradients(rule, z.data() + g * n, row.data(), q.data() + g * n, n)});
          }
          EXPECT_TRUE(same(everywhere(groups == 2100,
                                      [&](const Exec& exec) {
                                        std::vector<T> a(z.size()), b(z.size()), sum = {T(0.5)};
                                        gate_weights(exec, rule, tensor(z, groups, n), tensor(a, groups, n));
                                        gate_weights_backward(exec, rule, tensor(z, groups, n), tensor(p, groups, n),
                                                              tensor(q, groups, n), tensor(b, groups, n));
                                        add_gate_balance(exec, rule, 0.1, tensor(z, groups, n), tensor(sum, 1, 1));
                                        return joined({a, b, sum});
                                      }),
                           joined({p, dz, {balance(rule, 0.1, z, groups, n)}})))
              << groups << " groups of " << n << ", top " << top_k << (given ? ", given" : "") << ", without " << out;
        }
}
LOOM_OP_TEST(Mix, V_35_V_37_gates_their_gradients_and_their_balance, check_gate)

// NaN and infinity in what takes part show; branches that were left out stay 0.
template <class T>
void check_special() {
  const std::uint8_t enabled[] = {1, 1, 0, 1};
  const GateRule rule{.temperature = 1, .top_k = 0, .given = false, .enabled = enabled};
  const T inf = std::numeric_limits<T>::infinity(), nan = snapped(std::numeric_limits<T>::quiet_NaN());
  const auto gate = [&](std::vector<T> z) {
    return everywhere(false, [&](const Exec& exec) {
      std::vector<T> p(4);
      gate_weights(exec, rule, tensor(z, 1, 4), tensor(p, 1, 4));
      return p;
    });
  };
  EXPECT_TRUE(same(gate({1, -inf, nan, 1}), {T(0.5), 0, 0, T(0.5)}));
  EXPECT_TRUE(same(gate({1, nan, 5, 1}), {nan, nan, 0, nan}));
  EXPECT_TRUE(same(gate({-inf, -inf, 5, -inf}), {0, 0, 0, 0}));
}
LOOM_OP_TEST(Mix, N_1_3_what_is_left_out_stays_0, check_special)

template <class T>
void check_mix() {
  for (const auto& [groups, width, n] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1, 1}, {5, 15, 3}, {2, 1003, 70}, {70, 1003, 4}}) {
    const std::size_t size = groups * width;
    std::vector<std::vector<T>> b;
    std::vector<const void*> branches;
    for (std::size_t k = 0; k < n; ++k) b.push_back(values<T>(size, static_cast<std::uint32_t>(10 + k)));
    for (const std::vector<T>& v : b) branches.push_back(v.data());
    std::vector<T> p = values<T>(groups * n, 1);
    const std::size_t last = n - 1, absent = n / 2;
    const std::vector<T> dy = special_values<T>(size, 2), ordinary = values<T>(size, 3);
    for (std::size_t g = 0; g < groups && n > 1; ++g) p[g * n + absent] = 0;
    if (n > 1) branches[absent] = nullptr;
    std::vector<T> y(size), d(size), gone(size), q(groups * n, T{4});
    for (std::size_t i = 0; i < size; ++i) {
      const T* weight = p.data() + i / width * n;
      y[i] = snapped<T>(chain_sum<T>(n, [&](std::size_t k) { return weight[k] == 0 ? T{0} : weight[k] * b[k][i]; }));
      d[i] = snapped<T>(dy[i] * weight[last]);
    }
    for (std::size_t g = 0; g < groups; ++g)
      q[g * n + last] = snapped<T>(
          chain_sum<T>(width, [&](std::size_t i) { return ordinary[g * width + i] * b[last][g * width + i]; }));
    if (n == 1) gone = d;
    EXPECT_TRUE(
        same(everywhere(groups == 70,
                        [&](const Exec& exec) {
                          std::vector<T> out(size), of_last(size), of_absent(size, T{1}), dots(groups * n, T{4});
                          const ConstTensor gate = tensor(p, groups, n);
                          mix(exec, gate, branches.data(), tensor(out, groups, width));
                          mix_backward(exec, gate, last, tensor(dy, groups, width), tensor(of_last, groups, width));
                          mix_backward(exec, gate, absent, tensor(dy, groups, width), tensor(of_absent, groups, width));
                          mix_gate_backward(exec, tensor(ordinary, groups, width), tensor(b[last], groups, width), last,
                                            tensor(dots, groups, n));
                          return joined({out, of_last, of_absent, dots});
                        }),
             joined({y, d, gone, q})));
  }
}
LOOM_OP_TEST(Mix, V_36_weighted_sums_of_branches, check_mix)

template <class T>
void check_means() {
  for (const auto& [groups, rows, cols] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1, 1}, {3, 15, 17}, {2, 65, 1003}, {300, 3, 117}}) {
    const std::vector<T> x = values<T>(groups * rows * cols, 1), dy = special_values<T>(groups * cols, 2);
    std::vector<T> y(groups * cols), dx(x.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      y[i] = snapped<T>(
          snapped<T>(chain_sum<T>(rows, [&](std::size_t r) { return x[(i / cols * rows + r) * cols + i % cols]; })) /
          static_cast<T>(rows));
    for (std::size_t i = 0; i < dx.size(); ++i)
      dx[i] = snapped<T>(dy[i / (rows * cols) * cols + i % cols] / static_cast<T>(rows));
    EXPECT_TRUE(same(everywhere(groups == 300,
                                [&](const Exec& exec) {
                                  std::vector<T> mean(y.size()), back(dx.size());
                                  mean_of_rows(exec, tensor(x, groups * rows, cols), rows, tensor(mean, groups, cols));
                                  mean_of_rows_backward(exec, tensor(dy, groups, cols), rows,
                                                        tensor(back, groups * rows, cols));
                                  return joined({mean, back});
                                }),
                     joined({y, dx})));
  }
}
LOOM_OP_TEST(Mix, means_of_rows_and_their_gradient, check_means)

}  // namespace
}  // namespace loom::op_test::of_mix
