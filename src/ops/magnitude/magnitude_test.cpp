#include "ops/magnitude/magnitude.h"

#include "ops/finite.h"
#include "ops/op_test.h"

namespace loom::op_test::of_magnitude {
namespace {

template <class T>
T bound_of(const std::vector<T>& x) {
  return everywhere(x.size() == kShared,
                    [&](const Exec& exec) {
                      std::vector<T> bound(1, T{-1});
                      magnitude_bound(exec, tensor(x, 1, x.size()), tensor(bound, 1, 1));
                      return bound;
                    })
      .front();
}

template <class T>
void check_bound() {
  using L = std::numeric_limits<T>;
  for (const std::size_t n : {1u, 15u, 65u, 1003u, 70001u})
    for (const T size : {T(1e-30), T(1), T(1000), T(1e37)}) {
      std::vector<T> x = values<T>(n, 1, static_cast<double>(size));
      T largest = 0;
      for (const T v : x) largest = std::max(largest, std::abs(v));
      const T bound = bound_of(x);
      EXPECT_GE(bound, largest);
      EXPECT_LT(bound * (T{15} / 16), largest) << n << " of " << size;
      for (const std::size_t at : {std::size_t{0}, n / 2, n - 1})
        for (const T bad : {L::quiet_NaN(), L::infinity(), -L::infinity()}) {
          const T kept = std::exchange(x[at], bad);
          EXPECT_EQ(bound_of(x), L::infinity());
          x[at] = kept;
        }
    }
  EXPECT_EQ(bound_of<T>({L::max()}), L::max());
}
LOOM_OP_TEST(Magnitude, a_bound_is_close_and_infinite_where_an_element_is_no_number, check_bound)

template <class T>
void check_finiteness() {
  using L = std::numeric_limits<T>;
  for (const std::size_t n : {1u, 15u, 65u, 1003u, 70001u})
    for (const T odd : {T{1}, L::max(), L::denorm_min(), -T{0}, L::quiet_NaN(), L::infinity(), -L::infinity()}) {
      std::vector<T> x = values<T>(n, 2);
      x[n / 2] = odd;
      const auto found = everywhere(n == kShared, [&](const Exec& exec) {
        std::vector<float> failed = {0, 1, all_finite(exec, tensor(x, 1, n)) ? 1.0f : 0.0f};
        check_finite(exec, tensor(x, 1, n), {failed.data(), 1, 1, Element::f32});
        check_finite(exec, tensor(x, 1, n), {failed.data() + 1, 1, 1, Element::f32});
        return failed;
      });
      const float finite = std::isfinite(odd) ? 1.0f : 0.0f;
      EXPECT_TRUE(same(found, {1 - finite, 1, finite})) << n << " with " << odd;
    }
}
LOOM_OP_TEST(Magnitude, what_is_not_finite_is_found, check_finiteness)

}  // namespace
}  // namespace loom::op_test::of_magnitude
