#pragma once
// Pooling windows over one to three spatial axes, x [planes, in...] -> y [planes, out...]; engine 3.6. Axes are padded
// in front with extents of 1. Maximum: the largest value, ties to the lowest index, padding and NaN never win. Average:
// the sum by chain64 over the window's positions, row-major, holes included, divided by the count. Backward: each input
// gathers from the windows that cover it (maximum: that it won) by chain64, windows ascending, so a window's positions
// count backwards. Stored values are snapped.

#include <array>

#include "backend/exec.h"

namespace loom {

struct PoolGeometry {
  using Axes = std::array<std::size_t, 3>;
  Axes in{1, 1, 1}, kernel{1, 1, 1}, stride{1, 1, 1}, padding{0, 0, 0}, dilation{1, 1, 1};
  bool ceil_mode = false;         // a last window that leaves the padded input counts when it starts inside
  bool count_include_pad = true;  // average: the divisor counts padding

  // InvalidConfig for a kernel, stride or dilation of 0 and a padding above half the kernel; ShapeMismatch when nothing
  // comes out.
  Result<Axes> out() const;
};

void max_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
              std::size_t planes, Tensor y);
void average_pool(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
                  std::size_t planes, Tensor y);
// dx is written whole. Without `divides` an average hands the whole of dy to each input.
void max_pool_backward(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out, ConstTensor x,
                       std::size_t planes, ConstTensor dy, Tensor dx);
void average_pool_backward(const Exec& exec, const PoolGeometry& geometry, const PoolGeometry::Axes& out,
                           std::size_t planes, ConstTensor dy, Tensor dx, bool divides = true);

// y[p] = the mean of n elements, their sum by lanes16, or the largest of them (NaN never wins); x [planes, n].
void mean_of_planes(const Exec& exec, ConstTensor x, void* y);
void largest_of_planes(const Exec& exec, ConstTensor x, void* y);

// One tap of the innermost axis: outputs [first, last) read element output * stride + offset of an input row.
struct PoolTap {
  std::size_t first, last;
  std::ptrdiff_t offset;
};

template <class T>
struct PoolKernels {
  // The innermost row (oz, oy) of outputs of one plane.
  void (*max_row)(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz,
                  std::size_t oy, T* y);
  // Like max_row(), for averages: count[outputs] divides.
  void (*average_row)(const PoolGeometry& g, std::size_t outputs, const PoolTap* taps, const T* plane, std::size_t oz,
                      std::size_t oy, const T* count, T* y);
  // Of n elements, snapped.
  T (*mean)(const T* x, std::size_t n);
  T (*largest)(const T* x, std::size_t n);
  // One plane each. Of windows that do not overlap, and of any: `winners` [outputs] is scratch.
  void (*max_scatter)(const PoolGeometry& g, const PoolGeometry::Axes& out, const T* x, const T* dy, T* dx);
  void (*max_backward)(const PoolGeometry& g, const PoolGeometry::Axes& out, const T* x, const T* dy,
                       std::size_t* winners, T* dx);
  // count[outputs] divides, or is null; `shares` [outputs] is scratch.
  void (*average_backward)(const PoolGeometry& g, const PoolGeometry::Axes& out, const T* count, const T* dy, T* shares,
                           T* dx);
};

}  // namespace loom
