#include "ops/gap/gap.h"

#include "ops/op_test.h"

namespace loom::op_test::of_gap {
namespace {

constexpr std::size_t kLengths[] = {1, 15, 17, 65, 1003, 2100, 70001};

// f(activation) of every element by the op that is tested beside it.
template <class T>
std::vector<T> activated(const ActivationFn& fn, const std::vector<T>& x) {
  const auto pool = ThreadPool::create(1).value();
  Arena arena;
  std::vector<T> y(x.size());
  activate({*pool, *kernels_for(usable_isas().front()).value(), arena}, fn, tensor(x, 1, x.size()),
           tensor(y, 1, y.size()));
  return y;
}
template <class T>
std::vector<T> slopes(const ActivationFn& fn, const std::vector<T>& x) {
  const auto pool = ThreadPool::create(1).value();
  Arena arena;
  std::vector<T> dy(x.size(), T{1}), dx(x.size());
  activate_backward({*pool, *kernels_for(usable_isas().front()).value(), arena}, fn, tensor(x, 1, x.size()),
                    tensor(dy, 1, x.size()), tensor(dx, 1, x.size()));
  return dx;
}

template <class T>
void check_secants() {
  for (const std::size_t n : kLengths)
    for (const double size : {1e-6, 2.0}) {
      const std::vector<T> x = values<T>(n, 1, size), e = values<T>(n, 2);
      const T wide =
          T(0.5) * std::sqrt(lanes_sum<T>(n, [&](std::size_t i) { return x[i] * x[i]; }) / static_cast<T>(n));
      const T width = std::max(wide, static_cast<T>(1e-3));
      std::vector<T> above(n), below(n), wanted(n);
      for (std::size_t i = 0; i < n; ++i) above[i] = x[i] + width, below[i] = snapped<T>(x[i] - width);
      above = activated<T>(Activation::Tanh, above), below = activated<T>(Activation::Tanh, below);
      for (std::size_t i = 0; i < n; ++i)
        wanted[i] = snapped<T>(e[i] * snapped<T>(snapped<T>(above[i] - below[i]) / (T{2} * width)));
      EXPECT_TRUE(same(everywhere(n == kShared,
                                  [&](const Exec& exec) {
                                    std::vector<T> h(1), out = e;  // out may be e
                                    secant_width(exec, tensor(x, 1, n), 0.5, tensor(h, 1, 1));
                                    secant_gap(exec, Activation::Tanh, tensor(x, 1, n), tensor(h, 1, 1),
                                               tensor(out, 1, n), tensor(out, 1, n));
                                    return joined({h, out});
                                  }),
                       joined<T>({{width}, wanted})))
          << n;
    }
}
LOOM_OP_TEST(Gap, W_10_secants_and_their_width, check_secants)

template <class T>
void check_plain() {
  const double far = std::numeric_limits<double>::infinity();
  struct Case {
    ActivationFn fn;
    double least, most;
  };
  for (const auto& [fn, least, most] : {Case{Activation::Tanh, -1, 1},
                                        {Activation::Sigmoid, 0, 1},
                                        {Activation::Relu, 0, far},
                                        {Activation::Relu6, 0, 6},
                                        {Activation::Elu, -1, far},
                                        {Activation::Silu, -far, far},
                                        {Activation::Linear, -far, far}})
    for (const std::size_t n : kLengths) {
      const std::vector<T> x = values<T>(n, 3, 4), e = values<T>(n, 4, 3), y = activated(fn, x), slope = slopes(fn, x);
      std::vector<T> wanted(n);
      for (std::size_t i = 0; i < n; ++i) {
        const T low = snapped<T>(static_cast<T>(least) - y[i]), high = snapped<T>(static_cast<T>(most) - y[i]);
        const T cut = std::min(std::max(e[i], low), high);
        wanted[i] = snapped<T>(slope[i] < 0 ? -cut : cut);
      }
      EXPECT_TRUE(same(everywhere(n == kShared,
                                  [&](const Exec& exec) {
                                    std::vector<T> out(n);
                                    plain_gap(exec, fn, tensor(x, 1, n), tensor(e, 1, n), tensor(out, 1, n));
                                    return out;
                                  }),
                       wanted))
          << name(fn.kind) << ", " << n;
    }
}
LOOM_OP_TEST(Gap, targets_stay_in_the_range_of_their_activation, check_plain)

template <class T>
void check_signs() {
  for (const std::size_t n : kLengths) {
    const std::vector<T> x = special_values<T>(n, 5), e = special_values<T>(n, 6), d = special_values<T>(n, 7, 3);
    std::vector<T> signs(n), clamped(n);
    for (std::size_t i = 0; i < n; ++i) {
      signs[i] = snapped<T>(x[i] < 0 ? T{0} - e[i] : e[i]);
      clamped[i] = snapped<T>(d[i] < T(-0.7) ? T(-0.7) : d[i] > T(0.7) ? T(0.7) : d[i]);  // NaN stays
    }
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> a(n), b = d, c = d;
                                  float none = 0, failed = 1;
                                  signed_gap(exec, tensor(x, 1, n), tensor(e, 1, n), tensor(a, 1, n));
                                  clamp(exec, 0.7, tensor(b, 1, n), Tensor{&none, 1, 1, Element::f32});
                                  clamp(exec, 0.7, tensor(c, 1, n), Tensor{&failed, 1, 1, Element::f32});
                                  return joined({a, b, c});
                                }),
                     joined({signs, clamped, d})))
        << n;
  }
}
LOOM_OP_TEST(Gap, signs_and_limits, check_signs)

