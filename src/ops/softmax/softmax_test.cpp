#include "ops/softmax/softmax.h"

#include "ops/op_test.h"
#include "ops/softmax/combine.h"

namespace loom::op_test::of_softmax {
namespace {

constexpr double kTemperature = 0.7;

// z = x / T less its largest.
template <class T>
std::vector<T> shifted(const T* x, std::size_t n, const std::vector<bool>& seen = {},
                       double temperature = kTemperature) {
  std::vector<T> z(n);
  T top = std::numeric_limits<T>::lowest();
  for (std::size_t i = 0; i < n; ++i) {
    z[i] = snapped<T>(x[i] / static_cast<T>(temperature));
    if ((seen.empty() || seen[i]) && z[i] > top) top = z[i];
  }
  for (T& v : z) v = snapped<T>(v - top);
  return z;
}

template <class T>
std::vector<T> softmax_of(const T* x, std::size_t n, const std::vector<bool>& seen = {},
                          double temperature = kTemperature) {
  std::vector<T> p = shifted(x, n, seen, temperature);
  for (std::size_t i = 0; i < n; ++i) p[i] = seen.empty() || seen[i] ? snapped<T>(exp_of(p[i])) : T{0};
  const T total = lanes_sum<T>(n, [&](std::size_t i) { return p[i]; });
  for (T& v : p) v = snapped<T>(v / total);
  return p;
}

template <class T>
std::vector<T> softmax_gradient(const T* p, const T* dy, std::size_t n, double temperature) {
  const T mean = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return p[i] * dy[i]; }));
  std::vector<T> dx(n);
  for (std::size_t i = 0; i < n; ++i)
    dx[i] = snapped<T>(snapped<T>(p[i] * snapped<T>(dy[i] - mean)) / static_cast<T>(temperature));
  return dx;
}

// rows x cols, with every row of `x` given to f, whose results follow each other.
template <class T, class F>
std::vector<T> by_row(std::size_t rows, std::size_t cols, F f) {
  std::vector<T> out;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<T> row = f(r * cols);
    out.insert(out.end(), row.begin(), row.end());
  }
  return out;
}

using Extents = std::pair<std::size_t, std::size_t>;
const Extents kShapes[] = {{1, 1}, {17, 15}, {3, 17}, {2, 1003}, {2, 2100}, {1100, 65}};

template <class T>
void check_softmax() {
  for (const auto& [rows, cols] : kShapes)
    for (const double temperature : {kTemperature, 1.0}) {
      const std::vector<T> x = values<T>(rows * cols, 1, 6), dy = values<T>(rows * cols, 2);
      const SoftmaxRun whole[] = {{0, cols, 1}};
      const std::vector<T> p =
          by_row<T>(rows, cols, [&](std::size_t at) { return softmax_of(x.data() + at, cols, {}, temperature); });
      const std::vector<T> dx = by_row<T>(rows, cols, [&](std::size_t at) {
        return softmax_gradient(p.data() + at, dy.data() + at, cols, temperature);
      });
      EXPECT_TRUE(same(everywhere(rows == 1100,
                                  [&](const Exec& exec) {
                                    std::vector<T> a(x.size()), b(x.size());
                                    softmax(exec, tensor(x, rows, cols), temperature, whole, tensor(a, rows, cols));
                                    softmax_backward(exec, tensor(p, rows, cols), tensor(dy, rows, cols), temperature,
                                                     whole, tensor(b, rows, cols));
                                    return joined({a, b});
                                  }),
                       joined({p, dx})))
          << rows << " rows of " << cols << ", T " << temperature;
    }
}
LOOM_OP_TEST(Softmax, rows_and_their_gradients_by_definition, check_softmax)

