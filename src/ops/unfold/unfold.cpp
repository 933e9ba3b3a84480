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

ConvGeometry ConvGeometry::reversed(const Axes& out) const {
  ConvGeometry r = *this;
  r.in = out;
  r.transposed = !transposed;
  return r;
}

Result<PatchLayout> PatchLayout::create(const ConvGeometry& g, const Axes& out) {
  PatchLayout p;
  p.g_ = g;
  p.out_ = out;
  p.in_place_ = true;
  for (std::size_t a = 0; a < 3; ++a) {
    Axis& axis = p.axes_[a];
    LOOM_TRY(const std::size_t reach, checked_mul(g.dilation[a], g.kernel[a] - 1));
    axis.step = g.transposed ? 1 : g.stride[a];
    axis.tap = g.dilation[a];
    axis.spread = g.transposed ? g.stride[a] : 1;
    axis.descending = g.transposed;
    LOOM_TRY(const std::size_t walk, checked_mul(out[a] - 1, axis.step));
    LOOM_TRY(axis.length, checked_add(walk, reach + 1));
    LOOM_TRY(const std::size_t outer, checked_add(reach, g.padding[a]));
    LOOM_TRY_VOID(checked_mul(outer, 4));  // differences fit a signed number
    axis.shift =
        g.transposed ? static_cast<std::ptrdiff_t>(reach) - static_cast<std::ptrdiff_t>(g.padding[a]) : static_cast<std::ptrdiff_t>(g.padding[a]);
    p.in_place_ &= axis.shift == 0 && axis.spread == 1 && axis.length <= g.in[a] && (a != 2 || axis.step == 1);
  }
  constexpr std::size_t kMost = sizeof(std::size_t) > 4 ? static_cast<std::size_t>(std::uint64_t{1} << 32) : std::size_t{1} << 28;
  if (p.in_place_)
    for (std::size_t a = 0; a < 3; ++a) p.axes_[a].length = g.in[a];
  p.phases_ = out[2] == 1 ? 1 : p.axes_[2].step;  // a row of one position has no stride
  LOOM_TRY(const std::size_t padded, checked_add(p.axes_[2].length, p.phases_ - 1));
  p.phase_ = padded / p.phases_;
  LOOM_TRY(p.row_, checked_mul(p.phase_, p.phases_));
  LOOM_TRY(p.plane_, checked_product({p.axes_[0].length, p.axes_[1].length, p.row_}));
  if (p.plane_ > kMost) return fail(Code::SizeOverflow, "a padded plane of {} elements, at most {} are possible", p.plane_, kMost);
  p.step_y_ = p.axes_[1].step * p.row_;
  p.step_z_ = p.axes_[0].step * p.axes_[1].length * p.row_;
  if (p.out_[1] == 1) p.step_y_ = p.step_z_, std::swap(p.out_[0], p.out_[1]);
  if (p.step_y_ == p.out_[2] || p.out_[1] == 1) {
    p.out_[2] *= p.out_[1], p.out_[1] = 1;
    if (p.step_z_ == p.out_[2] || p.out_[0] == 1) p.out_[2] *= p.out_[0], p.out_[0] = 1;
  }
  return p;
}

void PatchLayout::write_offsets(std::size_t channels, std::size_t* to) const {
  const auto at = [&](std::size_t a, std::size_t k) { return axes_[a].tap * (axes_[a].descending ? g_.kernel[a] - 1 - k : k); };
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t z = 0; z < g_.kernel[0]; ++z)
      for (std::size_t y = 0; y < g_.kernel[1]; ++y)
        for (std::size_t x = 0; x < g_.kernel[2]; ++x) {
          const std::size_t column = at(2, x);
          *to++ = c * plane_ + (at(0, z) * axes_[1].length + at(1, y)) * row_ + column % phases_ * phase_ + column / phases_;
        }
}

