#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/wgsl/lanes.wgsl.h"
#include "core/checked.h"
#include "ops/elements_gpu.h"
#include "ops/gemm/gemm_gpu.h"
#include "ops/norm/batch_norm.wgsl.h"
#include "ops/norm/batch_norm_backward.wgsl.h"
#include "ops/norm/blend.wgsl.h"
#include "ops/norm/channel_plane_sums.wgsl.h"
#include "ops/norm/channel_statistics.wgsl.h"
#include "ops/norm/layer_norm.wgsl.h"
#include "ops/norm/moments.wgsl.h"
#include "ops/norm/norm_gpu.h"
#include "ops/norm/norm_backward.wgsl.h"
#include "ops/norm/normalised.wgsl.h"
#include "ops/norm/offset.wgsl.h"
#include "ops/norm/plane_statistics.wgsl.h"
#include "ops/norm/plane_sums.wgsl.h"
#include "ops/norm/rms_norm.wgsl.h"
#include "ops/sums/chains_gpu.h"

namespace loom::gpu {
namespace {

// Workgroups of a kernel that takes channels by threads, or by themselves where they are planes.
std::uint64_t channel_groups(const ChannelShape& s) {
  return s.positions == 1 ? ceil_div(s.channels, Kernel::kThreads) : s.channels;
}
std::uint32_t channel_threads(const ChannelShape& s) {
  return s.positions == 1 ? Kernel::kThreads : GpuDevice::kRowThreads;
}

void add_offset(const Exec& exec, const void* x, double offset, bool roots, std::size_t n, void* y) {
  exec.gpu()->record(exec,
                     Kernel("offset", wgsl::offset)
                         .reads("x", x)
                         .writes("y", y)
                         .number("elements", n)
                         .number("offset", static_cast<float>(offset))
                         .fixed("roots", roots),
                     ceil_div(n, Kernel::kThreads));
}

}  // namespace

void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y) {
  static const std::string body = joined({wgsl::lanes, wgsl::rms_norm});
  exec.gpu()->record_row(exec,
                         Kernel("rms_norm", body, GpuDevice::kRowThreads)
                             .reads("x", x.data, x.cols)
                             .reads("gamma", gamma)
                             .writes("y", y.data, y.cols)
                             .number("eps", static_cast<float>(eps))
                             .fixed("cols", x.cols),
                         x.rows);
}

void group_norm(const Exec& exec, ConstTensor x, const ChannelShape& s, std::size_t groups, const void* gamma,
                const void* beta, double eps, Tensor y) {
  static const std::string body = joined({wgsl::lanes, wgsl::moments, wgsl::normalised, wgsl::layer_norm});
  const std::size_t cols = s.channels / groups * s.positions;
  exec.gpu()->record_row(exec,
                         Kernel("layer_norm", body, GpuDevice::kRowThreads)
                             .reads("x", x.data, cols)
                             .reads("gamma", gamma)
                             .reads("beta", or_else(beta, gamma))
                             .writes("y", y.data, cols)
                             .number("eps", static_cast<float>(eps))
                             .fixed("cols", cols)
                             .fixed("positions", s.positions)
                             .fixed("groups", groups)
                             .fixed("has_beta", beta != nullptr)
                             .fixed("snaps_mean", 0)
                             .fixed("centred", 1),
                         s.samples * groups);
}

void norm_backward(const Exec& exec, const NormRows& s, ConstTensor x, const void* gamma, double eps, ConstTensor dy,
                   Tensor xh, Tensor dx) {
  static const std::string body = joined({wgsl::lanes, wgsl::moments, wgsl::norm_backward});
  exec.gpu()->record_row(exec,
                         Kernel("norm_backward", body, GpuDevice::kRowThreads)
                             .reads("x", x.data, s.cols)
                             .reads("gamma", or_else(gamma, x.data))
                             .reads("dy", or_else(dy.data, x.data), s.cols)
                             .updates("xh", xh.data, s.cols)
                             .writes("dx", dx.data == nullptr ? xh.data : dx.data, s.cols)
                             .number("eps", static_cast<float>(eps))
                             .fixed("cols", s.cols)
                             .fixed("positions", s.positions)
                             .fixed("groups", s.groups)
                             .fixed("wants_dx", dx.data != nullptr)
                             .fixed("snaps_mean", 0)
                             .fixed("centred", s.centred),
                         s.rows);
}

