#include "ops/dropout/dropout.h"

#include "ops/op_test.h"

namespace loom::op_test::of_dropout {
namespace {

template <class T>
void check_dropout() {
  const RandomStream stream{11, RandomDomain::Dropout, 3, 77};
  for (const double rate : {0.0, 0.1, 0.5, 1.0 / 3, 0.999999, 1e-9, 4.5 * 0x1p-23})
    for (const std::size_t n : {1u, 15u, 65u, 1003u, 70001u})
      for (const std::size_t first : {0u, 3u}) {
        const std::vector<T> x = special_values<T>(n, 1);
        std::vector<T> wanted(n);
        for (std::size_t i = 0; i < n; ++i) {
          const bool stays = static_cast<double>(stream.uniform(first + i)) >= rate;
          wanted[i] = snapped<T>(x[i] * (stays ? T{1} : T{0}) / static_cast<T>(1 - rate));
        }
        EXPECT_TRUE(same(everywhere(n == kShared,
                                    [&](const Exec& exec) {
                                      std::vector<T> y(n);
                                      dropout(exec, tensor(x, 1, n), rate, stream, tensor(y, 1, n), first);
                                      return y;
                                    }),
                         wanted))
            << "rate " << rate << ", " << n << " from " << first;
      }
}
LOOM_OP_TEST(Dropout, L_112_by_its_stream, check_dropout)

}  // namespace
}  // namespace loom::op_test::of_dropout
