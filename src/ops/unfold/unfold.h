#pragma once
// The patches of a convolution. Input planes are stored so that every output position meets kernel position k at a
// fixed distance:
//   patch[o, (c, k)] = x[c, o * stride - padding + k * dilation], or of a transposed convolution
//   patch[o, (c, k)] = x[c, i] where i * stride - padding + k * dilation = o;   +0 where no such element exists.
// Columns ascend by channel, then kernel position, row-major: the reduced index of numerics N-04, holes included. These
// ops have no sums.

#include <array>

#include "backend/exec.h"

namespace loom {

// One to three spatial axes, padded in front with axes of extent 1.
struct ConvGeometry {
  using Axes = std::array<std::size_t, 3>;
  Axes in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1}, output_padding{0, 0, 0};
  bool transposed = false;

  static std::size_t product(const Axes& a) { return a[0] * a[1] * a[2]; }
  std::size_t taps() const { return product(kernel); }
  // Extents out (engine L-30, L-40). InvalidConfig for a kernel or stride of 0 and an output padding that reaches the
  // stride and the dilation; ShapeMismatch when nothing comes out; SizeOverflow.
  Result<Axes> out() const;
  // The convolution that carries gradients of `out` extents back to the input: what was gathered is scattered and the
  // reverse.
  ConvGeometry reversed(const Axes& out) const;
};

// An input plane is stored as these axes say: stored coordinate q of an axis holds input element (q - shift) / spread
// where that is whole and exists, else +0; columns are sorted by their remainder by `phases`, `phase` of each.
struct StoredPlane {
  struct Axis {
    std::ptrdiff_t shift = 0, spread = 1;
    std::size_t length = 1, in = 1;
  };
  Axis axes[3];
  std::size_t row = 0, phases = 1, phase = 0;  // elements of a stored row
};

// The layout of one stored plane of a channel: padded with zeros, spread by the stride of a transposed convolution,
// columns sorted by their remainder by the stride of a plain one. Position (z, y, x) of the output starts at
// z * step_z + y * step_y + x; kernel position (z, y, x) is tap() elements after it.
class PatchLayout {
 public:
  using Axes = ConvGeometry::Axes;
  // For the first `out` positions of each axis. SizeOverflow when a stored plane has more than 2^32 elements (2^28 of
  // 32 bits).
  static Result<PatchLayout> create(const ConvGeometry& geometry, const Axes& out);

  // The input serves as it is: plane() is its plane.
  bool in_place() const { return in_place_; }
  std::size_t plane() const { return plane_; }
  std::size_t input_plane() const { return ConvGeometry::product(g_.in); }
  std::size_t taps() const { return axes_[0].count * axes_[1].count * axes_[2].count; }
  std::size_t positions() const { return ConvGeometry::product(out_); }
  const Axes& extents() const { return whole_out_; }
  const ConvGeometry& geometry() const { return g_; }
  // Output rows, merged where they follow each other without a gap: their number, length, and where row r starts.
  std::size_t rows() const { return out_[0] * out_[1]; }
  std::size_t width() const { return out_[2]; }
  std::size_t start_of_row(std::size_t r) const { return r / out_[1] * step_z_ + r % out_[1] * step_y_; }
  // Distances of (c, k), c < channels, ascending, into planes that follow each other.
  void write_offsets(std::size_t channels, std::size_t* to) const;

  // A transposed convolution whose stride leaves holes computes each remainder of the output positions by that stride
  // alone: a plain convolution with the taps that meet no hole. Phase i of phases() holds outputs o = position * stride
  // + phase_start(i).
  std::size_t phases() const { return ConvGeometry::product(spread()); }
  Axes spread() const { return {axes_[0].spread, axes_[1].spread, axes_[2].spread}; }
  Axes phase_start(std::size_t i) const;
  // Extents of a phase; product 0 where it has none.
  Axes phase_extents(std::size_t i) const;
  PatchLayout phase(std::size_t i) const;
  // The columns (c, k) of all taps that those of a phase are, ascending.
  void write_columns(std::size_t channels, std::size_t* to) const;
  // The stored plane, for kernels.
  StoredPlane stored() const;

 private:
  struct Axis {
    std::size_t step = 1, tap = 1, spread = 1, length = 0;  // of stored coordinates
    std::ptrdiff_t shift = 0;                               // stored coordinate of input element 0
    bool descending = false;                                // taps
    std::size_t first = 0, every = 1, count = 1;            // which taps of the kernel take part
    std::size_t origin = 0;                                 // stored coordinate of the nearest of them at output 0

    std::size_t at(std::size_t i) const { return origin + tap * (descending ? count - 1 - i : i); }
  };
  Result<void> lay_out();

  ConvGeometry g_;
  Axes out_{}, whole_out_{};  // merged rows, and as given
  std::array<Axis, 3> axes_;
  std::size_t phases_ = 1, phase_ = 0, row_ = 0, plane_ = 0, step_y_ = 0, step_z_ = 0;
  bool in_place_ = false;
};

// planes [n, in...] as the layout stores them: into `to`, n * layout.plane() elements. Not to be called for layouts in
// place.
void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, Element element, void* to);

// Rows [first, first + patches.rows) of the patches of `channels` stored planes; patches.cols = channels * taps.
void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t channels, std::size_t first,
            Tensor patches);

// y[c, first + r] = rows[r, c]: rows of channels into planes of `positions` elements, the first of which y points to.
void rows_to_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y);

template <class T>
struct UnfoldKernels {
  void (*store)(const StoredPlane& layout, const T* x, T* plane);
  // to[r, k] = from[r + offsets[k]] for `rows` rows of `cols`.
  void (*patches)(const T* from, const std::size_t* offsets, std::size_t rows, std::size_t cols, T* to);
};

}  // namespace loom