void offset_gains(const Exec& exec, const void* gamma, double offset, std::size_t n, void* y) {
  add_offset(exec, gamma, offset, false, n, y);
}

void channel_deviations(const Exec& exec, const void* variance, double eps, std::size_t channels, void* deviation) {
  add_offset(exec, variance, eps, true, channels, deviation);
}

void blend(const Exec& exec, const void* a, double factor_a, const void* b, double factor_b, std::size_t n, void* y) {
  exec.gpu()->record(exec,
                     Kernel("blend", wgsl::blend)
                         .reads("a", a)
                         .reads("b", b)
                         .writes("y", y)
                         .number("elements", n)
                         .number("factor_a", static_cast<float>(factor_a))
                         .number("factor_b", static_cast<float>(factor_b)),
                     ceil_div(n, Kernel::kThreads));
}

void add_channel_sums(const Exec& exec, const ChannelShape& s, ConstTensor a, const ConstTensor* b, std::size_t block,
                      void* c) {
  static const std::string planes = joined({wgsl::lanes, wgsl::plane_sums, wgsl::channel_plane_sums});
  const void* const factors = b == nullptr ? nullptr : b->data;
  if (s.positions == 1) return add_column_sums(exec, {a.data, s.samples, s.channels, Element::f32}, factors, block, c);
  exec.gpu()->record(exec,
                     Kernel("channel_sums", planes, channel_threads(s))
                         .reads("a", a.data)
                         .reads("b", or_else(factors, a.data))
                         .updates("c", c)
                         .number("samples", s.samples)
                         .number("channels", s.channels)
                         .number("block", block == 0 ? s.samples : block)
                         .fixed("positions", s.positions)
                         .fixed("has_b", b != nullptr),
                     channel_groups(s));
}

void channel_statistics(const Exec& exec, ConstTensor x, const ChannelShape& s, double eps,
                        const ChannelStatistics& to) {
  static const std::string planes = joined({wgsl::lanes, wgsl::plane_sums, wgsl::plane_statistics});
  Kernel kernel("channel_statistics", s.positions == 1 ? wgsl::channel_statistics : std::string_view(planes),
                channel_threads(s));
  kernel.reads("x", x.data)
      .writes("mean", to.mean)
      .writes("variance", to.variance)
      .writes("deviation", to.deviation)
      .number("samples", s.samples)
      .number("channels", s.channels)
      .number("eps", static_cast<float>(eps));
  if (s.positions != 1) kernel.fixed("positions", s.positions);
  exec.gpu()->record(exec, kernel, channel_groups(s));
}

void batch_norm(const Exec& exec, ConstTensor x, const ChannelShape& s, const void* mean, const void* deviation,
                const void* gamma, const void* beta, Tensor y) {
  static const std::string body = joined({wgsl::normalised, wgsl::batch_norm});
  const std::size_t elements = s.samples * s.channels * s.positions;
  exec.gpu()->record(exec,
                     Kernel("batch_norm", body)
                         .reads("x", x.data)
                         .reads("mean", mean)
                         .reads("deviation", deviation)
                         .reads("gamma", or_else(gamma, mean))
                         .reads("beta", or_else(beta, mean))
                         .writes("y", y.data)
                         .number("elements", elements)
                         .fixed("positions", s.positions)
                         .fixed("channels", s.channels)
                         .fixed("has_gamma", gamma != nullptr)
                         .fixed("has_beta", beta != nullptr),
                     ceil_div(elements, Kernel::kThreads));
}

void batch_norm_backward(const Exec& exec, ConstTensor dy, ConstTensor xh, const ChannelShape& s, const void* gamma,
                         const void* deviation, const void* mean_dy, const void* mean_dot, Tensor dx) {
  const std::size_t elements = s.samples * s.channels * s.positions;
  exec.gpu()->record(exec,
                     Kernel("batch_norm_backward", wgsl::batch_norm_backward)
                         .reads("dy", dy.data)
                         .reads("xh", xh.data)
                         .reads("gamma", gamma)
                         .reads("deviation", deviation)
                         .reads("mean_dy", or_else(mean_dy, gamma))
                         .reads("mean_dot", or_else(mean_dy == nullptr ? nullptr : mean_dot, gamma))
                         .writes("dx", dx.data)
                         .number("elements", elements)
                         .fixed("positions", s.positions)
                         .fixed("channels", s.channels)
                         .fixed("has_means", mean_dy != nullptr),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