// A row of 29 as runs of 1 x 2, 3 x 8 and 3 x 1.
template <class T>
void check_runs() {
  const SoftmaxRun runs[] = {{0, 2, 1}, {2, 8, 3}, {26, 1, 3}};
  const std::vector<T> x = values<T>(29, 1, 4);
  std::vector<T> wanted;
  for (const SoftmaxRun& run : runs)
    for (std::size_t k = 0; k < run.count; ++k)
      wanted = joined({wanted, softmax_of(x.data() + run.first + k * run.width, run.width)});
  EXPECT_TRUE(same(everywhere(false,
                              [&](const Exec& exec) {
                                std::vector<T> p(29);
                                softmax(exec, tensor(x, 1, 29), kTemperature, runs, tensor(p, 1, 29));
                                return p;
                              }),
                   wanted));
}
LOOM_OP_TEST(Softmax, runs_are_distributions_of_their_own, check_runs)

// NaN and infinity spread over their row; what is minus infinity has no share.
template <class T>
void check_special() {
  const T inf = std::numeric_limits<T>::infinity(), nan = snapped(std::numeric_limits<T>::quiet_NaN());
  const auto row = [&](std::vector<T> x) {
    return everywhere(false, [&](const Exec& exec) {
      std::vector<T> p(x.size());
      const SoftmaxRun run[] = {{0, x.size(), 1}};
      softmax(exec, tensor(x, 1, x.size()), kTemperature, run, tensor(p, 1, x.size()));
      return p;
    });
  };
  EXPECT_TRUE(same(row({1, -inf, 1}), {T(0.5), 0, T(0.5)}));
  EXPECT_TRUE(same(row({1, nan, 1}), {nan, nan, nan}));
  EXPECT_TRUE(same(row({1, inf, 1}), {nan, nan, nan}));
  EXPECT_TRUE(same(row({-inf, -inf, -inf}), {nan, nan, nan}));
}
LOOM_OP_TEST(Softmax, N_1_3_what_is_not_finite_spreads, check_special)

template <class T>
void check_masks() {
  for (const auto& [rows, cols] : kShapes)
    for (const int way : {0, 1, 2}) {  // a list, a list shorter than a row, a mask of the call
      const std::vector<T> x = values<T>(rows * cols, 3, 6);
      std::vector<std::uint8_t> listed(way == 1 ? (cols + 1) / 2 : cols);
      for (std::size_t i = 0; i < listed.size(); ++i) listed[i] = i % 3 != 1;
      std::vector<T> call = values<T>(rows * cols, 4);
      for (std::size_t i = 0; i < cols; ++i) call[i] = T{-1};  // nothing is seen in the first row
      const SoftmaxMask mask{.listed = listed, .call = way == 2 ? call.data() : nullptr};
      const std::vector<T> wanted = by_row<T>(rows, cols, [&](std::size_t at) {
        std::vector<bool> seen(cols);
        for (std::size_t i = 0; i < cols; ++i)
          seen[i] = way == 2 ? call[at + i] > 0 : i >= listed.size() || listed[i] != 0;
        if (std::find(seen.begin(), seen.end(), true) == seen.end()) return std::vector<T>(cols);
        return softmax_of(x.data() + at, cols, seen);
      });
      EXPECT_TRUE(same(everywhere(rows == 1100,
                                  [&](const Exec& exec) {
                                    std::vector<T> p(x.size());
                                    masked_softmax(exec, tensor(x, rows, cols), kTemperature, mask,
                                                   tensor(p, rows, cols));
                                    return p;
                                  }),
                       wanted))
          << rows << " rows of " << cols << ", way " << way;
    }
}
LOOM_OP_TEST(Softmax, masks_leave_out_entries_and_whole_rows, check_masks)

template <class T>
std::vector<T> sparsemax_of(const T* x, std::size_t n) {
  std::vector<T> p = shifted(x, n), sorted = p;
  std::sort(sorted.begin(), sorted.end(), std::greater<T>());
  T sum = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = sum + sorted[i];
    const T candidate = snapped<T>(snapped<T>(sum - 1) / static_cast<T>(i + 1));
    if (!(sorted[i] > candidate)) break;
    tau = candidate;
  }
  for (T& v : p) v = v > tau ? snapped<T>(v - tau) : T{0};
  return p;
}

