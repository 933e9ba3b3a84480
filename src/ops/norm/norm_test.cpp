#include "ops/norm/norm.h"

#include "ops/op_test.h"

namespace loom::op_test::of_norm {
namespace {

constexpr double kEps = 1e-5;

// Mean (0 without centring) and sqrt(variance + eps) of a row.
template <class T>
std::pair<T, T> scale_of(const T* x, std::size_t n, bool centred) {
  const T mean = centred ? lanes_sum<T>(n, [&](std::size_t i) { return x[i]; }) / static_cast<T>(n) : T{0};
  const T squares = lanes_sum<T>(n, [&](std::size_t i) {
    const T d = centred ? snapped<T>(x[i] - mean) : x[i];
    return d * d;
  });
  return {mean, std::sqrt(squares / static_cast<T>(n) + static_cast<T>(kEps))};
}

// y, xh and dx of one row; channel(i) is the channel of element i.
template <class T, class F>
void row_of(const T* x, const T* gamma, const T* beta, const T* dy, std::size_t n, bool centred, bool divides,
            F channel, T* y, T* xh, T* dx) {
  const auto [mean, deviation] = scale_of(x, n, centred);
  const T inverse = T{1} / deviation;
  std::vector<T> g(n);
  for (std::size_t i = 0; i < n; ++i) {
    xh[i] = snapped<T>((centred ? snapped<T>(x[i] - mean) : x[i]) * inverse);
    const T normal = divides ? snapped<T>(x[i] / deviation) : xh[i];
    y[i] = snapped<T>(normal * gamma[channel(i)] + (beta == nullptr ? T{0} : beta[channel(i)]));
    g[i] = snapped<T>(dy[i] * gamma[channel(i)]);
  }
  const T mean_g = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return g[i]; }) / static_cast<T>(n));
  const T mean_dot = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return g[i] * xh[i]; }) / static_cast<T>(n));
  for (std::size_t i = 0; i < n; ++i)
    dx[i] = snapped<T>(snapped<T>((centred ? g[i] - mean_g : g[i]) - xh[i] * mean_dot) * inverse);
}

using Extents = std::pair<std::size_t, std::size_t>;
const Extents kShapes[] = {{1, 1}, {17, 15}, {3, 17}, {2, 1003}, {2, 5200}, {1100, 65}};

template <class T>
void check_rows() {
  for (const auto& [rows, cols] : kShapes)
    for (const bool centred : {false, true}) {
      const std::vector<T> x = values<T>(rows * cols, 1, 3), dy = values<T>(rows * cols, 2);
      const std::vector<T> gamma = values<T>(cols, 3), beta = values<T>(cols, 4);
      std::vector<T> y(x.size()), xh(x.size()), dx(x.size());
      for (std::size_t r = 0; r < rows; ++r)
        row_of(
            x.data() + r * cols, gamma.data(), centred ? beta.data() : nullptr, dy.data() + r * cols, cols, centred,
            !centred, [](std::size_t i) { return i; }, y.data() + r * cols, xh.data() + r * cols, dx.data() + r * cols);
      EXPECT_TRUE(same(everywhere(rows == 1100,
                                  [&](const Exec& exec) {
                                    std::vector<T> a(x.size()), b(x.size()), c(x.size());
                                    const auto as = [&](auto& v) { return tensor(v, rows, cols); };
                                    if (centred) {
                                      layer_norm(exec, as(x), gamma.data(), beta.data(), kEps, as(a));
                                      layer_norm_backward(exec, as(x), gamma.data(), kEps, as(dy), as(b), as(c));
                                    } else {
                                      rms_norm(exec, as(x), gamma.data(), kEps, as(a));
                                      rms_norm_backward(exec, as(x), gamma.data(), kEps, as(dy), as(b), as(c));
                                    }
                                    return joined({a, b, c});
                                  }),
                       joined({y, xh, dx})))
          << rows << " rows of " << cols << (centred ? ", centred" : "");
    }
}
LOOM_OP_TEST(Norm, L_90_rows_by_rms_and_by_mean_and_variance, check_rows)

