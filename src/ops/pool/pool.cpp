#include "ops/pool/pool.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/pool/pool_gpu.h"
#include "ops/until_cancelled.h"

namespace loom {

Result<PoolGeometry::Axes> PoolGeometry::out() const {
  Axes out{};
  for (std::size_t a = 0; a < 3; ++a) {
    if (kernel[a] == 0 || stride[a] == 0 || dilation[a] == 0)
      return fail(Code::InvalidConfig, "kernel {}, stride {}, dilation {} of axis {}: each must be at least 1",
                  kernel[a], stride[a], dilation[a], a);
    if (padding[a] > kernel[a] / 2)
      return fail(Code::InvalidConfig, "padding {} of axis {} is more than half the kernel {}", padding[a], a,
                  kernel[a]);
    LOOM_TRY(const std::size_t reach, checked_mul(dilation[a], kernel[a] - 1));
    const std::size_t padded = in[a] + 2 * padding[a];
    if (padded < reach + 1)
      return fail(Code::ShapeMismatch, "a window that reaches over {} elements does not fit {} with its padding",
                  reach + 1, padded);
    out[a] = (padded - reach - 1) / stride[a] + 1;
    const bool rest = (padded - reach - 1) % stride[a] != 0;
    if (ceil_mode && rest && out[a] * stride[a] < in[a] + padding[a]) ++out[a];
  }
  LOOM_TRY_VOID(checked_product({out[0], out[1], out[2]}));
  return out;
}

namespace {

using Axes = PoolGeometry::Axes;

std::size_t volume(const Axes& a) { return a[0] * a[1] * a[2]; }

// Taps of the innermost axis.
const PoolTap* taps_of(const Exec& exec, const PoolGeometry& g, const Axes& out) {
  PoolTap* taps = exec.arena.note<PoolTap>(g.kernel[2]);
  for_ranges(exec, 1, 1, [&](std::size_t, std::size_t) {
    for (std::size_t k = 0; k < g.kernel[2]; ++k) {
      // The first output whose position passes the padding, and the first that passes the input.
      const std::size_t at = k * g.dilation[2], p = g.padding[2], s = g.stride[2];
      const auto outputs_below = [&](std::size_t position) {
        return position <= at ? 0 : std::min(out[2], (position - at + s - 1) / s);
      };
      taps[k] = {outputs_below(p), outputs_below(g.in[2] + p),
                 static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(p)};
    }
  });
  return taps;
}

// Divisor of each output's average: the number of positions inside the input, or inside the padded input.
template <class T>
const T* counts_of(const Exec& exec, const PoolGeometry& g, const Axes& out) {
  T* counts = exec.arena.note<T>(volume(out));
  const auto inside = [&](std::size_t axis, std::size_t o) {
    const std::size_t p = g.padding[axis], low = g.count_include_pad ? 0 : p,
                      high = g.in[axis] + (g.count_include_pad ? 2 : 1) * p;
    const std::size_t begin = o * g.stride[axis], end = begin + g.kernel[axis];  // averages have no dilation
    return std::min(end, high) - std::max(begin, low);
  };
  for_ranges(exec, out[0] * out[1], out[2], [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row)
      for (std::size_t x = 0; x < out[2]; ++x)
        counts[row * out[2] + x] = static_cast<T>(inside(0, row / out[1]) * inside(1, row % out[1]) * inside(2, x));
  });
  return counts;
}

// f(plane, oz, oy, first output) for every innermost row of outputs.
template <class F>
void for_output_rows(const Exec& exec, const PoolGeometry& g, const Axes& out, std::size_t planes, F&& f) {
  const std::size_t rows = out[0] * out[1];
  for_ranges_until_cancelled(exec, planes * rows, out[2] * volume(g.kernel), [&](std::size_t begin, std::size_t end) {
    std::size_t plane = begin / rows, oz = begin % rows / out[1], oy = begin % out[1];
    for (std::size_t r = begin; r < end; ++r) {
      f(plane, oz, oy, r * out[2]);
      if (++oy != out[1]) continue;
      oy = 0;
      if (++oz == out[0]) oz = 0, ++plane;
    }
  });
}

}  // namespace

