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

Result<Shape> Residual::wired_shape(const Wiring* wiring, const Shape& input) const {
  const std::size_t slot = slot_in(wiring);
  const Shape* const skip = slot == Wiring::kNone ? nullptr : wiring->shape_of(slot);
  if (skip != nullptr && !(*skip == input)) return tl::make_unexpected(skip_mismatch(*skip, input));
  return input;
}

void Residual::forward(const Run& run, const ConstView& x, const View& y) const {
  const ConstView* skip = nullptr;
  if (from_.kind == SkipFrom::Kind::External) skip = run.inputs.external;
  if (const std::size_t slot = slot_in(run.wiring); slot < run.cells.outputs.size()) skip = &run.cells.outputs[slot];
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
  if (const std::size_t slot = slot_in(run.wiring); slot < run.cells.gradients.size())
    dskip = &run.cells.gradients[slot];
  if (dskip != nullptr && dskip->data != nullptr) add(run, *dskip, dy, *dskip);
  if (dx.data != nullptr) copy(run, dy, dx);
}

}  // namespace loom