template <class T>
std::vector<T> entmax15_of(const T* x, std::size_t n) {
  std::vector<T> p = shifted(x, n);
  for (T& v : p) v = snapped<T>(v * T(0.5));
  std::vector<T> sorted = p;
  std::sort(sorted.begin(), sorted.end(), std::greater<T>());
  T sum = 0, squares = 0, tau = 0;
  for (std::size_t i = 0; i < n; ++i) {
    sum = sum + sorted[i], squares = squares + sorted[i] * sorted[i];
    const T count = static_cast<T>(i + 1), mean = snapped<T>(sum / count);
    const T rest = snapped<T>((1 - (squares - count * snapped<T>(mean * mean))) / count);
    const T candidate = mean - std::sqrt(std::max(rest, T{0}));
    if (!(sorted[i] >= candidate)) break;
    tau = candidate;
  }
  for (T& v : p) {
    const T root = v > tau ? snapped<T>(v - tau) : T{0};
    v = snapped<T>(root * root);
  }
  return p;
}

// dx = s (dy - sum s dy / sum s) / T.
template <class T>
std::vector<T> entmax_gradient(const std::vector<T>& s, const T* dy) {
  const std::size_t n = s.size();
  const T total = lanes_sum<T>(n, [&](std::size_t i) { return s[i]; });
  const T mean = snapped<T>(snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return s[i] * dy[i]; })) / total);
  std::vector<T> dx(n);
  for (std::size_t i = 0; i < n; ++i)
    dx[i] = snapped<T>(snapped<T>(s[i] * snapped<T>(dy[i] - mean)) / static_cast<T>(kTemperature));
  return dx;
}

template <class T>
std::vector<T> sparsemax_gradient(const T* p, const T* dy, std::size_t n) {
  const auto support = static_cast<T>(std::count_if(p, p + n, [](T v) { return v > 0; }));
  const T mean = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return p[i] > 0 ? dy[i] : T{0}; }) / support);
  std::vector<T> dx(n);
  for (std::size_t i = 0; i < n; ++i)
    dx[i] = p[i] > 0 ? snapped<T>(snapped<T>(dy[i] - mean) / static_cast<T>(kTemperature)) : T{0};
  return dx;
}

// The sizes are chosen so that, of entries far apart, few are above the threshold, and of near ones all are.
template <class T>
void check_sorted() {
  for (const auto& [rows, cols] : kShapes)
    for (const double size : {3.0, 1e-4, 0.0}) {
      const std::vector<T> x = values<T>(rows * cols, 5, size), dy = values<T>(rows * cols, 6);
      const auto of = [&](auto f) { return by_row<T>(rows, cols, f); };
      const std::vector<T> sparse = of([&](std::size_t at) { return sparsemax_of(x.data() + at, cols); });
      const std::vector<T> ent = of([&](std::size_t at) { return entmax15_of(x.data() + at, cols); });
      const std::vector<T> sparse_dx =
          of([&](std::size_t at) { return sparsemax_gradient(sparse.data() + at, dy.data() + at, cols); });
      const std::vector<T> ent_dx = of([&](std::size_t at) {
        std::vector<T> s(ent.begin() + static_cast<std::ptrdiff_t>(at),
                         ent.begin() + static_cast<std::ptrdiff_t>(at + cols));
        for (T& v : s) v = std::sqrt(v);
        return entmax_gradient(s, dy.data() + at);
      });
      EXPECT_TRUE(same(everywhere(rows == 1100,
                                  [&](const Exec& exec) {
                                    std::vector<T> a(x.size()), b = a, c = a, d = a;
                                    const auto as = [&](auto& v) { return tensor(v, rows, cols); };
                                    sparsemax(exec, as(x), kTemperature, as(a));
                                    sparsemax_backward(exec, as(sparse), as(dy), kTemperature, as(b));
                                    entmax(exec, as(x), kTemperature, 1.5, as(c));
                                    entmax_backward(exec, as(ent), as(dy), kTemperature, 1.5, as(d));
                                    return joined({a, b, c, d});
                                  }),
                       joined({sparse, sparse_dx, ent, ent_dx})))
          << rows << " rows of " << cols << ", size " << size;
    }
}
LOOM_OP_TEST(Softmax, sparsemax_and_entmax_in_sorted_order, check_sorted)