template <class T>
void check_gradient() {
  constexpr std::size_t kRows = 50, kCols = 33, kBlock = 16;
  const std::vector<T> x = values<T>(kRows * kCols, 1), dy = values<T>(kRows * kCols, 2), gamma = values<T>(kCols, 3),
                       before = values<T>(kCols, 4);
  std::vector<T> y(x.size()), xh(x.size()), dx(x.size()), dgamma = before;
  for (std::size_t r = 0; r < kRows; ++r)
    row_of(
        x.data() + r * kCols, gamma.data(), static_cast<const T*>(nullptr), dy.data() + r * kCols, kCols, false, true,
        [](std::size_t i) { return i; }, y.data() + r * kCols, xh.data() + r * kCols, dx.data() + r * kCols);
  for (std::size_t i = 0; i < kCols; ++i)
    for (std::size_t r = 0; r < kRows; r += kBlock)
      dgamma[i] = snapped<T>(dgamma[i] + chain_sum<T>(std::min(kBlock, kRows - r), [&](std::size_t k) {
                               return dy[(r + k) * kCols + i] * xh[(r + k) * kCols + i];
                             }));
  EXPECT_TRUE(same(everywhere(false,
                              [&](const Exec& exec) {
                                std::vector<T> d = dy, gains = before, offset(kCols);  // dx may be dy
                                rms_norm_gradient(exec, tensor(x, kRows, kCols), gamma.data(), kEps,
                                                  tensor(d, kRows, kCols), tensor(d, kRows, kCols), gains.data(),
                                                  kBlock);
                                offset_gains(exec, gamma.data(), 1, kCols, element_of<T>, offset.data());
                                for (std::size_t i = 0; i < kCols && !exec.rehearsal(); ++i)
                                  EXPECT_EQ(offset[i], snapped<T>(gamma[i] + T{1}));
                                return joined({d, gains});
                              }),
                   joined({dx, dgamma})));
}
LOOM_OP_TEST(Norm, N_05_both_gradients_of_rms_norm, check_gradient)

struct Planes {
  ChannelShape shape;
  std::size_t groups;
};
const Planes kPlanes[] = {{{2, 6, 17}, 3},   {{17, 4, 1}, 2},    {{3, 17, 65}, 17},
                          {{1, 2, 1003}, 1}, {{2, 1003, 1}, 17}, {{40, 16, 150}, 4}};

template <class T>
void check_groups() {
  for (const auto& [s, groups] : kPlanes) {
    const std::size_t channels = s.channels / groups, cols = channels * s.positions, rows = s.samples * groups;
    const std::vector<T> x = values<T>(rows * cols, 1, 2), dy = values<T>(rows * cols, 2);
    const std::vector<T> gamma = values<T>(s.channels, 3), beta = values<T>(s.channels, 4);
    std::vector<T> y(x.size()), xh(x.size()), dx(x.size());
    for (std::size_t r = 0; r < rows; ++r)
      row_of(
          x.data() + r * cols, gamma.data(), beta.data(), dy.data() + r * cols, cols, true, false,
          [&, r](std::size_t i) { return r % groups * channels + i / s.positions; }, y.data() + r * cols,
          xh.data() + r * cols, dx.data() + r * cols);
    EXPECT_TRUE(same(everywhere(rows == 160,
                                [&](const Exec& exec) {
                                  std::vector<T> a(x.size()), b(x.size()), c(x.size());
                                  const auto as = [&](auto& v) { return tensor(v, rows, cols); };
                                  group_norm(exec, as(x), s, groups, gamma.data(), beta.data(), kEps, as(a));
                                  group_norm_backward(exec, as(x), s, groups, gamma.data(), kEps, as(dy), as(b), as(c));
                                  return joined({a, b, c});
                                }),
                     joined({y, xh, dx})))
        << s.samples << "x" << s.channels << "x" << s.positions;
  }
}
LOOM_OP_TEST(Norm, groups_of_channels, check_groups)

// Over the positions of each sample by lanes16, over samples [begin, end) by chain64.
template <class T, class Term>
T channel_sum(const ChannelShape& s, std::size_t c, std::size_t begin, std::size_t end, Term term) {
  return chain_sum<T>(end - begin, [&](std::size_t r) {
    const std::size_t first = ((begin + r) * s.channels + c) * s.positions;
    return s.positions == 1 ? term(first) : lanes_sum<T>(s.positions, [&](std::size_t i) { return term(first + i); });
  });
}

