#pragma once
// A matrix on a graphics card: its panels in the layout of the host, and the text that reads them.

#include <memory>
#include <span>

#include "backend/exec.h"
#include "backend/webgpu/kernel.h"
#include "dtypes/matrix.h"

namespace loom::gpu {

// Names in a kernel of the panels of a matrix, and of the scales and zero points of its rows.
struct MatrixNames {
  std::string_view weight = "weight", row_scales = "row_scales", row_zeros = "row_zeros";
};
// Adds these tensors to a kernel. False, with the error in exec.status, for types that no graphics card computes in,
// and where memory lacks.
bool add_matrix(const Exec& exec, const Matrix& matrix, Kernel& kernel, const MatrixNames& names = {});
// Adds their layout as constants.
void add_layout(const Matrix& matrix, Kernel& kernel);

// Where the card has a part of a matrix: panels, scales or zero points. Null, with the error in exec.status, where it
// has no room.
const std::byte* place_weight(const Exec& exec, const Matrix& matrix, const void* from, std::size_t bytes);
// Where the card has the panels of a matrix, for a kernel that writes them; those of the host stay in its memory.
const std::byte* place_written_panels(const Exec& exec, const Matrix& matrix);
// Returns whether a device is a card that has a copy of the panels.
bool has_panels(Device& device, const Matrix& matrix);

// Writes values [rows, cols] of the device into its copies of the matrices that hold them one below the other, which
// the host's then differ from: the bytes of Matrix::refill(). Scales have the span; scratch is planned like that of an
// op.
using MatrixParts = std::span<const std::shared_ptr<const Matrix>>;
void refill(const Exec& exec, MatrixParts parts, const ScaleSpan& span, const void* values);
// y = what values of the device are once they have been encoded, of the type, sizes and span of `like`.
void requantize(const Exec& exec, const QuantizedMatrix& like, const void* values, void* y);
// Whether both can be asked for a type. Others, which no card multiplies by, are encoded by the host.
bool encodes(DType dtype);

// The text that reads the panels: element() of floats, or four_codes() and factors_of() of codes. Codes of fp4 stand
// for floats, which multiply inputs that are not quantised.
enum class PanelText : std::uint8_t { Floats, Codes, Fp4 };
inline PanelText panel_text(const Matrix& matrix) {
  const PanelTraits& kind = traits(matrix.layout().kind);
  if (!kind.holds_codes()) return PanelText::Floats;
  return kind.inputs == PanelInputs::Codes ? PanelText::Codes : PanelText::Fp4;
}

}  // namespace loom::gpu
