#include "layers/residual/residual.h"

#include "ops/elementwise/elementwise.h"

namespace loom {

constinit const LayerKind Residual::kKind{
    .id = 18,
    .name = "residual",
    .help = "y = x + skip, the input of an earlier layer of the sequence or another cell's output",
    .shapes = "any shape -> the same shape",
    .make = make_layer<Residual>,
    .fit = fit};

LayerPtr Residual::fit(const FitRequest&) { return std::make_unique<Residual>(SkipFrom{.kind = SkipFrom::Kind::None}); }
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

void Residual::forward(const Run& run, const ConstView& x, const View& y) const {
  const ConstView* skip = nullptr;
  if (from_.kind == SkipFrom::Kind::External) skip = run.inputs.external;
  if (from_.kind == SkipFrom::Kind::Cell && cell_.prepared && cell_.slot < run.cells.outputs.size())
    skip = &run.cells.outputs[cell_.slot];
  const bool wanted = from_.kind == SkipFrom::Kind::External || from_.kind == SkipFrom::Kind::Cell;
  if (!wanted) return copy(run, x, y);
  if (skip == nullptr || skip->data == nullptr) {
    if (run.rehearsal()) return;  // an external tensor need not be at hand yet
    if (!run.exec.status)
      run.exec.status =
          Error{Code::InvalidState, "residual: the tensor it adds was not given or has not been computed"};
    return;
  }
  if (!(skip->shape == x.shape) || skip->element != x.element) {
    if (!run.exec.status) run.exec.status = skip_mismatch(skip->shape, x.shape);
    return;
  }
  add(run, x, *skip, y);
}

void Residual::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const View* dskip = nullptr;
  if (from_.kind == SkipFrom::Kind::External) dskip = run.d_external;
  if (from_.kind == SkipFrom::Kind::Cell && cell_.prepared && cell_.slot < run.cells.gradients.size())
    dskip = &run.cells.gradients[cell_.slot];
  if (dskip != nullptr && dskip->data != nullptr) add(run, *dskip, dy, *dskip);
  if (dx.data != nullptr) copy(run, dy, dx);
}

}  // namespace loom