template <class T>
void check_sums() {
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {65, 15}, {17, 1003}, {700, 117}})
    for (const bool divide : {true, false})
      for (const bool has_base : {true, false}) {
        const std::vector<T> w = values<T>(rows * cols, 8), before = values<T>(cols, 9),
                             base = values<T>(rows * cols, 10), d = values<T>(rows * cols, 11);
        std::vector<T> sums = before, closed(d.size());
        const T threshold = before[0] > 0 ? static_cast<T>(rows) / 2 : T(0.3);
        for (std::size_t i = 0; i < cols; ++i)
          sums[i] =
              snapped<T>(before[i] + chain_sum<T>(rows, [&](std::size_t r) { return std::abs(w[r * cols + i]); }));
        for (std::size_t i = 0; i < d.size(); ++i) {
          const T sum = sums[i % cols];
          const T gap = divide ? snapped<T>(d[i] / sum) : d[i];
          closed[i] = sum > threshold ? snapped<T>(has_base ? gap - base[i] : gap) : T{0};
        }
        EXPECT_TRUE(same(everywhere(rows == 700,
                                    [&](const Exec& exec) {
                                      std::vector<T> a = before, b = d;
                                      add_size_of_columns(exec, tensor(w, rows, cols), a.data());
                                      close_gap(exec, sums.data(), static_cast<double>(threshold), divide,
                                                has_base ? tensor(base, rows, cols) : ConstTensor{},
                                                tensor(b, rows, cols));
                                      return joined({a, b});
                                    }),
                         joined({sums, closed})))
            << rows << " rows of " << cols;
      }
}
LOOM_OP_TEST(Gap, W_20_gaps_are_shared_out_by_sizes_of_columns, check_sums)

template <class T>
std::vector<T> simplex_of(const T* p, const T* e, std::size_t n) {
  std::vector<T> out(n);
  for (std::size_t i = 0; i < n; ++i) {
    const T target = snapped<T>(p[i] + e[i]);
    out[i] = target > 0 || std::isnan(target) ? target : T{0};
  }
  const T given = lanes_sum<T>(n, [&](std::size_t i) { return p[i]; });
  const T wanted = lanes_sum<T>(n, [&](std::size_t i) { return out[i]; });
  for (std::size_t i = 0; i < n; ++i)
    out[i] = wanted > 0 ? snapped<T>(snapped<T>(out[i] * snapped<T>(given / wanted)) - p[i]) : T{0};
  return out;
}

