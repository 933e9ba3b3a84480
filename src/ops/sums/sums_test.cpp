// The two orders of sums by their definition (docs/internals/numerics.md), and sums that threads share out.

#include "ops/sums/sums.h"

#include "ops/op_test.h"

namespace loom::op_test::of_sums {
namespace {

template <class T>
void check_orders() {
  for (const std::size_t n : {0u, 1u, 15u, 16u, 63u, 65u, 1023u, 1024u, 1025u, 2049u, 70000u}) {
    const std::vector<T> x = values<T>(n, 1);
    const auto square = [&](std::size_t i) { return x[i] * x[i]; };
    EXPECT_EQ(lanes16<T>(n, square), lanes_sum<T>(n, square)) << n;
    EXPECT_EQ(chain64<T>(0, n, square), chain_sum<T>(n, square)) << n;
    Chain64<T> chain;
    for (std::size_t i = 0; i < n; ++i) chain.add(i, square(i));
    EXPECT_EQ(chain.total(), chain_sum<T>(n, square)) << n;
  }
}
LOOM_OP_TEST(Sums, N_02_N_03_lanes16_and_chain64, check_orders)

// Blocks that leave the lanes of two sums, of the numbers and of their squares.
template <class T>
void check_blocks() {
  for (const std::size_t n : {1u, 15u, 17u, 1003u, 2100u, 70001u}) {
    const std::vector<T> x = values<T>(n, 2);
    const std::vector<T> wanted = {lanes_sum<T>(n, [&](std::size_t i) { return x[i]; }),
                                   lanes_sum<T>(n, [&](std::size_t i) { return x[i] * x[i]; })};
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> sums(2);
                                  sum_blocks(exec, n, 2, sums.data(), [&](std::size_t first, std::size_t count, T* to) {
                                    std::fill_n(to, 32, T{0});
                                    for (std::size_t i = 0; i < count; ++i) {
                                      to[i % 16] = to[i % 16] + x[first + i];
                                      to[16 + i % 16] = to[16 + i % 16] + x[first + i] * x[first + i];
                                    }
                                  });
                                  return sums;
                                }),
                     wanted))
        << n;
  }
}
LOOM_OP_TEST(Sums, N_02_blocks_of_a_tensor_are_shared_out, check_blocks)

}  // namespace
}  // namespace loom::op_test::of_sums
