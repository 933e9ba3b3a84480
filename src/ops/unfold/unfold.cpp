#include "ops/unfold/unfold.h"

#include <algorithm>
#include <numeric>

#include "core/checked.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/unfold/unfold_gpu.h"
#include "ops/until_cancelled.h"
#include "ops/slices/slices.h"

namespace loom {

Result<ConvGeometry::Axes> ConvGeometry::out() const {
  Axes out{};
  for (std::size_t a = 0; a < 3; ++a) {
    if (kernel[a] == 0 || stride[a] == 0 || dilation[a] == 0)
      return fail(Code::InvalidConfig, "kernel {}, stride {}, dilation {} of axis {}: each must be at least 1",
                  kernel[a], stride[a], dilation[a], a);
    LOOM_TRY(const std::size_t reach, checked_mul(dilation[a], kernel[a] - 1));
    LOOM_TRY(const std::size_t both, checked_mul(2, padding[a]));
    if (!transposed) {
      LOOM_TRY(const std::size_t padded, checked_add(in[a], both));
      if (padded < reach + 1)
        return fail(Code::ShapeMismatch, "a kernel that reaches over {} elements does not fit {} with its padding",
                    reach + 1, padded);
      out[a] = (padded - reach - 1) / stride[a] + 1;
      continue;
    }
    if (output_padding[a] >= std::max(stride[a], dilation[a]) && output_padding[a] != 0)
      return fail(Code::InvalidConfig, "output padding {} of axis {} must be below its stride {} or dilation {}",
                  output_padding[a], a, stride[a], dilation[a]);
    LOOM_TRY(const std::size_t spread, checked_mul(in[a] - 1, stride[a]));
    LOOM_TRY(const std::size_t whole, checked_add(spread, reach + output_padding[a] + 1));
    if (whole <= both)
      return fail(Code::ShapeMismatch, "padding {} on both sides leaves nothing of {} outputs", padding[a], whole);
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
    axis.count = g.kernel[a];
    LOOM_TRY(const std::size_t walk, checked_mul(out[a] - 1, axis.step));
    LOOM_TRY(axis.length, checked_add(walk, reach + 1));
    LOOM_TRY(const std::size_t outer, checked_add(reach, g.padding[a]));
    LOOM_TRY_VOID(checked_mul(outer, 4));  // differences fit a signed number
    axis.shift = g.transposed ? static_cast<std::ptrdiff_t>(reach) - static_cast<std::ptrdiff_t>(g.padding[a])
                              : static_cast<std::ptrdiff_t>(g.padding[a]);
    p.in_place_ &= axis.shift == 0 && axis.spread == 1 && axis.length <= g.in[a] && (a != 2 || axis.step == 1);
  }
  LOOM_TRY_VOID(p.lay_out());
  return p;
}

Result<void> PatchLayout::lay_out() {
  constexpr std::size_t kMost =
      sizeof(std::size_t) > 4 ? static_cast<std::size_t>(std::uint64_t{1} << 32) : std::size_t{1} << 28;
  if (in_place_)
    for (std::size_t a = 0; a < 3; ++a) axes_[a].length = g_.in[a];
  phases_ = out_[2] == 1 ? 1 : axes_[2].step;  // a row of one position has no stride
  LOOM_TRY(const std::size_t padded, checked_add(axes_[2].length, phases_ - 1));
  phase_ = padded / phases_;
  LOOM_TRY(row_, checked_mul(phase_, phases_));
  LOOM_TRY(plane_, checked_product({axes_[0].length, axes_[1].length, row_}));
  if (plane_ > kMost)
    return fail(Code::SizeOverflow, "a padded plane of {} elements, at most {} are possible", plane_, kMost);
  step_y_ = axes_[1].step * row_;
  step_z_ = axes_[0].step * axes_[1].length * row_;
  whole_out_ = out_;
  if (out_[1] == 1) {
    step_y_ = step_z_;
    std::swap(out_[0], out_[1]);
  }
  if (step_y_ == out_[2] || out_[1] == 1) {
    out_[2] *= out_[1], out_[1] = 1;
    if (step_z_ == out_[2] || out_[0] == 1) out_[2] *= out_[0], out_[0] = 1;
  }
  return {};
}

PatchLayout::Axes PatchLayout::phase_start(std::size_t i) const {
  const Axes s = spread();
  return {i / (s[1] * s[2]), i / s[2] % s[1], i % s[2]};
}

PatchLayout::Axes PatchLayout::phase_extents(std::size_t i) const {
  const Axes start = phase_start(i);
  Axes extents;
  for (std::size_t a = 0; a < 3; ++a)
    extents[a] = start[a] < whole_out_[a] ? (whole_out_[a] - start[a] + axes_[a].spread - 1) / axes_[a].spread : 0;
  return extents;
}

PatchLayout PatchLayout::phase(std::size_t i) const {
  PatchLayout p;
  p.g_ = g_;
  p.out_ = phase_extents(i);
  p.in_place_ = true;
  const Axes start = phase_start(i);
  for (std::size_t a = 0; a < 3; ++a) {
    const Axis& whole = axes_[a];
    Axis& axis = p.axes_[a];
    // Tap k meets spread coordinate start + distance(k) at position 0: an input element where that, less the shift, is
    // a multiple.
    const auto spread = static_cast<std::ptrdiff_t>(whole.spread);
    const auto element = [&](std::size_t k) {
      return static_cast<std::ptrdiff_t>(start[a] + whole.tap * (g_.kernel[a] - 1 - k)) - whole.shift;
    };
    axis.every = whole.spread / std::gcd(whole.tap, whole.spread);
    axis.first = 0;
    while (axis.first < std::min(axis.every, g_.kernel[a]) && element(axis.first) % spread != 0) ++axis.first;
    axis.count = axis.first < std::min(axis.every, g_.kernel[a]) ? (g_.kernel[a] - 1 - axis.first) / axis.every + 1 : 0;
    if (axis.count == 0) continue;
    axis.tap = whole.tap * axis.every / whole.spread;
    axis.descending = true;
    const std::ptrdiff_t nearest = element(axis.first + (axis.count - 1) * axis.every) / spread;
    axis.shift = nearest < 0 ? -nearest : 0;
    axis.origin = static_cast<std::size_t>(nearest + axis.shift);
    axis.length = p.out_[a] + axis.at(0);
    p.in_place_ &= axis.shift == 0 && axis.length <= g_.in[a];
  }
  const auto fits = p.lay_out();  // no stored plane of a phase is larger than the spread one
  LOOM_ASSERT(fits.has_value());
  return p;
}

void PatchLayout::write_columns(std::size_t channels, std::size_t* to) const {
  const auto tap = [&](std::size_t a, std::size_t i) { return axes_[a].first + i * axes_[a].every; };
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t z = 0; z < axes_[0].count; ++z)
      for (std::size_t y = 0; y < axes_[1].count; ++y)
        for (std::size_t x = 0; x < axes_[2].count; ++x)
          *to++ = ((c * g_.kernel[0] + tap(0, z)) * g_.kernel[1] + tap(1, y)) * g_.kernel[2] + tap(2, x);
}