template <class T>
void PatchLayout::store_row(const T* x, T* row) const {
  const Axis& axis = axes_[2];
  const auto in = static_cast<std::ptrdiff_t>(g_.in[2]), shift = axis.shift, spread = static_cast<std::ptrdiff_t>(axis.spread);
  if (phases_ == 1 && spread == 1) {
    const std::ptrdiff_t length = static_cast<std::ptrdiff_t>(row_), begin = std::clamp<std::ptrdiff_t>(shift, 0, length);
    const std::ptrdiff_t end = std::clamp<std::ptrdiff_t>(shift + in, begin, length);
    std::fill(row, row + begin, T{0});
    std::copy(x + (begin - shift), x + (end - shift), row + begin);
    std::fill(row + end, row + length, T{0});
    return;
  }
  std::fill(row, row + row_, T{0});
  if (spread != 1) {
    for (std::ptrdiff_t i = shift < 0 ? (-shift + spread - 1) / spread : 0; i < in && i * spread + shift < static_cast<std::ptrdiff_t>(row_); ++i)
      row[i * spread + shift] = x[i];
    return;
  }
  const auto phases = static_cast<std::ptrdiff_t>(phases_), width = static_cast<std::ptrdiff_t>(phase_);
  for (std::ptrdiff_t p = 0; p < phases; ++p) {
    std::ptrdiff_t j = p < shift ? (shift - p + phases - 1) / phases : 0;
    for (; j < width && j * phases + p - shift < in; ++j) row[p * width + j] = x[j * phases + p - shift];
  }
}

template <class T>
void PatchLayout::store(const T* x, T* plane) const {
  const auto source = [&](std::size_t a, std::size_t q) {
    const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(q) - axes_[a].shift, spread = static_cast<std::ptrdiff_t>(axes_[a].spread);
    return at < 0 || at % spread != 0 || at / spread >= static_cast<std::ptrdiff_t>(g_.in[a]) ? std::ptrdiff_t{-1} : at / spread;
  };
  for (std::size_t z = 0; z < axes_[0].length; ++z) {
    const std::ptrdiff_t iz = source(0, z);
    for (std::size_t y = 0; y < axes_[1].length; ++y, plane += row_) {
      const std::ptrdiff_t iy = source(1, y);
      if (iz < 0 || iy < 0)
        std::fill(plane, plane + row_, T{0});
      else
        store_row(x + (static_cast<std::size_t>(iz) * g_.in[1] + static_cast<std::size_t>(iy)) * g_.in[2], plane);
    }
  }
}

void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, Element element, void* to) {
  with_element(element, [&]<class T>() {
    for_rows(exec, n, layout.plane(),
             [&](std::size_t i) { layout.store(static_cast<const T*>(x) + i * layout.input_plane(), static_cast<T*>(to) + i * layout.plane()); });
  });
}

void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t channels, std::size_t first, Tensor patches) {
  const ArenaScope scope(exec.arena);
  auto* offsets = exec.arena.take<std::size_t>(patches.cols);
  exec.run(1, [&](std::size_t) { layout.write_offsets(channels, offsets); });
  with_element(patches.element, [&]<class T>() {
    for_ranges(exec, patches.rows, patches.cols, [&](std::size_t begin, std::size_t end) {
      std::size_t line = (first + begin) / layout.width(), column = (first + begin) % layout.width();
      for (std::size_t r = begin; r < end; ++r) {
        const T* from = static_cast<const T*>(planes) + layout.start_of_row(line) + column;
        T* to = patches.row<T>(r);
        for (std::size_t k = 0; k < patches.cols; ++k) to[k] = from[offsets[k]];
        if (++column == layout.width()) column = 0, ++line;
      }
    });
  });
}

void rows_to_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y) {
  with_element(rows.element, [&]<class T>() {
    for_rows(exec, rows.cols, rows.rows, [&](std::size_t c) {
      T* to = static_cast<T*>(y) + c * positions + first;
      for (std::size_t r = 0; r < rows.rows; ++r) to[r] = rows.row<T>(r)[c];
    });
  });
}

}  // namespace loom
