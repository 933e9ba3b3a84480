#include "ops/conv/conv_shapes.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::Parts;
using op_test::special_values;
using op_test::values;
using op_test::Values;

TEST(Gpu, convolutions_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const test::ConvShapes& s : test::conv_shapes()) {
    SCOPED_TRACE(s.name);
    const ConvSizes &n = s.sizes, turned{n.samples, n.groups, n.filters, n.channels};
    ConvGeometry::Axes out = s.geometry.out().value();
    for (std::size_t a = 0; a < 3; ++a) out[a] -= s.crop[a];
    const ConvGeometry reversed = s.geometry.reversed(out);
    const PatchLayout forward = PatchLayout::create(s.geometry, out).value(),
                      back = PatchLayout::create(reversed, s.geometry.in).value();
    const std::size_t taps = s.geometry.taps(), positions = ConvGeometry::product(out), filters = n.groups * n.filters,
                      weights = filters * n.channels * taps, outputs = n.samples * filters * positions,
                      inputs = n.samples * n.groups * n.channels * ConvGeometry::product(s.geometry.in);
    const Values in[] = {{1, inputs, values<float>(inputs, 1)},
                         {1, weights, values<float>(weights, 2)},
                         {1, outputs, values<float>(outputs, 3)},
                         {1, filters, values<float>(filters, 4)}};
    expect_equal(
        *device, in, 1, 2 * outputs + inputs + 2 * weights + 2 * filters, [&](const Exec& exec, Inputs t, Tensor y) {
          const ArenaScope scope(exec.arena);
          fill(exec, y, 0.25);
          Parts parts(y);
          convolve(exec, forward, n, t[0].data, t[1].data, t[3].data, parts.take(outputs), Element::f32);
          convolve(exec, forward, n, t[0].data, t[1].data, nullptr, parts.take(outputs), Element::f32);
          void* const w = parts.take(weights);
          reverse_weight(exec, n, taps, t[1].data, w, Element::f32);
          convolve(exec, back, turned, t[2].data, w, nullptr, parts.take(inputs), Element::f32);
          void *const dw = parts.take(weights), *const db = parts.take(filters);
          if (s.geometry.transposed)
            convolve_weight_gradient(exec, back, turned, t[2].data, t[0].data, true, dw, nullptr, Element::f32);
          else
            convolve_weight_gradient(exec, forward, n, t[0].data, t[2].data, false, dw, db, Element::f32);
          convolve_bias_gradient(exec, n.samples, filters, positions, t[2].data, parts.take(filters), Element::f32);
        });
  }
}

// A weight that is not finite shows where it meets padding, as in a product of matrices.
TEST(Gpu, convolutions_of_what_is_not_finite_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const bool transposed : {false, true}) {
    ConvGeometry g{{1, 4, 9}, {1, 3, 4}, {1, 2, 3}, {0, 1, 1}};
    g.transposed = transposed;
    const ConvGeometry::Axes out = g.out().value();
    const PatchLayout layout = PatchLayout::create(g, out).value();
    const ConvSizes n{2, 1, 2, 5};
    const std::size_t inputs = 4 * 36, weights = 5 * 2 * 12, outputs = 10 * ConvGeometry::product(out);
    Values in[] = {{1, inputs, special_values<float>(inputs, 1)}, {1, weights, special_values<float>(weights, 2)}};
    for (Values& v : in)  // as stored ones are: a card may take a subnormal for 0, whose product with infinity is NaN
      std::ranges::transform(v.numbers, v.numbers.begin(), [](float x) { return op_test::snapped(x); });
    expect_equal(*device, in, 1, outputs, [&](const Exec& exec, Inputs t, Tensor y) {
      convolve(exec, layout, n, t[0].data, t[1].data, nullptr, y.data, Element::f32);
    });
  }
}

TEST(Gpu, stored_planes_and_patches_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const test::ConvShapes& s : test::conv_shapes()) {
    SCOPED_TRACE(s.name);
    const std::size_t channels = s.sizes.channels;
    ConvGeometry::Axes out = s.geometry.out().value();
    for (std::size_t a = 0; a < 3; ++a) out[a] -= s.crop[a];
    const PatchLayout layout = PatchLayout::create(s.geometry, out).value();
    const std::size_t positions = ConvGeometry::product(out), first = positions / 3, rows = positions - first,
                      cols = channels * s.geometry.taps(), inputs = channels * layout.input_plane();
    const Values in[] = {{1, inputs, special_values<float>(inputs, 1)}};
    expect_equal(*device, in, 1, rows * cols + positions * cols, [&](const Exec& exec, Inputs t, Tensor y) {
      const ArenaScope scope(exec.arena);
      const void* planes = t[0].data;
      if (!layout.in_place()) {
        float* const stored = exec.arena.take<float>(channels * layout.plane());
        store_planes(exec, layout, planes, channels, Element::f32, stored);
        planes = stored;
      }
      const Tensor patches{y.data, rows, cols, Element::f32};
      unfold(exec, layout, planes, channels, first, patches);
      fill(exec, {y.as<float>() + rows * cols, positions, cols, Element::f32}, 0.5);
      rows_to_planes(exec, patches, positions, first, y.as<float>() + rows * cols);
    });
  }
}

}  // namespace
}  // namespace loom
