#include "ops/effect/effect.h"

#include "ops/op_test.h"

namespace loom::op_test::of_effect {
namespace {

// y, dy0 and dm by the formulas, one group at a time.
template <class T>
std::vector<T> expected(Effect effect, const RandomStream& stream, const std::vector<T>& y0, const std::vector<T>& dy,
                        const std::vector<T>& m, std::size_t groups, std::size_t columns, std::size_t counted) {
  const std::size_t n = y0.size() / groups, period = columns - 1;
  std::vector<T> y(y0), dy0(dy), dm(m.size());
  for (std::size_t g = 0; g < groups; ++g) {
    const T *said = m.data() + g * columns, *e = dy.data() + g * n, *in = y0.data() + g * n;
    T* back = dm.data() + g * columns;
    const auto u = [&](std::size_t i) { return static_cast<T>(2.0f * stream.uniform(counted + g * n + i) - 1.0f); };
    if (effect == Effect::Gate) {
      const T s = snapped<T>(sigmoid_of(said[0]));
      for (std::size_t i = 0; i < n; ++i) y[g * n + i] = snapped<T>(in[i] * s), dy0[g * n + i] = snapped<T>(e[i] * s);
      const T dot = snapped<T>(chain_sum<T>(n, [&](std::size_t i) { return e[i] * in[i]; }));
      back[0] = snapped<T>(dot * snapped<T>(s * snapped<T>(T{1} - s)));
    } else if (effect == Effect::Noise && said[0] > 0) {
      for (std::size_t i = 0; i < n; ++i) y[g * n + i] = snapped<T>(in[i] + said[0] * u(i));
      back[0] = snapped<T>(chain_sum<T>(n, [&](std::size_t i) { return e[i] * u(i); }));
    } else if (effect == Effect::Intervention && said[0] > T(0.5)) {
      for (std::size_t i = 0; i < n; ++i) y[g * n + i] = said[1 + i % period], dy0[g * n + i] = 0;
      for (std::size_t j = 0; j < period && j < n; ++j)
        back[1 + j] =
            snapped<T>(chain_sum<T>((n - j + period - 1) / period, [&](std::size_t i) { return e[j + i * period]; }));
    }
  }
  return joined({y, dy0, dm});
}

template <class T>
void check_effects() {
  const RandomStream stream{5, RandomDomain::Noise, 2, 9};
  struct Case {
    std::size_t groups, n, columns;
  };
  for (const Effect effect : {Effect::Gate, Effect::Noise, Effect::Intervention})
    for (const auto& [groups, n, columns] : {Case{1, 1, 2}, {5, 15, 4}, {7, 65, 3}, {2, 1003, 70}, {70, 1003, 5}}) {
      SCOPED_TRACE(fmt::format("effect {}, {} groups of {}", static_cast<int>(effect), groups, n));
      const std::vector<T> y0 = values<T>(groups * n, 1), dy = values<T>(groups * n, 2);
      std::vector<T> m = values<T>(groups * columns, 3, 2);
      if (groups > 5) m[0] = std::numeric_limits<T>::quiet_NaN();  // adds no noise and intervenes nowhere
      if (groups > 5 && effect == Effect::Gate) m[0] = 1;
      const std::size_t counted = 6;
      EXPECT_TRUE(same(everywhere(groups == 70,
                                  [&](const Exec& exec) {
                                    std::vector<T> y(y0.size()), dy0(y0.size()), dm(m.size());
                                    apply_effect(exec, effect, stream, tensor(y0, groups, n),
                                                 tensor(m, groups, columns), tensor(y, groups, n), counted);
                                    apply_effect_backward(exec, effect, stream, tensor(dy, groups, n),
                                                          tensor(y0, groups, n), tensor(m, groups, columns),
                                                          tensor(dy0, groups, n), tensor(dm, groups, columns), counted);
                                    return joined({y, dy0, dm});
                                  }),
                       expected(effect, stream, y0, dy, m, groups, columns, counted)));
    }
}
LOOM_OP_TEST(Effect, L_153_gates_noise_and_interventions, check_effects)

}  // namespace
}  // namespace loom::op_test::of_effect
