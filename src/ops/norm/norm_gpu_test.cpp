#include "ops/norm/norm.h"

#include "ops/gpu_test.h"

namespace loom {
namespace {

using op_test::expect_equal;
using op_test::Inputs;
using op_test::values;
using op_test::Values;

Tensor rows_at(Tensor y, std::size_t& at, std::size_t elements, std::size_t cols) {
  const Tensor part{y.as<float>() + at, elements / cols, cols, Element::f32};
  at += elements;
  return part;
}

// Rows beyond a block of lanes16, planes beyond one too, more samples than a block of the chain.
TEST(Gpu, norms_and_their_gradients_have_the_bits_of_the_cpu) {
  LOOM_NEEDS_GPU_DEVICE(device);
  for (const ChannelShape s :
       {ChannelShape{3, 2100, 1}, ChannelShape{150, 6, 1}, ChannelShape{70, 4, 19}, ChannelShape{2, 6, 1500}})
    for (const std::size_t groups : {std::size_t{1}, std::size_t{2}}) {
      SCOPED_TRACE(fmt::format("{} {} {} by {}", s.samples, s.channels, s.positions, groups));
      const std::size_t cols = s.channels * s.positions, all = s.samples * cols;
      const Values inputs[] = {{s.samples, cols, values<float>(all, 1, 3)},
                               {s.samples, cols, values<float>(all, 2)},
                               {1, s.channels, values<float>(s.channels, 3)},
                               {1, s.channels, values<float>(s.channels, 4)}};
      expect_equal(*device, inputs, 1, 9 * all + 6 * s.channels, [&](const Exec& exec, Inputs in, Tensor y) {
        std::size_t at = 0;
        const auto whole = [&] { return rows_at(y, at, all, cols); };
        const auto channels = [&] { return rows_at(y, at, s.channels, s.channels); };
        group_norm(exec, in[0], s, groups, in[2].data, in[3].data, 1e-5, whole());
        const Tensor xh = whole(), dx = whole();
        group_norm_backward(exec, in[0], s, groups, in[2].data, 1e-5, in[1], xh, dx);
        const Tensor own_xh = whole(), own_dx = whole();
        rms_norm_backward(exec, {in[0].data, s.samples, cols, Element::f32}, in[0].data, 1e-5, in[1], own_xh, own_dx);
        const Tensor mean = channels(), variance = channels(), deviation = channels(), again = channels(),
                     sums = channels(), blended = channels();
        channel_statistics(exec, in[0], s, 1e-5, {mean.data, variance.data, deviation.data});
        channel_deviations(exec, variance.data, 1e-3, s.channels, Element::f32, again.data);
        offset_gains(exec, in[2].data, 1, s.channels, Element::f32, sums.data);
        const ConstTensor b = in[1];
        add_channel_sums(exec, s, in[0], &b, 16, sums.data);
        add_channel_sums(exec, s, in[0], nullptr, 0, sums.data);
        blend(exec, mean.data, 0.9, in[3].data, 0.1, s.channels, Element::f32, blended.data);
        batch_norm(exec, in[0], s, mean.data, deviation.data, nullptr, nullptr, whole());
        batch_norm(exec, in[0], s, mean.data, deviation.data, in[2].data, in[3].data, whole());
        batch_norm_backward(exec, in[1], xh, s, in[2].data, deviation.data, mean.data, variance.data, whole());
        batch_norm_backward(exec, in[1], xh, s, in[2].data, deviation.data, nullptr, nullptr, whole());
      });
    }
}

}  // namespace
}  // namespace loom
