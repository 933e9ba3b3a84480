#include "ops/choice/choice.h"
#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

TEST(Gpu, choices_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  using L = std::numeric_limits<float>;
  for (const auto& [rows, cols] : {std::pair<std::size_t, std::size_t>{1, 1}, {2, 255}, {3, 2049}, {2, 49152}})
    for (const float odd : {0.5f, 2.0f, -0.0f, L::max(), L::infinity(), -L::infinity(), L::quiet_NaN()})
      for (const std::size_t num_banned : {0u, 2u}) {
        SCOPED_TRACE(fmt::format("{} rows of {}, one {}, {} banned", rows, cols, odd, num_banned));
        Values x{rows, cols, values<float>(rows * cols, 1)};
        // The greatest stands in several places, in parts of threads and of workgroups.
        for (const std::size_t at : {cols / 3, cols / 2, cols - 1}) x.numbers[(rows - 1) * cols + at] = odd;
        const std::vector<std::int32_t> banned = {static_cast<std::int32_t>(cols / 3), 7};
        expect_equal(*device, {&x, 1}, 1, rows, [&, count = num_banned](const Exec& exec, Inputs t, Tensor y) {
          choose(exec, t[0], std::span(banned).first(count), {y.as<std::int32_t>(), rows});
        });
      }
}

TEST(Gpu, of_zeros_and_equals_the_first_is_chosen) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const float first : {-0.0f, 0.0f, -1e-45f, -3.4e38f}) {
    Values x{1, 5000, std::vector<float>(5000, first)};
    x.numbers[4001] = x.numbers[4500] = first == 0 ? -first : first;
    expect_equal(*device, {&x, 1}, 1, 1,
                 [&](const Exec& exec, Inputs t, Tensor y) { choose(exec, t[0], {}, {y.as<std::int32_t>(), 1}); });
  }
}

}  // namespace
}  // namespace loom
