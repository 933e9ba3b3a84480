#include "ops/effect/effect.h"

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, effects_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const RandomStream stream{0x123456789abcdef, RandomDomain::Noise, 7, 11};
  for (const Effect effect : {Effect::Gate, Effect::Noise, Effect::Intervention})
    for (const auto& [groups, n, columns] :
         {std::array<std::size_t, 3>{3, 1, 2}, {5, 17, 4}, {4, 5003, 70}, {3, 130, 200}}) {
      SCOPED_TRACE(fmt::format("effect {}, {} groups of {}, {} columns", static_cast<int>(effect), groups, n, columns));
      std::vector<float> m = values<float>(groups * columns, 3, 2);
      m[0] = 0.7f, m[columns] = -1, m[2 * columns] = std::numeric_limits<float>::quiet_NaN();
      const Values in[] = {
          {groups, n, values<float>(groups * n, 1)}, {groups, columns, m}, {groups, n, values<float>(groups * n, 2)}};
      expect_equal(*device, in, groups, 2 * n + columns,
                   [&, groups = groups, n = n, columns = columns](const Exec& exec, Inputs t, Tensor y) {
                     float* const at = y.as<float>();
                     apply_effect(exec, effect, stream, t[0], t[1], {at, groups, n, Element::f32}, 5);
                     apply_effect_backward(exec, effect, stream, t[2], t[0], t[1],
                                           {at + groups * n, groups, n, Element::f32},
                                           {at + 2 * groups * n, groups, columns, Element::f32}, 5);
                   });
    }
}

}  // namespace
}  // namespace loom
