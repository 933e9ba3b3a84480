#include "ops/velocity/velocity.h"

#include "ops/op_test.h"

namespace loom::op_test::of_velocity {
namespace {

template <class T>
struct Inputs {
  std::size_t n;
  std::vector<T> g = values<T>(n, 1), w = values<T>(n, 2), before = values<T>(n, 3);
};

// Velocity, weight, the two figures and `failed`.
template <class T>
std::vector<T> moved(const Inputs<T>& in, const std::vector<T>& rate, double limit) {
  const std::size_t n = in.n;
  return everywhere(n == kShared, [&](const Exec& exec) {
    std::vector<T> v = in.before, w = in.w, figures(kVelocityFigures);
    float failed = 0;
    const Tensor flag{&failed, 1, 1, Element::f32};
    velocity(exec, {0.9, 0.3}, tensor(rate, 1, 2), tensor(in.g, 1, n), tensor(in.w, 1, n), tensor(v, 1, n),
             tensor(figures, 1, 2), flag);
    add_velocity(exec, tensor(rate, 1, 2), tensor(figures, 1, 2), flag, tensor(v, 1, n), limit, tensor(w, 1, n));
    return joined({v, w, figures, {static_cast<T>(failed)}});
  });
}

template <class T>
void check_velocity() {
  for (const std::size_t n : {1u, 15u, 17u, 65u, 1003u, 70001u})
    for (const bool moves : {true, false})
      for (const double limit : {0.0, 0.8}) {
        const Inputs<T> in{n};
        const std::vector<T> rate = {moves ? T(0.25) : T{0}, moves ? T{1} : T{0}};
        std::vector<T> v = in.before, w = in.w;
        for (std::size_t i = 0; i < n && moves; ++i) {
          v[i] = snapped<T>(snapped<T>(T(0.9) * v[i]) + snapped<T>(T(0.3) * snapped<T>(T(0.25) * in.g[i])));
          w[i] = snapped<T>(w[i] + v[i]);
          if (limit > 0) w[i] = std::clamp(w[i], T(-0.8), T(0.8));
        }
        const T squares = moves ? lanes_sum<T>(n, [&](std::size_t i) { return v[i] * v[i]; }) : T{0};
        EXPECT_TRUE(same(moved(in, rate, limit), joined<T>({v, w, {squares, 0, 0}}))) << n;
      }
}
LOOM_OP_TEST(Velocity, W_11_the_velocity_and_the_weight, check_velocity)

template <class T>
void check_failure() {
  using L = std::numeric_limits<T>;
  Inputs<T> in{kShared};
  in.g[400] = L::infinity(), in.g[kShared - 1] = L::quiet_NaN(), in.w[7] = L::infinity();
  for (const bool moves : {true, false}) {
    const std::vector<T> found = moved(in, {moves ? T(0.25) : T{0}, moves ? T{1} : T{0}}, 0);
    EXPECT_TRUE(same(std::vector<T>(found.begin() + kShared, found.begin() + 2 * kShared), in.w))
        << "a step that has failed moves nothing";
    EXPECT_EQ(found[2 * kShared + kNotFinite], moves ? 3 : 2);
    EXPECT_EQ(found[2 * kShared + 2], 1);
  }
}
LOOM_OP_TEST(Velocity, W_11_what_is_not_finite_is_counted_and_stops_the_step, check_failure)

template <class T>
void check_sums() {
  for (const std::size_t n : {1u, 17u, 1003u, 70001u}) {
    const std::vector<T> x = special_values<T>(n, 4), y = values<T>(n, 5), z = values<T>(n, 6);
    std::vector<T> scaled(n), changed(n), products(n);
    for (std::size_t i = 0; i < n; ++i) {
      scaled[i] = snapped<T>(y[i] + snapped<T>(T(0.3) * x[i]));
      changed[i] = snapped<T>(y[i] + snapped<T>(z[i] - x[i]));
      products[i] = snapped<T>(y[i] + snapped<T>(T(0.5) * x[i]));
    }
    EXPECT_TRUE(same(everywhere(n == kShared,
                                [&](const Exec& exec) {
                                  std::vector<T> a = y, b = y, c = y, d = y, parts(4);
                                  const std::vector<T> rate = {T(0.5), 1}, still = {0, 0};
                                  add_scaled(exec, 0.3, tensor(x, 1, n), tensor(a, 1, n));
                                  add_change(exec, tensor(x, 1, n), tensor(z, 1, n), tensor(b, 1, n));
                                  Tensor part = tensor(parts, 1, 2);
                                  add_products(exec, tensor(rate, 1, 2), tensor(x, 1, n), tensor(c, 1, n), part);
                                  part.data = parts.data() + 2;
                                  add_products(exec, tensor(still, 1, 2), tensor(x, 1, n), tensor(d, 1, n), part);
                                  return joined({a, b, c, d, parts});
                                }),
                     joined<T>({scaled, changed, products, y, {1, 0, 0, 0}})))
        << n;
  }
}
LOOM_OP_TEST(Velocity, products_and_changes_are_added, check_sums)

template <class T>
void check_rate() {
  for (const bool moves : {true, false})
    for (const bool has_factor : {true, false}) {
      const std::vector<T> figures = {T(0.3), T(7), moves ? T{1} : T{0}}, factor = {T(0.6)};
      const T rate = T(0.1) * (T(0.5) + T(0.5) * figures[kBudget]);
      const std::vector<T> wanted = {!moves ? T{0} : has_factor ? rate * factor[0] : rate, moves ? T{1} : T{0}};
      EXPECT_TRUE(same(everywhere(false,
                                  [&](const Exec& exec) {
                                    std::vector<T> to(2);
                                    move_rate(exec, 0.1, tensor(figures, 1, 3),
                                              has_factor ? tensor(factor, 1, 1) : ConstTensor{}, tensor(to, 1, 2));
                                    return to;
                                  }),
                       wanted));
    }
}
LOOM_OP_TEST(Velocity, W_11_figures_decide_the_rate, check_rate)

}  // namespace
}  // namespace loom::op_test::of_velocity
