#include "ops/norm/norm.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/elementwise/elementwise.h"
#include "ops/for_rows.h"
#include "ops/norm/norm_gpu.h"

namespace loom {
namespace {

template <class T>
const T* of(const void* p) {
  return static_cast<const T*>(p);
}
template <class T>
const T* part_of(const void* p, std::size_t at) {
  return p == nullptr ? nullptr : static_cast<const T*>(p) + at;
}

void backward_rows(const Exec& exec, const gpu::NormRows& s, ConstTensor x, const void* gamma, double eps,
                   ConstTensor dy, Tensor xh, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::norm_backward(exec, s, x, gamma, eps, dy, xh, dx); }))
    with_element(x.element, [&]<class T>() {
      const NormKernels<T>& kernels = host.kernels.norm.of<T>();
      const auto kernel = s.centred ? kernels.layer_backward_row : kernels.rms_backward_row;
      for_rows(host, s.rows, s.cols, [&](std::size_t r) {
        const std::size_t at = r * s.cols;
        kernel(x.as<T>() + at, of<T>(gamma) + r % s.groups * (s.cols / s.positions), dy.as<T>() + at, eps, s.cols,
               s.positions, xh.as<T>() + at, dx.data == nullptr ? nullptr : dx.as<T>() + at);
      });
    });
}

// f(first, count) over ranges of channels whose sums cost enough.
template <class F>
void for_channel_ranges(const Exec& exec, const ChannelShape& s, F&& f) {
  const std::size_t tile = s.positions == 1 ? 64 : 1;  // channels side by side in memory are summed side by side
  for_ranges(exec, (s.channels + tile - 1) / tile, s.samples * s.positions * tile,
             [&](std::size_t begin, std::size_t end) { f(begin * tile, std::min(end * tile, s.channels)); });
}

// f(first element, first channel, channels) for each sample, or for each of its channels where these are long.
template <class F>
void for_planes(const Exec& exec, const ChannelShape& s, F&& f) {
  const std::size_t parts = s.positions == 1 ? 1 : s.channels, channels = s.channels / parts,
                    size = channels * s.positions;
  for_rows(exec, s.samples * parts, size, [&](std::size_t i) { f(i * size, i % parts * channels, channels); });
}

}  // namespace

void rms_norm(const Exec& exec, ConstTensor x, const void* gamma, double eps, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::rms_norm(exec, x, gamma, eps, y); }))
    with_element(x.element, [&]<class T>() {
      for_rows(host, x.rows, x.cols, [&](std::size_t r) {
        host.kernels.norm.of<T>().rms_norm_row(x.row<T>(r), of<T>(gamma), eps, x.cols, y.row<T>(r));
      });
    });
}

void layer_norm(const Exec& exec, ConstTensor x, const void* gamma, const void* beta, double eps, Tensor y) {
  group_norm(exec, x, {x.rows, x.cols, 1}, 1, gamma, beta, eps, y);
}

void rms_norm_backward(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor xh,
                       Tensor dx) {
  backward_rows(exec, {.rows = x.rows, .cols = x.cols}, x, gamma, eps, dy, xh, dx);
}

void layer_norm_backward(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor xh,
                         Tensor dx) {
  backward_rows(exec, {.centred = true, .rows = x.rows, .cols = x.cols}, x, gamma, eps, dy, xh, dx);
}

void offset_gains(const Exec& exec, const void* gamma, double offset, std::size_t n, Element element, void* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::offset_gains(exec, gamma, offset, n, y); }))
    with_element(element, [&]<class T>() {
      for_elements(host, n, [&](std::size_t at, std::size_t count) {
        host.kernels.norm.of<T>().offset(of<T>(gamma) + at, offset, count, static_cast<T*>(y) + at);
      });
    });
}

void group_norm(const Exec& exec, ConstTensor x, const ChannelShape& s, std::size_t groups, const void* gamma,
                const void* beta, double eps, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::group_norm(exec, x, s, groups, gamma, beta, eps, y); })) {
    const std::size_t channels = s.channels / groups, cols = channels * s.positions;
    with_element(x.element, [&]<class T>() {
      for_rows(host, s.samples * groups, cols, [&](std::size_t r) {
        const std::size_t first = r % groups * channels;
        host.kernels.norm.of<T>().layer_norm_row(x.as<T>() + r * cols, of<T>(gamma) + first, part_of<T>(beta, first),
                                                 eps, cols, s.positions, y.as<T>() + r * cols);
      });
    });
  }
}

void group_norm_backward(const Exec& exec, ConstTensor x, const ChannelShape& s, std::size_t groups, const void* gamma,
                         double eps, ConstTensor dy, Tensor xh, Tensor dx) {
  const gpu::NormRows rows{.centred = true,
                           .rows = s.samples * groups,
                           .cols = s.channels / groups * s.positions,
                           .positions = s.positions,
                           .groups = groups};
  backward_rows(exec, rows, x, gamma, eps, dy, xh, dx);
}

