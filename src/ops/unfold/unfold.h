#pragma once
// The patches of a convolution. Input planes are stored so that every output position meets kernel position k at a fixed distance:
//   patch[o, (c, k)] = x[c, o * stride - padding + k * dilation], or of a transposed convolution
//   patch[o, (c, k)] = x[c, i] where i * stride - padding + k * dilation = o;   +0 where no such element exists.
// Columns ascend by channel, then kernel position, row-major: the reduced index of numerics N-04, holes included. No sums here.

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
  // Extents out (engine L-30, L-40). InvalidConfig for a kernel or stride of 0 and an output padding that reaches the stride and the
  // dilation; ShapeMismatch when nothing comes out; SizeOverflow.
  Result<Axes> out() const;
  // The convolution that carries gradients of `out` extents back to the input: what was gathered is scattered and the reverse.
  ConvGeometry reversed(const Axes& out) const;
};

// Where things lie in one stored plane of a channel: padded with zeros, spread by the stride of a transposed convolution, columns
// sorted by their remainder by the stride of a plain one. Position (z, y, x) of the output starts at z * step_z + y * step_y + x;
// kernel position (z, y, x) lies tap() further on.
class PatchLayout {
 public:
  using Axes = ConvGeometry::Axes;
  // For the first `out` positions of each axis. SizeOverflow when a stored plane has more than 2^32 elements (2^28 of 32 bits).
  static Result<PatchLayout> create(const ConvGeometry& geometry, const Axes& out);

  // The input serves as it is: plane() is its plane.
  bool in_place() const { return in_place_; }
  std::size_t plane() const { return plane_; }
  std::size_t input_plane() const { return ConvGeometry::product(g_.in); }
  std::size_t taps() const { return g_.taps(); }
  std::size_t positions() const { return ConvGeometry::product(out_); }
  // Output rows, merged where they follow each other without a gap: their number, length, and where row r starts.
  std::size_t rows() const { return out_[0] * out_[1]; }
  std::size_t width() const { return out_[2]; }
  std::size_t start_of_row(std::size_t r) const { return r / out_[1] * step_z_ + r % out_[1] * step_y_; }
  // Distances of (c, k), c < channels, ascending, into planes that follow each other.
  void write_offsets(std::size_t channels, std::size_t* to) const;
  // Stores one plane.
  template <class T>
  void store(const T* x, T* plane) const;

 private:
  struct Axis {
    std::size_t step = 1, tap = 1, spread = 1, length = 0;  // of stored coordinates
    std::ptrdiff_t shift = 0;                               // stored coordinate of input element 0
    bool descending = false;                                // taps
  };
  template <class T>
  void store_row(const T* x, T* row) const;

  ConvGeometry g_;
  Axes out_{};
  std::array<Axis, 3> axes_;
  std::size_t phases_ = 1, phase_ = 0, row_ = 0, plane_ = 0, step_y_ = 0, step_z_ = 0;
  bool in_place_ = false;
};

// planes [n, in...] as the layout stores them: into `to`, n * layout.plane() elements. Not to be called for layouts in place.
void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, Element element, void* to);

// Rows [first, first + patches.rows) of the patches of `channels` stored planes; patches.cols = channels * taps.
void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t channels, std::size_t first, Tensor patches);

// y[c, first + r] = rows[r, c]: rows of channels into planes of `positions` elements, the first of which y points to.
void rows_to_planes(const Exec& exec, ConstTensor rows, std::size_t positions, std::size_t first, void* y);

}  // namespace loom
