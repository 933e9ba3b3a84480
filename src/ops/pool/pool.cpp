#include "ops/pool/pool.h"

#include <algorithm>
#include <limits>

#include "core/checked.h"
#include "dtypes/float16.h"
#include "ops/for_rows.h"

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

// Calls visit(tap index, element of the plane) for every position of a window that lies in the input, ascending.
template <class Visit>
void each_position(const PoolGeometry& g, const PoolGeometry::Axes& o, Visit visit) {
  std::size_t tap = 0;
  const auto at = [&](std::size_t axis, std::size_t k) {
    return o[axis] * g.stride[axis] + k * g.dilation[axis] - g.padding[axis];
  };  // wraps outside
  for (std::size_t z = 0; z < g.kernel[0]; ++z)
    for (std::size_t y = 0; y < g.kernel[1]; ++y)
      for (std::size_t x = 0; x < g.kernel[2]; ++x, ++tap) {
        const std::size_t iz = at(0, z), iy = at(1, y), ix = at(2, x);
        if (iz < g.in[0] && iy < g.in[1] && ix < g.in[2]) visit(tap, (iz * g.in[1] + iy) * g.in[2] + ix);
      }
}

// Elements by which an average is divided: those inside the input, or inside the padded input.
std::size_t divisor(const PoolGeometry& g, const PoolGeometry::Axes& o) {
  std::size_t count = 1;
  for (std::size_t a = 0; a < 3; ++a) {
    const std::size_t low = g.count_include_pad ? 0 : g.padding[a], high = g.in[a] + (g.count_include_pad ? 2 : 1) * g.padding[a];
    std::size_t inside = 0;
    for (std::size_t k = 0; k < g.kernel[a]; ++k) {
      const std::size_t i = o[a] * g.stride[a] + k * g.dilation[a];
      inside += i >= low && i < high;
    }
    count *= inside;
  }
  return count;
}

float snap_to(float v) { return snapped(v); }
double snap_to(double v) { return v != v ? std::numeric_limits<double>::quiet_NaN() : (v < 0 ? -v : v) < 0x1p-485 ? 0.0 : v; }

// y = window(plane, output), one after the other.
template <class T, class Window>
void each_window(const Exec& exec, const PoolGeometry& g, const PoolGeometry::Axes& out, const T* x, std::size_t planes, T* y, Window window) {
  const std::size_t inputs = g.in[0] * g.in[1] * g.in[2], outputs = out[0] * out[1] * out[2];
  for_rows(exec, planes, outputs * g.kernel[0] * g.kernel[1] * g.kernel[2], [&](std::size_t plane) {
    const T* from = x + plane * inputs;
    T* to = y + plane * outputs;
    for (std::size_t i = 0; i < outputs; ++i)
      to[i] = snap_to(window(from, PoolGeometry::Axes{i / (out[1] * out[2]), i / out[2] % out[1], i % out[2]}));
  });
}

}  // namespace

void max_pool(const Exec& exec, const PoolGeometry& g, const PoolGeometry::Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  with_element(x.element, [&]<class T>() {
    each_window(exec, g, out, x.as<T>(), planes, y.as<T>(), [&](const T* from, const PoolGeometry::Axes& o) {
      T largest = -std::numeric_limits<T>::infinity();
      each_position(g, o, [&](std::size_t, std::size_t i) { largest = from[i] > largest ? from[i] : largest; });
      return largest;
    });
  });
}

void average_pool(const Exec& exec, const PoolGeometry& g, const PoolGeometry::Axes& out, ConstTensor x, std::size_t planes, Tensor y) {
  with_element(x.element, [&]<class T>() {
    each_window(exec, g, out, x.as<T>(), planes, y.as<T>(), [&](const T* from, const PoolGeometry::Axes& o) {
      T total = 0, block = 0;
      std::size_t block_index = 0;
      each_position(g, o, [&](std::size_t tap, std::size_t i) {
        if (tap / 64 != block_index) total = total + block, block = 0, block_index = tap / 64;
        block = block + from[i];
      });
      return (total + block) / static_cast<T>(divisor(g, o));
    });
  });
}

}  // namespace loom