template <class T>
void check_simplex() {
  for (const auto& [rows, width, count] :
       {std::tuple<std::size_t, std::size_t, std::size_t>{1, 1, 1}, {5, 15, 2}, {3, 1003, 1}, {300, 65, 5}}) {
    const std::size_t cols = width * count;
    std::vector<T> p = values<T>(rows * cols, 12), e = values<T>(rows * cols, 13), wanted;
    for (T& v : p) v = std::abs(v);
    for (std::size_t i = 0; i < width; ++i) e[i] = -2;  // nothing is left of the first run
    if (rows > 1) e[cols + 1] = std::numeric_limits<T>::quiet_NaN();
    for (std::size_t at = 0; at < p.size(); at += width)
      wanted = joined({wanted, simplex_of(p.data() + at, e.data() + at, width)});
    const SoftmaxRun runs[] = {{0, width, count}};
    EXPECT_TRUE(same(everywhere(rows == 300,
                                [&](const Exec& exec) {
                                  std::vector<T> out = e;
                                  simplex_gap(exec, tensor(p, rows, cols), tensor(out, rows, cols), runs,
                                              tensor(out, rows, cols));
                                  return out;
                                }),
                     wanted))
        << rows << " rows of " << cols;
  }
}
LOOM_OP_TEST(Gap, W_30_targets_of_distributions_are_distributions, check_simplex)

template <class T>
void check_norm() {
  struct Case {
    ChannelShape shape;
    std::size_t groups;
    bool centred, known;
  };
  for (const auto& [s, groups, centred, known] : {Case{{17, 15, 1}, 1, false, false},
                                                  {{3, 1003, 1}, 1, true, false},
                                                  {{5, 6, 17}, 3, true, false},
                                                  {{5, 6, 65}, 1, true, true},
                                                  {{17, 33, 1}, 1, true, true},
                                                  {{80, 16, 65}, 4, false, false}}) {
    const std::size_t width = s.channels / groups, size = width * s.positions, n = s.samples * s.channels * s.positions;
    const std::vector<T> x = values<T>(n, 14, 2), e = values<T>(n, 15), gamma = values<T>(s.channels, 16);
    std::vector<T> deviation = values<T>(s.channels, 17), wanted(n);
    for (T& v : deviation) v = std::abs(v);
    for (std::size_t g = 0; g < s.samples * groups; ++g) {
      const T* row = x.data() + g * size;
      const T mean =
          centred ? snapped<T>(lanes_sum<T>(size, [&](std::size_t i) { return row[i]; }) / static_cast<T>(size)) : T{0};
      const T squares = lanes_sum<T>(size, [&](std::size_t i) {
        const T d = snapped<T>(row[i] - mean);
        return d * d;
      });
      const T own = std::sqrt(squares / static_cast<T>(size) + T(1e-5));
      for (std::size_t i = 0; i < size; ++i) {
        const std::size_t c = g % groups * width + i / s.positions;
        const T gain = gamma[c], factor = snapped<T>((known ? deviation[c] : own) / gain);
        wanted[g * size + i] = std::abs(gain) > T(0.2) ? snapped<T>(e[g * size + i] * factor) : T{0};
      }
    }
    const NormGap norm{.shape = s,
                       .groups = groups,
                       .centred = centred,
                       .eps = 1e-5,
                       .threshold = 0.2,
                       .deviation = known ? deviation.data() : nullptr};
    EXPECT_TRUE(same(everywhere(s.samples == 80,
                                [&](const Exec& exec) {
                                  std::vector<T> out = e;
                                  norm_gap(exec, norm, tensor(x, 1, n), gamma.data(), tensor(out, 1, n),
                                           tensor(out, 1, n));
                                  return out;
                                }),
                     wanted))
        << s.samples << "x" << s.channels << "x" << s.positions;
  }
}
LOOM_OP_TEST(Gap, W_31_through_a_norm_the_other_way, check_norm)

