#pragma once
// Checks of the scales of quantised weights (docs/internals/numerics.md): the product with every code is a finite
// weight, and a scale that multiplies sums inside a running sum is 0 or at least kLeastGroupScale in size, so that no
// subnormal appears in the sum. Readers and Matrix call them and add the place of the fault.

#include "core/error.h"
#include "dtypes/quantize.h"

namespace loom {

inline constexpr double kLeastGroupScale = 0x1p-24;

// Returns whether scale times every code up to this size is a finite f32.
constexpr bool gives_finite_weights(double scale, double largest_code) {
  const double size = (scale < 0 ? -scale : scale) * largest_code;
  return size <= 0x1.fffffep127;  // false for a NaN
}
// Returns whether the scale of a group or block may stand inside a running sum.
constexpr bool may_scale_sums(double scale) {
  return scale == 0 || scale >= kLeastGroupScale || scale <= -kLeastGroupScale;
}

// Of a type with scales. NonFinite for a scale that is not finite, an fp8 code that stands for no finite number and a
// weight whose code times its scale is none; CorruptData for a group's scale that is too small.
Result<void> check_scales(const QuantizedMatrix& matrix);

}  // namespace loom
