#include "ops/gpu_test.h"
#include "ops/noise/noise.h"

namespace loom {
namespace {

TEST(Gpu, normal_noise_has_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  const RandomStream stream{0x123456789abcdef, RandomDomain::Init, 7, 11};
  op_test::expect_equal(*device, {}, 5, 20001,
                        [&](const Exec& exec, op_test::Inputs, Tensor y) { normal_noise(exec, 0.3, stream, y); });
}

}  // namespace
}  // namespace loom