template <class T>
std::vector<T> entmax_of(const T* x, std::size_t n, double alpha) {
  std::vector<T> z = shifted(x, n), p(n);
  for (T& v : z) v = snapped<T>(v * static_cast<T>(alpha - 1));
  const T power = static_cast<T>(1 / (alpha - 1));
  const auto fill = [&](T tau) {
    for (std::size_t i = 0; i < n; ++i) {
      const T above = snapped<T>(z[i] - tau);
      p[i] = above > 0 ? snapped<T>(pow_of(above, power)) : T{0};
    }
    return lanes_sum<T>(n, [&](std::size_t i) { return p[i]; });
  };
  T low = -1, high = 0;
  for (int step = 0; step < (sizeof(T) == 8 ? 50 : 30); ++step) {
    const T tau = (low + high) / 2;
    (fill(tau) >= 1 ? low : high) = tau;
  }
  const T total = fill(low);
  for (T& v : p) v = snapped<T>(v / total);
  return p;
}

template <class T>
void check_bisected() {
  for (const auto& [rows, cols] : {Extents{1, 1}, {3, 17}, {1, 1003}, {5, 65}})
    for (const double alpha : {1.2, 2.0, 3.5}) {
      const std::vector<T> x = values<T>(rows * cols, 7, 3), dy = values<T>(rows * cols, 8);
      const std::vector<T> p =
          by_row<T>(rows, cols, [&](std::size_t at) { return entmax_of(x.data() + at, cols, alpha); });
      const std::vector<T> dx = by_row<T>(rows, cols, [&](std::size_t at) {
        std::vector<T> s(cols);
        for (std::size_t i = 0; i < cols; ++i)
          s[i] = p[at + i] > 0 ? snapped<T>(pow_of(p[at + i], static_cast<T>(2 - alpha))) : T{0};
        return entmax_gradient(s, dy.data() + at);
      });
      EXPECT_TRUE(same(everywhere(rows == 5,
                                  [&](const Exec& exec) {
                                    std::vector<T> a(x.size()), b(x.size());
                                    entmax(exec, tensor(x, rows, cols), kTemperature, alpha, tensor(a, rows, cols));
                                    entmax_backward(exec, tensor(p, rows, cols), tensor(dy, rows, cols), kTemperature,
                                                    alpha, tensor(b, rows, cols));
                                    return joined({a, b});
                                  }),
                       joined({p, dx})))
          << rows << " rows of " << cols << ", alpha " << alpha;
    }
}
LOOM_OP_TEST(Softmax, entmax_by_bisection, check_bisected)

// A row of sparsemax or entmax that has no distribution is NaN throughout; the others stay as they are.
template <class T>
void check_sparse_special() {
  const T inf = std::numeric_limits<T>::infinity(), nan = snapped(std::numeric_limits<T>::quiet_NaN());
  for (const T odd : {inf, -inf, nan}) {
    const std::vector<T> x = {0, 5, 0, odd, 0, 0};
    const auto found = everywhere(false, [&](const Exec& exec) {
      std::vector<T> a(6), b(6), c(6);
      sparsemax(exec, tensor(x, 3, 2), 1, tensor(a, 3, 2));
      entmax(exec, tensor(x, 3, 2), 1, 1.5, tensor(b, 3, 2));
      entmax(exec, tensor(x, 3, 2), 1, 3, tensor(c, 3, 2));
      return joined({a, b, c});
    });
    for (auto at = found.begin(); at != found.end(); at += 6) {
      const T one = odd == -inf ? T{1} : nan, none = odd == -inf ? T{0} : nan;
      EXPECT_TRUE(same(std::vector<T>(at, at + 4), {0, 1, one, none})) << "with " << odd;
    }
  }
}
LOOM_OP_TEST(Softmax, N_1_3_a_sparse_row_without_a_distribution_is_NaN, check_sparse_special)

