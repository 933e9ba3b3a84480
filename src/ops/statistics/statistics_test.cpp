#include "ops/statistics/statistics.h"

#include "ops/op_test.h"

namespace loom::op_test::of_statistics {
namespace {

template <class T>
void check_statistics() {
  for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 2100u, 70001u})
    for (const bool with_nan : {false, true}) {
      std::vector<T> x = values<T>(n, 3, 3);
      for (std::size_t i = 0; i < n; i += 5) x[i] = T(1e-7);  // not active
      for (std::size_t i = 0; i < n && with_nan; i += 1024)
        x[i] = std::numeric_limits<T>::quiet_NaN();  // first in a block
      if (with_nan) x[n / 2] = std::numeric_limits<T>::quiet_NaN();
      const T mean = snapped<T>(lanes_sum<T>(n, [&](std::size_t i) { return x[i]; }) / static_cast<T>(n));
      const auto square = [&](std::size_t i) {
        const T d = snapped<T>(x[i] - mean);
        return d * d;
      };
      std::vector<T> wanted = {mean, snapped<T>(std::sqrt(lanes_sum<T>(n, square) / static_cast<T>(n)))};
      T most = std::numeric_limits<T>::quiet_NaN(), least = most;
      std::size_t active = 0;
      for (const T v : x) {
        most = v > most || std::isnan(most) ? v : most, least = v < least || std::isnan(least) ? v : least;
        active += std::abs(v) > T(1e-6);
      }
      wanted.insert(wanted.end(), {most, least, static_cast<T>(active), static_cast<T>(n)});
      EXPECT_TRUE(same(everywhere(n == kShared,
                                  [&](const Exec& exec) {
                                    std::vector<T> figures(TensorStats::kCount);
                                    tensor_statistics(exec, tensor(x, 1, n), tensor(figures, 1, figures.size()));
                                    return figures;
                                  }),
                       wanted))
          << n;
    }
}
LOOM_OP_TEST(Statistics, L_150_figures_by_definition_and_a_NaN_loses, check_statistics)

}  // namespace
}  // namespace loom::op_test::of_statistics