template <class T>
void check_channels() {
  for (const auto& [s, groups] : kPlanes) {
    const std::size_t n = s.samples * s.channels * s.positions;
    const std::vector<T> x = values<T>(n, 1, 2), dy = values<T>(n, 2), before = values<T>(s.channels, 3),
                         gamma = values<T>(s.channels, 4), beta = values<T>(s.channels, 5);
    std::vector<T> sums = before, dots = before, mean(s.channels), variance = mean, deviation = mean, known = mean,
                   blended = mean, y(n), xh(n), dx(n), frozen(n);
    for (std::size_t c = 0; c < s.channels; ++c) {
      const auto total = static_cast<T>(s.samples * s.positions);
      for (std::size_t b = 0; b < s.samples; b += 16)
        sums[c] = snapped<T>(sums[c] +
                             channel_sum<T>(s, c, b, std::min(b + 16, s.samples), [&](std::size_t i) { return x[i]; }));
      dots[c] = snapped<T>(dots[c] + channel_sum<T>(s, c, 0, s.samples, [&](std::size_t i) { return x[i] * dy[i]; }));
      mean[c] = snapped<T>(channel_sum<T>(s, c, 0, s.samples, [&](std::size_t i) { return x[i]; }) / total);
      variance[c] = snapped<T>(channel_sum<T>(s, c, 0, s.samples,
                                              [&](std::size_t i) {
                                                const T d = snapped<T>(x[i] - mean[c]);
                                                return d * d;
                                              }) /
                               total);
      deviation[c] = std::sqrt(variance[c] + static_cast<T>(kEps));
      known[c] = std::sqrt(std::abs(gamma[c]) + static_cast<T>(kEps));
      blended[c] = snapped<T>(snapped<T>(gamma[c] * T(0.9)) + snapped<T>(beta[c] * T(0.1)));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t c = i / s.positions % s.channels;
      xh[i] = snapped<T>(snapped<T>(snapped<T>(x[i] - mean[c]) * (T{1} / deviation[c])) * T{1} + T{0});
      y[i] = snapped<T>(xh[i] * gamma[c] + beta[c]);
      const T slope = snapped<T>(gamma[c] / deviation[c]);
      dx[i] = snapped<T>(snapped<T>(dy[i] - gamma[c] - xh[i] * beta[c]) * slope);
      frozen[i] = snapped<T>(snapped<T>(dy[i]) * slope);
    }
    std::vector<T> sizes = gamma;
    for (T& v : sizes) v = std::abs(v);
    EXPECT_TRUE(
        same(everywhere(s.samples == 40,
                        [&](const Exec& exec) {
                          std::vector<T> a = before, b = before, m(s.channels), v = m, d = m, k = m, mixed = m, out(n),
                                         plain(n), back(n), still(n);
                          const auto as = [&](auto& t) { return tensor(t, 1, n); };
                          const ConstTensor other = as(dy);
                          add_channel_sums(exec, s, as(x), nullptr, 16, a.data());
                          add_channel_sums(exec, s, as(x), &other, 0, b.data());
                          // Two sums of one reading: those of whole blocks and of blocks of 16 samples.
                          std::vector<T> dots = before, sums_too = before, sums_of_blocks = before;
                          add_both_channel_sums(exec, s, as(x), other, 0, dots.data(), sums_too.data());
                          EXPECT_EQ(dots, b);
                          add_both_channel_sums(exec, s, as(x), other, 16, sums_too.data(), sums_of_blocks.data());
                          EXPECT_EQ(sums_of_blocks, a);
                          channel_statistics(exec, as(x), s, kEps, {m.data(), v.data(), d.data()});
                          channel_deviations(exec, sizes.data(), kEps, s.channels, element_of<T>, k.data());
                          blend(exec, gamma.data(), 0.9, beta.data(), 0.1, s.channels, element_of<T>, mixed.data());
                          batch_norm(exec, as(x), s, mean.data(), deviation.data(), gamma.data(), beta.data(), as(out));
                          batch_norm(exec, as(x), s, mean.data(), deviation.data(), nullptr, nullptr, as(plain));
                          batch_norm_backward(exec, as(dy), as(xh), s, gamma.data(), deviation.data(), gamma.data(),
                                              beta.data(), as(back));
                          batch_norm_backward(exec, as(dy), as(xh), s, gamma.data(), deviation.data(), nullptr, nullptr,
                                              as(still));
                          return joined({a, b, m, v, d, k, mixed, out, plain, back, still});
                        }),
             joined({sums, dots, mean, variance, deviation, known, blended, y, xh, dx, frozen})))
        << s.samples << "x" << s.channels << "x" << s.positions;
  }
}
LOOM_OP_TEST(Norm, L_92_channels_over_all_samples, check_channels)

}  // namespace
}  // namespace loom::op_test::of_norm