template <class T>
void check_gumbel() {
  const RandomStream stream{3, RandomDomain::Gumbel, 2, 5};
  for (const std::size_t n : {1u, 15u, 65u, 1003u, 70001u})
    for (const std::size_t first : {0u, 7u}) {
      const std::vector<T> x = values<T>(n, 9);
      std::vector<T> wanted(n);
      for (std::size_t i = 0; i < n; ++i)
        wanted[i] = snapped<T>(x[i] - snapped<T>(log_of(-log_of(static_cast<T>(stream.uniform(first + i))))));
      EXPECT_TRUE(same(everywhere(n == kShared,
                                  [&](const Exec& exec) {
                                    std::vector<T> y(n);
                                    add_gumbel_noise(exec, tensor(x, 1, n), 3, 2, 5, tensor(y, 1, n), first);
                                    return y;
                                  }),
                       wanted))
          << n << " from " << first;
    }
}
LOOM_OP_TEST(Softmax, N_08_gumbel_noise_by_its_stream, check_gumbel)

template <class T>
void check_one_hot() {
  for (const auto& [rows, cols] : kShapes) {
    std::vector<T> x = special_values<T>(rows * cols, 10), wanted(x.size());
    if (cols > 15) x[9] = x[12] = std::numeric_limits<T>::infinity();  // the first of equals
    for (std::size_t r = 0; r < rows; ++r) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < cols; ++i) {
        const T v = x[r * cols + i], top = x[r * cols + best];
        if (v > top || (std::isnan(top) && !std::isnan(v))) best = i;
      }
      wanted[r * cols + best] = 1;
    }
    EXPECT_TRUE(same(everywhere(rows == 1100,
                                [&](const Exec& exec) {
                                  std::vector<T> y(x.size());
                                  one_hot_of_largest(exec, tensor(x, rows, cols), tensor(y, rows, cols));
                                  return y;
                                }),
                     wanted));
  }
}
LOOM_OP_TEST(Softmax, one_at_the_first_of_the_largest, check_one_hot)

template <class T>
void check_tree() {
  for (const auto& [levels, rows] :
       {std::pair<std::vector<std::size_t>, std::size_t>{{3}, 2}, {{2, 3, 17}, 5}, {{4, 5, 20}, 200}}) {
    std::size_t nodes = 0, leaves = 1;
    for (const std::size_t children : levels) leaves *= children, nodes += leaves;
    const std::vector<T> q = values<T>(rows * nodes, 1), dy = values<T>(rows * leaves, 2);
    std::vector<T> p(q.size()), y(dy.size()), dq(q.size()), dp(q.size());
    for (std::size_t r = 0; r < rows; ++r) {
      const auto at = [&](std::size_t i) { return r * nodes + i; };
      // Node j of a level has the parent j / children of the level before.
      std::vector<std::size_t> begins;
      for (std::size_t level = 0, first = 0, size = 1; level < levels.size(); ++level) {
        begins.push_back(first);
        size *= levels[level];
        for (std::size_t j = 0; j < size; ++j)
          p[at(first + j)] =
              snapped<T>(q[at(first + j)] * (level == 0 ? T{1} : p[at(begins[level - 1] + j / levels[level])]));
        first += size;
      }
      for (std::size_t j = 0; j < leaves; ++j)
        y[r * leaves + j] = p[at(nodes - leaves + j)], dp[at(nodes - leaves + j)] = dy[r * leaves + j];
      for (std::size_t level = levels.size(), size = leaves; level-- > 0; size /= levels[level]) {
        const std::size_t children = levels[level];
        for (std::size_t j = 0; j < size; ++j) {
          const std::size_t node = at(begins[level] + j);
          dq[node] = snapped<T>(dp[node] * (level == 0 ? T{1} : p[at(begins[level - 1] + j / children)]));
        }
        for (std::size_t parent = 0; level != 0 && parent < size / children; ++parent) {
          const std::size_t first = at(begins[level] + parent * children);
          dp[at(begins[level - 1] + parent)] =
              snapped<T>(lanes_sum<T>(children, [&](std::size_t i) { return dp[first + i] * q[first + i]; }));
        }
      }
    }
    EXPECT_TRUE(same(everywhere(rows == 200,
                                [&](const Exec& exec) {
                                  std::vector<T> a(q.size()), b(y.size()), c(q.size());
                                  combine_tree(exec, levels, tensor(q, rows, nodes), tensor(a, rows, nodes),
                                               tensor(b, rows, leaves));
                                  combine_tree_backward(exec, levels, tensor(q, rows, nodes), tensor(p, rows, nodes),
                                                        tensor(dy, rows, leaves), tensor(c, rows, nodes));
                                  return joined({a, b, c});
                                }),
                     joined({p, y, dq})));
  }
}
LOOM_OP_TEST(Softmax, trees_multiply_along_their_branches, check_tree)