void PatchLayout::write_offsets(std::size_t channels, std::size_t* to) const {
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t z = 0; z < axes_[0].count; ++z)
      for (std::size_t y = 0; y < axes_[1].count; ++y)
        for (std::size_t x = 0; x < axes_[2].count; ++x) {
          const std::size_t column = axes_[2].at(x);
          *to++ = c * plane_ + (axes_[0].at(z) * axes_[1].length + axes_[1].at(y)) * row_ + column % phases_ * phase_ +
                  column / phases_;
        }
}

StoredPlane PatchLayout::stored() const {
  StoredPlane s{.axes = {}, .row = row_, .phases = phases_, .phase = phase_};
  for (std::size_t a = 0; a < 3; ++a)
    s.axes[a] = {.shift = axes_[a].shift,
                 .spread = static_cast<std::ptrdiff_t>(axes_[a].spread),
                 .length = axes_[a].length,
                 .in = g_.in[a]};
  return s;
}

void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, Element element,
                  void* to) {
  for (const Exec& host : dispatch(exec, [&] { gpu::store_planes(exec, layout, x, n, to); })) {
    const StoredPlane stored = layout.stored();
    with_element(element, [&]<class T>() {
      for_rows_until_cancelled(host, n, layout.plane(), [&](std::size_t i) {
        host.kernels.unfold.of<T>().store(stored, static_cast<const T*>(x) + i * layout.input_plane(),
                                          static_cast<T*>(to) + i * layout.plane());
      });
    });
  }
}

void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t channels, std::size_t first,
            Tensor patches) {
  for (const Exec& host : dispatch(exec, [&] { gpu::unfold(exec, layout, planes, first, patches); })) {
    const ArenaScope scope(host.arena);
    auto* offsets = host.arena.note<std::size_t>(patches.cols);
    host.run(1, [&](std::size_t) { layout.write_offsets(channels, offsets); });
    with_element(patches.element, [&]<class T>() {
      for_ranges(host, patches.rows, patches.cols, [&](std::size_t begin, std::size_t end) {
        std::size_t line = (first + begin) / layout.width(), column = (first + begin) % layout.width();
        for (std::size_t r = begin; r < end; ++line, column = 0) {
          const std::size_t rows = std::min(layout.width() - column, end - r);
          host.kernels.unfold.of<T>().patches(static_cast<const T*>(planes) + layout.start_of_row(line) + column,
                                              offsets, rows, patches.cols, patches.row<T>(r));
          r += rows;
        }
      });
    });
  }
}

void rows_to_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y) {
  for (const Exec& host : dispatch(exec, [&] {
         move_slices(exec, {rows.cols, rows.rows}, rows, {.stride = 1, .step = rows.cols},
                     {y, rows.cols, positions, rows.element}, {.offset = first, .stride = positions});
       }))
    with_element(rows.element, [&]<class T>() {
      for_rows(host, rows.cols, rows.rows, [&](std::size_t c) {
        host.kernels.slices.of<T>().move({1, rows.rows}, rows.as<T>() + c, {.step = rows.cols},
                                         static_cast<T*>(y) + c * positions + first, {});
      });
    });
}

}  // namespace loom
