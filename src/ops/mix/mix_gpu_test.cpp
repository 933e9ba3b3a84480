#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/mix/mix.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::special_values;
using op_test::values;
using op_test::Values;

TEST(Gpu, gates_and_their_balance_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t n : {1, 3, 17, 300, 1100})
    for (const std::size_t top_k : {0, 1, 2})
      for (const bool given : {false, true})
        for (const bool special : {false, true}) {
          if (n > 1000 && top_k != 0) continue;  // llvmpipe ends loops after 65 536 turns in all
          SCOPED_TRACE(fmt::format("{} branches, top {}, given {}, special {}", n, top_k, given, special));
          std::vector<std::uint8_t> enabled(n, 1);
          for (std::size_t i = 1; i < n; i += 5) enabled[i] = 0;
          const GateRule rule{.temperature = 0.7, .top_k = top_k, .given = given, .enabled = enabled.data()};
          const std::size_t groups = n > 100 ? 3 : 150;
          const auto numbers = [&](std::uint32_t site) {
            std::vector<float> v =
                special ? special_values<float>(groups * n, site, 3) : values<float>(groups * n, site, 3);
            for (float& x : v) x = op_test::snapped(x);
            return v;
          };
          std::vector<float> z = numbers(1);
          for (float& v : z) v = given && !special ? std::abs(v) : v;
          z[0] = n > 2 ? z[2] : z[0];  // a tie
          const Values in[] = {{groups, n, z}, {groups, n, numbers(2)}};
          expect_equal(*device, in, 3 * groups + 1, n, [&](const Exec& exec, Inputs t, Tensor y) {
            const auto part = [&](std::size_t i) { return Tensor{y.row(i * groups), groups, n, Element::f32}; };
            fill(exec, y, 0.5);
            gate_weights(exec, rule, t[0], part(0));
            gate_weights_backward(exec, rule, t[0], part(0), t[1], part(1));
            gate_balance_backward(exec, rule, 0.3, t[0], part(2));
            add_gate_balance(exec, rule, 0.3, t[0], {y.row(3 * groups), 1, 1, Element::f32});
          });
        }
}

TEST(Gpu, mixtures_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const std::size_t n : {1, 4, 6, 70})
    for (const std::size_t width : {17, 5003}) {
      SCOPED_TRACE(fmt::format("{} branches of {}", n, width));
      const std::size_t groups = 3, elements = groups * width;
      std::vector<float> weights = values<float>(groups * n, 1);
      for (std::size_t i = 0; i < weights.size(); i += 4) weights[i] = 0;
      for (std::size_t g = 0; g < groups; ++g) weights[g * n + n / 2] = 0;  // a branch that takes no part
      // The values of a branch with a weight of 0 do not matter.
      const Values in[] = {{groups, n, weights},
                           {groups, width, special_values<float>(elements, 2)},
                           {groups, width, values<float>(elements, 3)}};
      expect_equal(*device, in, 2 * groups + n, width, [&](const Exec& exec, Inputs t, Tensor y) {
        std::vector<const void*> branches(n);
        for (std::size_t k = 0; k < n; ++k) branches[k] = k == n / 2 ? nullptr : t[k == 0 ? 1 : 2].data;
        fill(exec, y, 0);
        mix(exec, t[0], branches.data(), {y.data, groups, width, Element::f32});
        mix_backward(exec, t[0], n - 1, t[1], {y.row(groups), groups, width, Element::f32});
        if (n > 17) return;
        const Tensor q{y.row(2 * groups), groups, n, Element::f32};
        for (std::size_t k = 0; k < n; ++k) mix_gate_backward(exec, t[2], t[k == 0 ? 1 : 2], k, q);
      });
    }
}

TEST(Gpu, means_of_rows_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const std::size_t groups = 5, rows = 150, cols = 37;
  const Values in[] = {{groups * rows, cols, values<float>(groups * rows * cols, 1)}};
  expect_equal(*device, in, groups + groups * rows, cols, [&](const Exec& exec, Inputs t, Tensor y) {
    const Tensor means{y.data, groups, cols, Element::f32};
    mean_of_rows(exec, t[0], rows, means);
    mean_of_rows_backward(exec, means, rows, {y.row(groups), groups * rows, cols, Element::f32});
  });
}

}  // namespace
}  // namespace loom
