#include "ops/affine/affine.h"
#include "ops/gpu_test.h"

namespace loom::op_test::of_affine {
namespace {

TEST(Gpu, affine_channels_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  struct Case {
    std::size_t samples, channels, inner;
  };
  for (const Case& c : {Case{3, 5, 70}, Case{2, 130, 1}, Case{1, 1, 200}})
    for (const bool special : {false, true}) {
      const std::size_t n = c.samples * c.channels * c.inner;
      const auto numbers = special ? special_values<float> : values<float>;
      const Values in[] = {{1, n, numbers(n, 1, 2)}, {1, 3 * c.channels, numbers(3 * c.channels, 2, 2)}};
      const Op op = [&](const Exec& exec, Inputs t, Tensor y) {
        affine(exec, t[0].as<float>(), c.samples, c.channels, c.inner, t[1].as<float>(), y.as<float>());
      };
      expect_equal(*device, in, 1, n, op);
      const auto got = run(nullptr, in, 1, n, op);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t channel = i / c.inner % c.channels;
        const auto of = [&](std::size_t k) { return in[1].numbers[k * c.channels + channel]; };
        const float centred = in[0].numbers[i] - of(0), scaled = centred * of(1);
        const float wanted = snapped(scaled + of(2));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(got[i]), std::bit_cast<std::uint32_t>(wanted)) << i;
      }
    }
}

}  // namespace
}  // namespace loom::op_test::of_affine
