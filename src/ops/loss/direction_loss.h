#pragma once
// Losses that compare rows by the angle between them (engine 6.2), in the element type. |x| = sqrt(sum of squares by
// lanes16), at least 1e-8; a norm that leaves the range of the element is NaN, so that the loss shows it. Unit vectors
// are snapped.

#include "ops/loss/row_scale.h"

namespace loom {

inline constexpr double kLeastNorm = 1e-8;

// values[r] = 1 - cos(o, t) = |o / |o| - t / |t||^2 / 2 by lanes16, which has its digits where the cosine is near 1
// too; where a norm stands at its floor, 1 less the product of the two by lanes16. gradient = -(t / |t| - cos o / |o|)
// / |o| scale[r]. o and t [rows, n], values [rows, 1], gradient [rows, n] or without data.
void cosine_loss(const Exec& exec, ConstTensor o, ConstTensor t, const RowScale& scale, Tensor values, Tensor gradient);

// Row i of o against all rows of t: softmax_crossentropy (softmax_loss.h) of cos(o_i, t_j) / temperature with class i.
// Cosines are products of unit vectors by chain64, as are the sums over rows in the gradients, of which either may be
// without data. Scratch: [rows, 2 rows + 3 n + 2], and notes for a class per row.
void contrastive_loss(const Exec& exec, ConstTensor o, ConstTensor t, double temperature, const RowScale& scale,
                      Tensor values, Tensor gradient, Tensor target_gradient);

template <class T>
struct DirectionLossKernels {
  // gradient may be null
  void (*cosine_row)(const T* o, const T* t, T scale, std::size_t n, T* value, T* gradient);
  void (*unit_row)(const T* x, std::size_t n, T* unit, T* norm);  // unit = x / |x|, norm = |x|
  // dx = (du - (du . unit) unit) / norm
  void (*unit_backward)(const T* unit, const T* norm, const T* du, std::size_t n, T* dx);
};

}  // namespace loom
