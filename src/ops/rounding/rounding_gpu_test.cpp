#include "ops/rounding/rounding.h"

#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Values;

// Values of all sizes that are stored, some of them halfway between two of the type.
std::vector<float> sizes(std::size_t n, int least, int most) {
  std::vector<float> v = op_test::values<float>(n, 1);
  for (std::size_t i = 0; i < n; ++i) {
    if (i % 3 == 0) v[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(v[i]) & 0xfff80000u);
    if (i % 5 == 0) v[i] = std::bit_cast<float>((std::bit_cast<std::uint32_t>(v[i]) & 0xffffe000u) | 0x1000u);
    v[i] = op_test::snapped(std::ldexp(v[i], least + static_cast<int>(i % static_cast<std::size_t>(most - least))));
  }
  return v;
}

TEST(Gpu, narrow_floats_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::size_t n = 20001;
  std::vector<Values> cases = {
      {1, n, sizes(n, -50, 127)}, {1, n, sizes(n, -30, 20)}, {1, n, sizes(n, -50, -40)}, {1, 3, {0, 0, 0}}};
  for (const float odd : {infinity, -infinity, nan}) {
    cases.push_back(cases[1]);
    cases.back().numbers[7] = odd;
  }
  for (const Values& x : cases)
    for (const Mixed mixed : {Mixed::none, Mixed::bf16, Mixed::f16, Mixed::fp8}) {
      SCOPED_TRACE(static_cast<int>(mixed));
      expect_equal(*device, {&x, 1}, 2, x.cols, [&](const Exec& exec, Inputs t, Tensor y) {
        for (const std::size_t i : {0, 1}) {
          const Tensor row{y.row(i), 1, x.cols, Element::f32};
          copy(exec, t[0], row);
          i == 0 ? round_activations(exec, row, mixed) : round_gradients(exec, row, mixed);
        }
      });
    }
}

}  // namespace
}  // namespace loom
