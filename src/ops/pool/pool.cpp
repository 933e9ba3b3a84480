#include "ops/pool/pool.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/for_rows.h"
#include "simd/orders.h"

namespace loom {

Result<PoolGeometry::Axes> PoolGeometry::out() const {
  Axes out{};
  for (std::size_t a = 0; a < 3; ++a) {
    if (kernel[a] == 0 || stride[a] == 0 || dilation[a] == 0)
      return fail(Code::InvalidConfig, "kernel {}, stride {}, dilation {} of axis {}: each must be at least 1", kernel[a], stride[a], dilation[a], a);
    if (padding[a] > kernel[a] / 2)
      return fail(Code::InvalidConfig, "padding {} of axis {} is more than half the kernel {}", padding[a], a, kernel[a]);
    LOOM_TRY(const std::size_t reach, checked_mul(dilation[a], kernel[a] - 1));
    const std::size_t padded = in[a] + 2 * padding[a];
    if (padded < reach + 1)
      return fail(Code::ShapeMismatch, "a window that reaches over {} elements does not fit {} with its padding", reach + 1, padded);
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

// Calls visit(element of the plane) for every position of a window that lies in the input, ascending.
template <class Visit>
void each_position(const PoolGeometry& g, const Axes& o, Visit visit) {
  const auto at = [&](std::size_t axis, std::size_t k) {
    return o[axis] * g.stride[axis] + k * g.dilation[axis] - g.padding[axis];
  };  // wraps outside
  for (std::size_t z = 0; z < g.kernel[0]; ++z)
    for (std::size_t y = 0; y < g.kernel[1]; ++y) {
      const std::size_t iz = at(0, z), iy = at(1, y);
      if (iz >= g.in[0] || iy >= g.in[1]) continue;
      for (std::size_t x = 0; x < g.kernel[2]; ++x)
        if (const std::size_t ix = at(2, x); ix < g.in[2]) visit((iz * g.in[1] + iy) * g.in[2] + ix);
    }
}

// Outputs of one axis whose windows cover an input position: first, first + 1, ... (holes of a dilation among them).
struct Covering {
  std::size_t first, last, position;  // position counts from the start of the padding
  Covering(const PoolGeometry& g, const Axes& out, std::size_t axis, std::size_t i) : position(i + g.padding[axis]) {
    const std::size_t reach = g.dilation[axis] * (g.kernel[axis] - 1), s = g.stride[axis];
    first = position <= reach ? 0 : (position - reach + s - 1) / s;
    last = std::min(out[axis], position / s + 1);
  }
  // How many taps of the window come after the one that lies here; none in a hole.
  bool tap(const PoolGeometry& g, std::size_t axis, std::size_t o, std::size_t& after) const {
    const std::size_t from_start = position - o * g.stride[axis], d = g.dilation[axis];
    after = g.kernel[axis] - 1 - from_start / d;
    return d == 1 || from_start % d == 0;
  }
};

// The sum of value(output) over the windows that cover element i of a plane: chain64 over their mirrored taps.
template <class T, class Value>
T gathered(const PoolGeometry& g, const Axes& out, const std::array<Covering, 3>& c, Value value) {
  Chain64<T> sum;
  std::size_t tz = 0, ty = 0, tx = 0;
  for (std::size_t oz = c[0].first; oz < c[0].last; ++oz) {
    if (!c[0].tap(g, 0, oz, tz)) continue;
    for (std::size_t oy = c[1].first; oy < c[1].last; ++oy) {
      if (!c[1].tap(g, 1, oy, ty)) continue;
      for (std::size_t ox = c[2].first; ox < c[2].last; ++ox) {
        if (!c[2].tap(g, 2, ox, tx)) continue;
        sum.add((tz * g.kernel[1] + ty) * g.kernel[2] + tx, value((oz * out[1] + oy) * out[2] + ox));
      }
    }
  }
  return sum.total();
}

// dx[i] = gathered value(i, output) for every element of a plane.
template <class T, class Value>
void gather_plane(const PoolGeometry& g, const Axes& out, T* dx, Value value) {
  std::size_t i = 0;
  for (std::size_t z = 0; z < g.in[0]; ++z)
    for (std::size_t y = 0; y < g.in[1]; ++y)
      for (std::size_t x = 0; x < g.in[2]; ++x, ++i)
        dx[i] = snap(gathered<T>(g, out, {Covering(g, out, 0, z), Covering(g, out, 1, y), Covering(g, out, 2, x)},
                                    [&](std::size_t o) { return value(i, o); }));
}

// Taps of the innermost axis.
const PoolTap* taps_of(const Exec& exec, const PoolGeometry& g, const Axes& out) {
  PoolTap* taps = exec.arena.note<PoolTap>(g.kernel[2]);
  for_ranges(exec, 1, 1, [&](std::size_t, std::size_t) {
    for (std::size_t k = 0; k < g.kernel[2]; ++k) {
      // The first output whose position passes the padding, and the first that passes the input.
      const std::size_t at = k * g.dilation[2], p = g.padding[2], s = g.stride[2];
      const auto outputs_below = [&](std::size_t position) { return position <= at ? 0 : std::min(out[2], (position - at + s - 1) / s); };
      taps[k] = {outputs_below(p), outputs_below(g.in[2] + p), static_cast<std::ptrdiff_t>(at) - static_cast<std::ptrdiff_t>(p)};
    }
  });
  return taps;
}

// Divisor of each output's average: the number of positions inside the input, or inside the padded input.
template <class T>
const T* counts_of(const Exec& exec, const PoolGeometry& g, const Axes& out) {
  T* counts = exec.arena.note<T>(volume(out));
  const auto inside = [&](std::size_t axis, std::size_t o) {
    const std::size_t p = g.padding[axis], low = g.count_include_pad ? 0 : p, high = g.in[axis] + (g.count_include_pad ? 2 : 1) * p;
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
  for_rows(exec, planes * rows, out[2] * volume(g.kernel), [&](std::size_t r) { f(r / rows, r % rows / out[1], r % out[1], r * out[2]); });
}

}  // namespace

void max_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  const ArenaScope scope(exec.arena);
  const PoolTap* taps = taps_of(exec, g, out);
  with_element(x.element, [&]<class T>() {
    for_output_rows(exec, g, out, planes, [&](std::size_t plane, std::size_t oz, std::size_t oy, std::size_t o) {
      exec.kernels.pool.of<T>().max_row(g, out[2], taps, x.as<T>() + plane * volume(g.in), oz, oy, y.as<T>() + o);
    });
  });
}

void average_pool(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  const ArenaScope scope(exec.arena);
  const PoolTap* taps = taps_of(exec, g, out);
  with_element(x.element, [&]<class T>() {
    const T* counts = counts_of<T>(exec, g, out);
    for_output_rows(exec, g, out, planes, [&](std::size_t plane, std::size_t oz, std::size_t oy, std::size_t o) {
      exec.kernels.pool.of<T>().average_row(g, out[2], taps, x.as<T>() + plane * volume(g.in), oz, oy, counts + o % volume(out), y.as<T>() + o);
    });
  });
}

namespace {

// Windows that do not overlap: each output's gradient goes to its largest element, everything else gets 0.
template <class T>
void scatter_plane(const PoolGeometry& g, const Axes& out, const T* x, const T* dy, T* dx) {
  std::fill_n(dx, volume(g.in), T{0});
  for (std::size_t oz = 0; oz < out[0]; ++oz)
    for (std::size_t oy = 0; oy < out[1]; ++oy)
      for (std::size_t ox = 0; ox < out[2]; ++ox, ++dy) {
        const std::size_t at = ox * g.stride[2] - g.padding[2];  // wraps outside
        std::size_t winner = volume(g.in);
        T largest = 0;
        for (std::size_t z = 0; z < g.kernel[0]; ++z)
          for (std::size_t y = 0; y < g.kernel[1]; ++y) {
            const std::size_t iz = oz * g.stride[0] + z - g.padding[0], iy = oy * g.stride[1] + y - g.padding[1];
            if (iz >= g.in[0] || iy >= g.in[1]) continue;
            const std::size_t row = (iz * g.in[1] + iy) * g.in[2];
            for (std::size_t k = 0; k < g.kernel[2]; ++k) {
              const std::size_t ix = at + k;
              if (ix >= g.in[2]) continue;
              const T v = x[row + ix];
              if (winner == volume(g.in) ? v == v : v > largest) largest = v, winner = row + ix;
            }
          }
        if (winner != volume(g.in)) dx[winner] = snap(*dy);
      }
}

bool windows_overlap(const PoolGeometry& g) {
  for (std::size_t a = 0; a < 3; ++a)
    if (g.dilation[a] != 1 || g.stride[a] < g.kernel[a]) return true;
  return false;
}

}  // namespace

void max_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, ConstTensor x, std::size_t planes, ConstTensor dy, Tensor dx) {
  const ArenaScope scope(exec.arena);
  const std::size_t inputs = volume(g.in), outputs = volume(out);
  std::size_t* winners = exec.arena.take<std::size_t>(planes * outputs);
  with_element(x.element, [&]<class T>() {
    if (!windows_overlap(g))
      return for_rows(exec, planes, inputs * 2, [&](std::size_t plane) {
        scatter_plane(g, out, x.as<T>() + plane * inputs, dy.as<T>() + plane * outputs, dx.as<T>() + plane * inputs);
      });
    for_rows(exec, planes, outputs * volume(g.kernel) * 2, [&](std::size_t plane) {
      const T *from = x.as<T>() + plane * inputs, *gradient = dy.as<T>() + plane * outputs;
      std::size_t* winner = winners + plane * outputs;
      for (std::size_t o = 0; o < outputs; ++o) {
        winner[o] = inputs;  // none, when all are NaN
        T largest = 0;
        each_position(g, {o / (out[1] * out[2]), o / out[2] % out[1], o % out[2]}, [&](std::size_t i) {
          if (winner[o] == inputs ? from[i] == from[i] : from[i] > largest) largest = from[i], winner[o] = i;
        });
      }
      gather_plane(g, out, dx.as<T>() + plane * inputs, [&](std::size_t i, std::size_t o) { return winner[o] == i ? gradient[o] : T{0}; });
    });
  });
}

void average_pool_backward(const Exec& exec, const PoolGeometry& g, const Axes& out, std::size_t planes, ConstTensor dy, Tensor dx, bool divides) {
  const ArenaScope scope(exec.arena);
  const std::size_t inputs = volume(g.in), outputs = volume(out);
  with_element(dy.element, [&]<class T>() {
    const T* counts = counts_of<T>(exec, g, out);
    T* shares = exec.arena.take<T>(planes * outputs);
    for_rows(exec, planes, outputs * volume(g.kernel) * 2, [&](std::size_t plane) {
      const T* gradient = dy.as<T>() + plane * outputs;
      T* share = shares + plane * outputs;
      for (std::size_t o = 0; o < outputs; ++o) share[o] = divides ? snap(gradient[o] / counts[o]) : gradient[o];
      gather_plane(g, out, dx.as<T>() + plane * inputs, [&](std::size_t, std::size_t o) { return share[o]; });
    });
  });
}

}  // namespace loom