void max_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::max_pool(exec, g, out, x, planes, y); })) {
    const ArenaScope scope(host.arena);
    const PoolTap* taps = taps_of(host, g, out);
    with_element(x.element, [&]<class T>() {
      for_output_rows(host, g, out, planes, [&](std::size_t plane, std::size_t oz, std::size_t oy, std::size_t o) {
        host.kernels.pool.of<T>().max_row(g, out[2], taps, x.as<T>() + plane * volume(g.in), oz, oy, y.as<T>() + o);
      });
    });
  }
}

void average_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes,
                  Tensor y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::average_pool(exec, g, out, x, planes, y); })) {
    const ArenaScope scope(host.arena);
    const PoolTap* taps = taps_of(host, g, out);
    with_element(x.element, [&]<class T>() {
      const T* counts = counts_of<T>(host, g, out);
      for_output_rows(host, g, out, planes, [&](std::size_t plane, std::size_t oz, std::size_t oy, std::size_t o) {
        host.kernels.pool.of<T>().average_row(g, out[2], taps, x.as<T>() + plane * volume(g.in), oz, oy,
                                              counts + o % volume(out), y.as<T>() + o);
      });
    });
  }
}

void mean_of_planes(const Exec& exec, ConstTensor x, void* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::mean_of_planes(exec, x, y); }))
    with_element(x.element, [&]<class T>() {
      const PoolKernels<T>& kernels = host.kernels.pool.of<T>();
      for_rows(host, x.rows, x.cols, [&](std::size_t p) { static_cast<T*>(y)[p] = kernels.mean(x.row<T>(p), x.cols); });
    });
}

void largest_of_planes(const Exec& exec, ConstTensor x, void* y) {
  for (const Exec& host : dispatch(exec, [&] { gpu::largest_of_planes(exec, x, y); }))
    with_element(x.element, [&]<class T>() {
      const PoolKernels<T>& kernels = host.kernels.pool.of<T>();
      for_rows(host, x.rows, x.cols,
               [&](std::size_t p) { static_cast<T*>(y)[p] = kernels.largest(x.row<T>(p), x.cols); });
    });
}

namespace {

bool windows_overlap(const PoolGeometry& g) {
  for (std::size_t a = 0; a < 3; ++a)
    if (g.dilation[a] != 1 || g.stride[a] < g.kernel[a]) return true;
  return false;
}

}  // namespace

void max_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes,
                       ConstTensor dy, Tensor dx) {
  for (const Exec& host : dispatch(exec, [&] { gpu::max_pool_backward(exec, g, out, x, planes, dy, dx); })) {
    const ArenaScope scope(host.arena);
    const std::size_t inputs = volume(g.in), outputs = volume(out);
    std::size_t* winners = host.arena.take<std::size_t>(planes * outputs);
    const bool overlap = windows_overlap(g);
    with_element(x.element, [&]<class T>() {
      const PoolKernels<T>& k = host.kernels.pool.of<T>();
      for_rows(host, planes, overlap ? outputs * volume(g.kernel) * 2 : inputs * 2, [&](std::size_t plane) {
        const T *from = x.as<T>() + plane * inputs, *gradient = dy.as<T>() + plane * outputs;
        if (overlap)
          k.max_backward(g, out, from, gradient, winners + plane * outputs, dx.as<T>() + plane * inputs);
        else
          k.max_scatter(g, out, from, gradient, dx.as<T>() + plane * inputs);
      });
    });
  }
}

void average_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, std::size_t planes, ConstTensor dy,
                           Tensor dx, bool divides) {
  for (const Exec& host : dispatch(exec, [&] { gpu::average_pool_backward(exec, g, out, planes, dy, dx, divides); })) {
    const ArenaScope scope(host.arena);
    const std::size_t inputs = volume(g.in), outputs = volume(out);
    with_element(dy.element, [&]<class T>() {
      const T* counts = counts_of<T>(host, g, out);
      T* shares = host.arena.take<T>(planes * outputs);
      for_rows(host, planes, outputs * volume(g.kernel) * 2, [&](std::size_t plane) {
        host.kernels.pool.of<T>().average_backward(g, out, divides ? counts : nullptr, dy.as<T>() + plane * outputs,
                                                   shares + plane * outputs, dx.as<T>() + plane * inputs);
      });
    });
  }
}

}  // namespace loom
