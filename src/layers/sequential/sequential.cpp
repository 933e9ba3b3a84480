#include "layers/sequential/sequential.h"

#include "ops/elementwise/elementwise.h"

namespace loom {

void Sequential::fields(FieldVisitor& visit) {
  visit("residual", residual_);
  visit("sequential_layers", children_);
}

void Sequential::visit_children(const std::function<void(const std::string&, Layer&)>& visit) {
  for (std::size_t i = 0; i < children_.size(); ++i) visit(fmt::format("sequential_layers.{}", i), *children_[i]);
}

Result<Shape> Sequential::output_shape(const Shape& input) const {
  Shape shape = input;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (children_[i]->common.is_disabled) continue;
    auto next = children_[i]->output_shape(shape);
    if (!next) return at(fmt::format("sequential_layers.{}", i), std::move(next).error());
    shape = *next;
  }
  if (residual_ && !(shape == input)) return fail(Code::ShapeMismatch, "residual sequential: {} in, {} out", input.text(), shape.text());
  return shape;
}

void Sequential::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena, pass.keeps());
  ConstView current = x;
  std::size_t left = 0;
  for (const LayerPtr& child : children_) left += !child->common.is_disabled;
  if (left == 0) copy(exec, x, y);
  for (const LayerPtr& child : children_) {
    if (child->common.is_disabled || exec.status) continue;
    // The last child writes y itself, unless a skip is added to what a backward pass wants to see.
    const bool last = --left == 0 && !(residual_ && pass.keeps());
    const View next = last ? y : exec.arena.view(*child->output_shape(current.shape), x.element);  // checked at prepare()
    child->forward(exec, pass, current, next);
    if (pass.keeps()) pass.tape->push(current);
    current = next;
  }
  if (residual_) add(exec, x, left == 0 && current.data != x.data ? current : ConstView(y), y);
}

void Sequential::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  ConstView gradient = dy;
  std::size_t left = 0;
  for (const LayerPtr& child : children_) left += !child->common.is_disabled;
  if (left == 0 && dx.data != nullptr) residual_ ? add(exec, dy, dy, dx) : copy(exec, dy, dx);
  for (std::size_t i = children_.size(); i-- > 0;) {
    if (children_[i]->common.is_disabled || exec.status) continue;
    const ConstView input = pass.tape->pop();
    View next = dx;
    if (--left != 0 || (residual_ && dx.data != nullptr)) next = exec.arena.view(input.shape, dy.element);
    children_[i]->backward(exec, pass, gradient, next);
    gradient = next;
  }
  if (residual_ && dx.data != nullptr && gradient.data != dy.data) add(exec, dy, gradient, dx);
}

}  // namespace loom