template <class T>
void check_adaptive() {
  for (const auto& [cutoffs, rows] :
       {std::pair<std::vector<std::size_t>, std::size_t>{{3}, 2}, {{2, 5, 70}, 5}, {{20, 100, 300}, 300}}) {
    const std::size_t tails = cutoffs.size() - 1, head = cutoffs[0] + tails, words = cutoffs.back(),
                      cols = words + tails;
    const std::vector<T> q = values<T>(rows * cols, 1), dy = values<T>(rows * words, 2);
    std::vector<T> y(rows * words), dq(rows * cols);
    for (std::size_t r = 0; r < rows; ++r) {
      const T *row = q.data() + r * cols, *g = dy.data() + r * words;
      T* back = dq.data() + r * cols;
      for (std::size_t w = 0; w < cutoffs[0]; ++w) y[r * words + w] = row[w], back[w] = g[w];
      for (std::size_t k = 0; k < tails; ++k) {
        const std::size_t first = cutoffs[k], n = cutoffs[k + 1] - first, tail = head + first - cutoffs[0];
        const T cluster = row[cutoffs[0] + k];
        for (std::size_t i = 0; i < n; ++i) {
          y[r * words + first + i] = snapped<T>(cluster * row[tail + i]);
          back[tail + i] = snapped<T>(g[first + i] * cluster);
        }
        back[cutoffs[0] + k] = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return g[first + i] * row[tail + i]; }));
      }
    }
    EXPECT_TRUE(same(everywhere(rows == 300,
                                [&](const Exec& exec) {
                                  std::vector<T> a(y.size()), b(dq.size());
                                  combine_adaptive(exec, cutoffs, tensor(q, rows, cols), tensor(a, rows, words));
                                  combine_adaptive_backward(exec, cutoffs, tensor(q, rows, cols),
                                                            tensor(dy, rows, words), tensor(b, rows, cols));
                                  return joined({a, b});
                                }),
                     joined({y, dq})));
  }
}
LOOM_OP_TEST(Softmax, adaptive_tails_are_scaled_by_their_clusters, check_adaptive)

template <class T>
void check_mixture() {
  for (const auto& [count, n, rows] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1, 1}, {3, 17, 5}, {70, 33, 50}}) {
    const std::size_t cols = count + count * n;
    const std::vector<T> q = values<T>(rows * cols, 1), dy = values<T>(rows * n, 2);
    std::vector<T> y(rows * n), dq(rows * cols);
    for (std::size_t r = 0; r < rows; ++r) {
      const T *weights = q.data() + r * cols, *part = weights + count, *g = dy.data() + r * n;
      for (std::size_t i = 0; i < n; ++i)
        y[r * n + i] = snapped<T>(chain_sum<T>(count, [&](std::size_t m) { return weights[m] * part[m * n + i]; }));
      for (std::size_t m = 0; m < count; ++m) {
        dq[r * cols + m] = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return g[i] * part[m * n + i]; }));
        for (std::size_t i = 0; i < n; ++i) dq[r * cols + count + m * n + i] = snapped<T>(g[i] * weights[m]);
      }
    }
    EXPECT_TRUE(same(everywhere(rows == 50,
                                [&](const Exec& exec) {
                                  std::vector<T> a(y.size()), b(dq.size());
                                  combine_mixture(exec, count, tensor(q, rows, cols), tensor(a, rows, n));
                                  combine_mixture_backward(exec, count, tensor(q, rows, cols), tensor(dy, rows, n),
                                                           tensor(b, rows, cols));
                                  return joined({a, b});
                                }),
                     joined({y, dq})));
  }
}
LOOM_OP_TEST(Softmax, mixtures_are_weighted_sums, check_mixture)

}  // namespace
}  // namespace loom::op_test::of_softmax