void add_channel_sums(const Exec& exec, const ChannelShape& s, ConstTensor a, const ConstTensor* b, std::size_t block,
                      void* c) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_channel_sums(exec, s, a, b, block, c); }))
    with_element(a.element, [&]<class T>() {
      for_channel_ranges(host, s, [&](std::size_t begin, std::size_t end) {
        const bool dots = b != nullptr;
        host.kernels.norm.of<T>().channel_sums(s, a.as<T>(), dots ? b->as<T>() : nullptr, begin, end,
                                               block == 0 ? s.samples : block, dots ? static_cast<T*>(c) : nullptr,
                                               dots ? nullptr : static_cast<T*>(c));
      });
    });
}

void add_both_channel_sums(const Exec& exec, const ChannelShape& s, ConstTensor a, ConstTensor b, std::size_t block,
                           void* dots, void* sums) {
  for (const Exec& host : dispatch(exec, [&] {
         gpu::add_channel_sums(exec, s, a, &b, block, dots);
         gpu::add_channel_sums(exec, s, a, nullptr, block, sums);
       }))
    with_element(a.element, [&]<class T>() {
      for_channel_ranges(host, s, [&](std::size_t begin, std::size_t end) {
        host.kernels.norm.of<T>().channel_sums(s, a.as<T>(), b.as<T>(), begin, end, block == 0 ? s.samples : block,
                                               static_cast<T*>(dots), static_cast<T*>(sums));
      });
    });
}

void channel_statistics(const Exec& exec, ConstTensor x, const ChannelShape& s, double eps,
                        const ChannelStatistics& to) {
  for (const Exec& host : dispatch(exec, [&] { gpu::channel_statistics(exec, x, s, eps, to); }))
    with_element(x.element, [&]<class T>() {
      for_channel_ranges(host, s, [&](std::size_t begin, std::size_t end) {
        host.kernels.norm.of<T>().channel_statistics(s, x.as<T>(), begin, end, eps, static_cast<T*>(to.mean),
                                                     static_cast<T*>(to.variance), static_cast<T*>(to.deviation));
      });
    });
}

void channel_deviations(const Exec& exec, const void* variance, double eps, std::size_t channels, Element element,
                        void* deviation) {
  for (const Exec& host : dispatch(exec, [&] { gpu::channel_deviations(exec, variance, eps, channels, deviation); }))
    with_element(element, [&]<class T>() {
      for_elements(host, channels, [&](std::size_t at, std::size_t n) {
        host.kernels.norm.of<T>().deviations(of<T>(variance) + at, eps, n, static_cast<T*>(deviation) + at);
      });
    });
}

void blend(const Exec& exec, const void* a, double factor_a, const void* b, double factor_b, std::size_t n,
           Element element, void* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::blend(exec, a, factor_a, b, factor_b, n, y); }))
    with_element(element, [&]<class T>() {
      for_elements(host, n, [&](std::size_t at, std::size_t count) {
        host.kernels.norm.of<T>().blend(of<T>(a) + at, factor_a, of<T>(b) + at, factor_b, count,
                                        static_cast<T*>(y) + at);
      });
    });
}

void batch_norm(const Exec& exec, ConstTensor x, const ChannelShape& s, const void* mean, const void* deviation,
                const void* gamma, const void* beta, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::batch_norm(exec, x, s, mean, deviation, gamma, beta, y); }))
    with_element(x.element, [&]<class T>() {
      for_planes(host, s, [&](std::size_t at, std::size_t first, std::size_t channels) {
        host.kernels.norm.of<T>().batch_norm(x.as<T>() + at, of<T>(mean) + first, of<T>(deviation) + first,
                                             part_of<T>(gamma, first), part_of<T>(beta, first), channels, s.positions,
                                             y.as<T>() + at);
      });
    });
}

void batch_norm_backward(const Exec& exec, ConstTensor dy, ConstTensor xh, const ChannelShape& s, const void* gamma,
                         const void* deviation, const void* mean_dy, const void* mean_dot, Tensor dx) {
  for (const Exec& host :
       dispatch(exec, [&] { gpu::batch_norm_backward(exec, dy, xh, s, gamma, deviation, mean_dy, mean_dot, dx); }))
    with_element(dy.element, [&]<class T>() {
      for_planes(host, s, [&](std::size_t at, std::size_t first, std::size_t channels) {
        host.kernels.norm.of<T>().batch_backward(dy.as<T>() + at, xh.as<T>() + at, of<T>(gamma) + first,
                                                 of<T>(deviation) + first, part_of<T>(mean_dy, first),
                                                 part_of<T>(mean_dot, first), channels, s.positions, dx.as<T>() + at);
      });
    });
}

void rms_norm_gradient(const Exec& exec, ConstTensor x, const void* gamma, double eps, ConstTensor dy, Tensor dx,
                       void* dgamma, std::size_t block) {
  const ArenaScope scope(exec.arena);
  const Tensor xh = exec.arena.tensor(x.rows, x.cols, x.element),
               gradient = exec.arena.tensor(x.rows, x.cols, x.element);
  rms_norm_backward(exec, x, gamma, eps, dy, xh, gradient);
  const ConstTensor normed = xh;
  if (dgamma != nullptr) add_channel_sums(exec, {x.rows, x.cols, 1}, dy, &normed, block, dgamma);
  copy(exec, gradient, dx);
}

}  // namespace loom
