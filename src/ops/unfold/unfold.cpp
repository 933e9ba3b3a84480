#include "ops/unfold/unfold.h"

#include <algorithm>

#include "core/checked.h"
#include "ops/for_rows.h"

namespace loom {

Result<ConvGeometry::Axes> ConvGeometry::out() const {
  Axes out{};
  for (std::size_t a = 0; a < 3; ++a) {
    if (kernel[a] == 0 || stride[a] == 0 || dilation[a] == 0)
      return fail(Code::InvalidConfig, "kernel {}, stride {}, dilation {} of axis {}: each must be at least 1", kernel[a], stride[a], dilation[a], a);
    LOOM_TRY(const std::size_t reach, checked_mul(dilation[a], kernel[a] - 1));
    LOOM_TRY(const std::size_t both, checked_mul(2, padding[a]));
    if (!transposed) {
      LOOM_TRY(const std::size_t padded, checked_add(in[a], both));
      if (padded < reach + 1)
        return fail(Code::ShapeMismatch, "a kernel that reaches over {} elements does not fit {} with its padding", reach + 1, padded);
      out[a] = (padded - reach - 1) / stride[a] + 1;
      continue;
    }
    if (output_padding[a] >= std::max(stride[a], dilation[a]) && output_padding[a] != 0)
      return fail(Code::InvalidConfig, "output padding {} of axis {} must be below its stride {} or dilation {}", output_padding[a], a, stride[a],
                  dilation[a]);
    LOOM_TRY(const std::size_t spread, checked_mul(in[a] - 1, stride[a]));
    LOOM_TRY(const std::size_t whole, checked_add(spread, reach + output_padding[a] + 1));
    if (whole <= both) return fail(Code::ShapeMismatch, "padding {} on both sides leaves nothing of {} outputs", padding[a], whole);
    out[a] = whole - both;
  }
  LOOM_TRY_VOID(checked_product({out[0], out[1], out[2]}));
  return out;
}

namespace {

constexpr std::size_t kOutside = ~std::size_t{0};

// The input position that output o meets with kernel position k on one axis.
std::size_t source_of(const ConvGeometry& g, std::size_t axis, std::size_t o, std::size_t k) {
  const auto offset = static_cast<std::ptrdiff_t>(k * g.dilation[axis]) - static_cast<std::ptrdiff_t>(g.padding[axis]);
  const auto stride = static_cast<std::ptrdiff_t>(g.stride[axis]), at = static_cast<std::ptrdiff_t>(o);
  if (!g.transposed) {
    const std::ptrdiff_t i = at * stride + offset;
    return i < 0 || i >= static_cast<std::ptrdiff_t>(g.in[axis]) ? kOutside : static_cast<std::size_t>(i);
  }
  const std::ptrdiff_t spread = at - offset;
  if (spread < 0 || spread % stride != 0 || spread / stride >= static_cast<std::ptrdiff_t>(g.in[axis])) return kOutside;
  return static_cast<std::size_t>(spread / stride);
}

template <class T>
void unfold_row(const ConvGeometry& g, const ConvGeometry::Axes& o, const T* x, std::size_t channels, T* to) {
  const std::size_t elements = ConvGeometry::product(g.in);
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t z = 0; z < g.kernel[0]; ++z) {
      const std::size_t iz = source_of(g, 0, o[0], z);
      for (std::size_t y = 0; y < g.kernel[1]; ++y) {
        const std::size_t iy = source_of(g, 1, o[1], y);
        const T* line = x + c * elements + (iz * g.in[1] + iy) * g.in[2];
        for (std::size_t k = 0; k < g.kernel[2]; ++k) {
          const std::size_t ix = source_of(g, 2, o[2], k);
          *to++ = iz == kOutside || iy == kOutside || ix == kOutside ? T{0} : line[ix];
        }
      }
    }
}

}  // namespace

void unfold(const Exec& exec, const ConvGeometry& g, const ConvGeometry::Axes& out, const void* x, std::size_t channels, std::size_t first,
            Tensor patches) {
  with_element(patches.element, [&]<class T>() {
    for_rows(exec, patches.rows, patches.cols, [&](std::size_t r) {
      const std::size_t position = first + r;
      const ConvGeometry::Axes o{position / (out[1] * out[2]), position / out[2] % out[1], position % out[2]};
      unfold_row(g, o, static_cast<const T*>(x), channels, patches.row<T>(r));
    });
  });
}

void store_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y) {
  with_element(rows.element, [&]<class T>() {
    for_rows(exec, rows.cols, rows.rows, [&](std::size_t c) {
      T* to = static_cast<T*>(y) + c * positions + first;
      for (std::size_t r = 0; r < rows.rows; ++r) to[r] = rows.row<T>(r)[c];
    });
  });
}

}  // namespace loom
