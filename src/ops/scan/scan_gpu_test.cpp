#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"
#include "ops/scan/scan.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
using op_test::values;
using op_test::Values;

struct Case {
  std::size_t batch, steps, channels, states;
  std::vector<std::size_t> lengths;
};

TEST(Gpu, selective_scans_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const Case& c : {Case{1, 1, 1, 1, {}},
                        {3, 2, 5, 4, {}},
                        {17, 3, 16, 2, {}},
                        {2, 67, 33, 3, {}},
                        {3, 40, 70, 16, {}},
                        {4, 5, 19, 3, {5, 0, 2, 4}}}) {
    SCOPED_TRACE(fmt::format("[{}, {}, {}], {} states", c.batch, c.steps, c.channels, c.states));
    const std::size_t rows = c.batch * c.steps, states = c.channels * c.states;
    std::vector<float> dt = values<float>(rows * c.channels, 2);
    for (float& v : dt) v = std::abs(v);
    const Values in[] = {{rows, c.channels, values<float>(rows * c.channels, 1, 2)},
                         {rows, c.channels, dt},
                         {rows, c.states, values<float>(rows * c.states, 3)},
                         {rows, c.states, values<float>(rows * c.states, 4)},
                         {c.channels, c.states, values<float>(states, 5)},
                         {1, c.channels, values<float>(c.channels, 6)},
                         {c.batch, states, values<float>(c.batch * states, 7)},
                         {rows, c.channels, values<float>(rows * c.channels, 8)}};
    const std::size_t elements = states + 2 * c.batch * states + 6 * rows * c.channels + rows * states +
                                 2 * rows * c.states + c.batch * (states + 2 * c.channels);
    expect_equal(*device, in, 1, elements, [&](const Exec& exec, Inputs t, Tensor y) {
      Parts parts(y);
      const auto take = [&](std::size_t n, std::size_t cols) { return parts.take(n, cols); };
      const ScanShape shape{c.batch, c.steps, c.channels, c.states, c.lengths.empty() ? nullptr : c.lengths.data()};
      fill(exec, y, 0.5);
      const Tensor a = take(c.states, c.channels), h = take(c.batch, states), again = take(c.batch, states),
                   before = take(rows, states);
      scan_rates(exec, t[4].data, shape, Element::f32, a.data);
      copy(exec, t[6], h);
      copy(exec, t[6], again);
      const Scan scan{shape, t[0], t[1], t[2], t[3], a.data, t[5].data};
      selective_scan(exec, scan, h, before, take(rows, c.channels));
      selective_scan(exec, scan, again, {}, take(rows, c.channels));
      const ScanGradients to{take(rows, c.channels), take(rows, c.channels), take(rows, c.states),
                             take(rows, c.states),   take(c.batch, states),  take(c.batch, c.channels)};
      selective_scan_backward(exec, scan, before, t[7], to);
      selective_scan_gap(exec, scan, t[7], take(rows, c.channels), take(rows, c.channels), take(c.batch, c.channels));
    });
  }
}

}  // namespace
}  // namespace loom
