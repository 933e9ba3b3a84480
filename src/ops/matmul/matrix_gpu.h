#pragma once
// A matrix on a graphics card: its panels as they lie here, and the text that reads them.

#include "backend/exec.h"
#include "backend/webgpu/kernel.h"
#include "dtypes/matrix.h"

namespace loom::gpu {

// What a kernel calls the panels of a matrix, and the scales and zero points of its rows.
struct MatrixNames {
  std::string_view weight = "weight", row_scales = "row_scales", row_zeros = "row_zeros";
};
// Adds these tensors to a kernel. False, with the error in exec.status, for types that no graphics card computes in,
// and where memory lacks.
bool add_matrix(const Exec& exec, const Matrix& matrix, Kernel& kernel, const MatrixNames& names = {});
// Adds how they lie, in fixed numbers.
void add_layout(const Matrix& matrix, Kernel& kernel);

// Writes values [rows, cols] of the device into its copy of an f32 matrix, which the host's panels then differ from.
void refill(const Exec& exec, const Matrix& matrix, const void* values);

// Which text reads the panels: element() of floats, or four_codes() and factors_of() of codes.
inline bool holds_codes(const Matrix& matrix) { return traits(matrix.layout().kind).holds_codes(); }

}  // namespace loom::gpu
