#include "ops/l2_norm/l2_norm.h"

#include "ops/op_test.h"

namespace loom::op_test::of_l2_norm {
namespace {

template <class T>
std::vector<T> expected_norm(const std::vector<T>& x) {
  const auto sum = [&](T factor) {
    return lanes_sum<T>(x.size(), [&](std::size_t i) {
      const T v = snapped<T>(x[i] * factor);
      return v * v;
    });
  };
  const T norm = snapped<T>(std::sqrt(sum(1)));
  if (sizeof(T) == 8 || std::isfinite(norm)) return {norm, 1};
  return {snapped<T>(std::sqrt(sum(T(0x1p-80)))), T(0x1p-80)};
}

template <class T>
void check_norm() {
  for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 2100u, 70001u})
    for (const double size : {1e-10, 1.0, 1e30}) {
      std::vector<T> x = values<T>(n, 1, size);
      for (const T odd : {x[n / 2], std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()}) {
        x[n / 2] = odd;
        EXPECT_TRUE(same(everywhere(n == kShared,
                                    [&](const Exec& exec) {
                                      std::vector<T> norm(kNormEntries);
                                      l2_norm(exec, tensor(x, 1, n), tensor(norm, 1, kNormEntries));
                                      return norm;
                                    }),
                         expected_norm(x)))
            << n << " of " << size << " with " << odd;
      }
    }
}
LOOM_OP_TEST(L2Norm, T_40_roots_of_sums_of_squares, check_norm)

template <class T>
std::vector<T> clipped(const std::vector<T>& norms, double limit, const std::vector<T>& x) {
  return everywhere(x.size() == kShared, [&](const Exec& exec) {
    std::vector<T> clip(kClipFigures), y = x;
    clip_factors(exec, tensor(norms, norms.size() / 2, 2), limit, tensor(clip, 1, kClipFigures));
    scale_by(exec, tensor(clip, 1, kClipFigures), tensor(y, 1, y.size()));
    return joined({clip, y});
  });
}

template <class T>
void check_clip() {
  for (const std::size_t n : {1u, 17u, 1003u, 70001u}) {
    const std::vector<T> x = values<T>(n, 2, 5);
    std::vector<T> norms;
    for (const T v : values<T>(70, 3, 4)) norms.insert(norms.end(), {std::abs(v), T{1}});
    const T norm = snapped<T>(std::sqrt(chain_sum<T>(70, [&](std::size_t i) { return norms[2 * i] * norms[2 * i]; })));
    const T factor = T(0.5) / (norm + T(1e-6));
    std::vector<T> scaled = {norm, 1, 1, factor}, kept = {norm, 1, 1, 1};
    for (const T v : x) scaled.push_back(snapped<T>(v * factor)), kept.push_back(v);
    EXPECT_TRUE(same(clipped<T>(norms, 0.5, x), scaled)) << n;
    EXPECT_TRUE(same(clipped<T>(norms, 1e6, x), kept)) << "below the limit";
    EXPECT_TRUE(same(clipped<T>(norms, 0, x), kept)) << "no limit";
    norms[4] = std::numeric_limits<T>::infinity();
    const std::vector<T> infinite = clipped<T>(norms, 0.5, x);
    EXPECT_FALSE(std::isfinite(infinite[0]));
    EXPECT_TRUE(same(std::vector<T>(infinite.begin() + 4, infinite.end()), x));
  }
}
LOOM_OP_TEST(L2Norm, T_40_what_is_too_long_is_brought_down, check_clip)

TEST(L2Norm, a_norm_beyond_f32_is_clipped_by_two_factors) {  // T-40
  const FpEnvironment environment;
  const std::vector<float> x = values<float>(100, 4, 1e38);
  const std::vector<float> found = clipped<float>({0x1p52f, 0x1p-80f}, 1, x);  // the norm is 2^132
  EXPECT_EQ(found[0], 0x1p52f);
  EXPECT_EQ(found[1], 0x1p-80f);
  EXPECT_NEAR(static_cast<double>(found[2]) * static_cast<double>(found[3]), 0x1p-132, 1e-6 * 0x1p-132);
  // The small number that keeps the divisor off zero is scaled as the norm is.
  const std::vector<float> small = clipped<float>({0x1p-10f, 0x1p-80f}, 1, x);  // 2^70
  EXPECT_NEAR(static_cast<double>(small[2]) * static_cast<double>(small[3]), 0x1p-70, 1e-6 * 0x1p-70);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(found[4 + i], snapped(snapped(x[i] * found[2]) * found[3]));
}

}  // namespace
}  // namespace loom::op_test::of_l2_norm