template <class T>
void check_figures() {
  for (const std::size_t n : kLengths)
    for (const double limit : {0.0, 0.75}) {
      const std::vector<T> a = values<T>(n, 18), e = values<T>(n, 19);
      std::vector<T> t(n);
      for (std::size_t i = 0; i < n; ++i) {
        t[i] = a[i] + T(0.5) * e[i];
        if (limit > 0) t[i] = std::clamp(t[i], T(-0.75), T(0.75));
        t[i] = snapped<T>(t[i]);
      }
      const auto sum = [&](auto term) { return lanes_sum<T>(n, term); };
      const T aa = sum([&](std::size_t i) { return a[i] * a[i]; }),
              tt = sum([&](std::size_t i) { return t[i] * t[i]; });
      const T cosine = snapped<T>(sum([&](std::size_t i) { return a[i] * t[i]; }) / (std::sqrt(aa) * std::sqrt(tt)));
      const T budget = snapped<T>((cosine < -1 ? T{0} : cosine > 1 ? T{2} : cosine + 1) / 2);
      const T gap = std::sqrt(sum([&](std::size_t i) {
                                const T d = snapped<T>(t[i] - a[i]);
                                return d * d;
                              }) /
                              static_cast<T>(n));
      EXPECT_TRUE(same(everywhere(n == kShared,
                                  [&](const Exec& exec) {
                                    std::vector<T> figures(kGapFigures);
                                    float failed = 0;
                                    gap_figures(exec, tensor(a, 1, n), tensor(e, 1, n), {0.5, limit, 0.9},
                                                tensor(figures, 1, kGapFigures), {&failed, 1, 1, Element::f32});
                                    return joined({figures, {static_cast<T>(failed)}});
                                  }),
                       {budget, gap, budget < T(0.9) ? T{0} : T{1}, 0}))
          << n;
    }
  // The figures are also defined where value and gap are both 0, where one of them is, and where one is no number.
  const auto of = [](T a, T e) {
    const std::vector<T> x(17, a), gap(17, e);
    return everywhere(false, [&](const Exec& exec) {
      std::vector<T> figures(kGapFigures);
      float failed = 0;
      gap_figures(exec, tensor(x, 1, 17), tensor(gap, 1, 17), {1, 0, 0.9}, tensor(figures, 1, kGapFigures),
                  {&failed, 1, 1, Element::f32});
      return joined({figures, {static_cast<T>(failed)}});
    });
  };
  EXPECT_TRUE(same(of(0, 0), {1, 0, 1, 0}));
  EXPECT_TRUE(same(of(1, -1), {T(0.5), 1, 0, 0}));
  for (const T odd : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
    EXPECT_EQ(of(1, odd)[3], 1) << odd;
}
LOOM_OP_TEST(Gap, W_40_W_41_how_values_and_targets_agree, check_figures)

template <class T>
void check_mixtures() {
  for (const auto& [groups, n] : {std::pair<std::size_t, std::size_t>{1, 1}, {5, 15}, {2, 2100}, {1100, 65}}) {
    std::vector<T> e = values<T>(groups * n, 20), b = values<T>(groups * n, 21), y = values<T>(groups * n, 22),
                   p = values<T>(groups * 3, 23), wanted(groups * 3, T{7});
    for (std::size_t i = 0; i < n && groups > 1; ++i) e[i] = 0;                            // no direction
    for (std::size_t i = n; i < 2 * n && groups > 1; ++i) e[i] = snapped<T>(b[i] - y[i]);  // the same
    for (std::size_t g = 0; g < groups; ++g) {
      const auto away = [&](std::size_t i) { return snapped<T>(b[g * n + i] - y[g * n + i]); };
      const auto gap = [&](std::size_t i) { return e[g * n + i]; };
      const T size = std::sqrt(lanes_sum<T>(n, [&](std::size_t i) { return gap(i) * gap(i); })) *
                     std::sqrt(lanes_sum<T>(n, [&](std::size_t i) { return away(i) * away(i); }));
      const T cosine = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return gap(i) * away(i); }) / size);
      wanted[g * 3 + 1] = size > 0 ? std::clamp(cosine, T{-1}, T{1}) : T{0};
    }
    const T mean =
        snapped<T>(chain_sum<T>(groups, [&](std::size_t g) { return p[g * 3 + 2]; }) / static_cast<T>(groups));
    const std::vector<T> factor = {T(0.3)};
    EXPECT_TRUE(same(everywhere(groups == 1100,
                                [&](const Exec& exec) {
                                  std::vector<T> q(groups * 3, T{7}), means(2);
                                  direction_gap(exec, tensor(e, groups, n), tensor(b, groups, n), tensor(y, groups, n),
                                                1, tensor(q, groups, 3));
                                  mean_of_column(exec, tensor(p, groups, 3), 2, {}, tensor(means, 1, 1));
                                  mean_of_column(exec, tensor(p, groups, 3), 2, tensor(factor, 1, 1),
                                                 {means.data() + 1, 1, 1, element_of<T>});
                                  return joined({q, means});
                                }),
                     joined<T>({wanted, {mean, snapped<T>(mean * factor[0])}})))
        << groups << " groups of " << n;
  }
}
LOOM_OP_TEST(Gap, directions_of_branches_and_means_of_columns, check_mixtures)

}  // namespace
}  // namespace loom::op_test::of_gap
