#include "layers/residual/residual.h"

#include "ops/elementwise/elementwise.h"

namespace loom {
namespace {

Error skip_mismatch(const Shape& skip, const Shape& input) {
  return {Code::ShapeMismatch, fmt::format("residual: skip of shape {}, input of shape {}", skip.text(), input.text())};
}

}  // namespace

Result<void> Residual::build() {
  cell_.address = from_.cell;
  return {};
}

Result<Shape> Residual::output_shape(const Shape& input) const {
  if (cell_.shape && !(*cell_.shape == input)) return tl::make_unexpected(skip_mismatch(*cell_.shape, input));
  return input;
}

void Residual::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ConstView* skip = nullptr;
  if (from_.kind == SkipFrom::Kind::External) skip = pass.external;
  if (from_.kind == SkipFrom::Kind::Cell && cell_.prepared && cell_.slot < pass.cells.size()) skip = &pass.cells[cell_.slot];
  const bool wanted = from_.kind == SkipFrom::Kind::External || from_.kind == SkipFrom::Kind::Cell;
  if (!wanted) return copy(exec, x, y);
  if (skip == nullptr || skip->data == nullptr) {
    if (exec.rehearsal()) return;  // an external tensor need not be at hand yet
    if (!exec.status) exec.status = Error{Code::InvalidState, "residual: the tensor it adds was not given or has not been computed"};
    return;
  }
  if (!(skip->shape == x.shape) || skip->element != x.element) {
    if (!exec.status) exec.status = skip_mismatch(skip->shape, x.shape);
    return;
  }
  add(exec, x, *skip, y);
}

void Residual::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const View* dskip = nullptr;
  if (from_.kind == SkipFrom::Kind::External) dskip = pass.d_external;
  if (from_.kind == SkipFrom::Kind::Cell && cell_.prepared && cell_.slot < pass.d_cells.size()) dskip = &pass.d_cells[cell_.slot];
  if (dskip != nullptr && dskip->data != nullptr) add(exec, *dskip, dy, *dskip);
  if (dx.data != nullptr) copy(exec, dy, dx);
}

}  // namespace loom
