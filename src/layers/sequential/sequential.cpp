#include "layers/sequential/sequential.h"

#include <algorithm>
#include <cstring>

#include "ops/elementwise/elementwise.h"

namespace loom {

Result<LayerPtr> Sequential::create(std::vector<LayerPtr> children, bool residual) { return LayerPtr(new Sequential(std::move(children), residual)); }

Result<Shape> Sequential::output_shape(const Shape& input) const {
  Shape shape = input;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    auto next = children_[i]->output_shape(shape);
    if (!next) return at(fmt::format("sequential_layers.{}", i), std::move(next).error());
    shape = *next;
  }
  if (residual_ && !(shape == input)) return fail(Code::ShapeMismatch, "residual sequential: {} in, {} out", input.text(), shape.text());
  return shape;
}

std::size_t Sequential::scratch_bytes(const PlanSizes& sizes, const Shape& input) const {
  std::size_t between = 0, inside = 0;
  Shape shape = input;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    inside = std::max(inside, children_[i]->scratch_bytes(sizes, shape));
    shape = *children_[i]->output_shape(shape);
    if (i + 1 < children_.size()) between += tensor_bytes(shape);
  }
  return between + inside;
}

void Sequential::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  ConstView current = x;
  for (std::size_t i = 0; i < children_.size() && !exec.status; ++i) {
    const bool last = i + 1 == children_.size();
    View next = y;
    if (!last) {
      next.shape = *children_[i]->output_shape(current.shape);  // checked at prepare()
      next.data = exec.arena.take<float>(next.shape.elements());
    }
    children_[i]->forward(exec, pass, current, next);
    current = next;
  }
  if (children_.empty()) std::memcpy(y.data, x.data, x.shape.elements() * sizeof(float));
  if (residual_) add(exec, x, y, y);
}

void Sequential::assign_state(std::size_t& next, std::vector<StateNeeds>& needs) {
  for (const LayerPtr& child : children_) child->assign_state(next, needs);
}

std::size_t Sequential::resident_bytes() const {
  std::size_t bytes = 0;
  for (const LayerPtr& child : children_) bytes += child->resident_bytes();
  return bytes;
}

void Sequential::visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const {
  for (std::size_t i = 0; i < children_.size(); ++i) children_[i]->visit_matrices(fmt::format("{}.sequential_layers.{}", path, i), visit);
}

}  // namespace loom
