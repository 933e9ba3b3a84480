#include "ops/noise/noise.h"

#include "ops/op_test.h"

namespace loom::op_test::of_noise {
namespace {

template <class T>
void check_noise() {
  const RandomStream stream{7, RandomDomain::Noise, 3, 11};
  for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 70001u}) {
    std::vector<T> wanted(n);
    for (std::size_t i = 0; i < n; ++i) {
      const T u = static_cast<T>(stream.uniform(i / 2 * 2)), v = static_cast<T>(stream.uniform(i / 2 * 2 + 1));
      const T angle = static_cast<T>(6.283185307179586) * v, radius = std::sqrt(T{-2} * log_of(u));
      wanted[i] = snapped<T>(T{2} * snapped<T>(radius * snapped<T>(i % 2 == 0 ? cos_of(angle) : sin_of(angle))));
    }
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> y(n);
                                  normal_noise(exec, 2, stream, tensor(y, 1, n));
                                  return y;
                                }),
                     wanted))
        << n;
    if (n < 10000) continue;
    double mean = 0, square = 0;
    for (const T x : wanted)
      mean += static_cast<double>(x) / static_cast<double>(n),
          square += static_cast<double>(x * x) / static_cast<double>(n);
    EXPECT_NEAR(mean, 0, 0.03);
    EXPECT_NEAR(square, 4, 0.1);
  }
}
LOOM_OP_TEST(Noise, N_08_numbers_of_Box_and_Muller, check_noise)

}  // namespace
}  // namespace loom::op_test::of_noise
