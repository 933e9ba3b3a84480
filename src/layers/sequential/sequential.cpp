#include "layers/sequential/sequential.h"

#include <algorithm>
#include <cstring>

#include "ops/elementwise/elementwise.h"

namespace loom {

Result<LayerPtr> Sequential::create(std::vector<LayerPtr> children, bool residual) { return LayerPtr(new Sequential(std::move(children), residual)); }

Result<std::size_t> Sequential::output_cols(std::size_t input_cols) const {
  std::size_t cols = input_cols;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    auto next = children_[i]->output_cols(cols);
    if (!next) return at(fmt::format("sequential_layers.{}", i), std::move(next).error());
    cols = *next;
  }
  if (residual_ && cols != input_cols) return fail(Code::ShapeMismatch, "residual sequential: {} features in, {} out", input_cols, cols);
  return cols;
}

std::size_t Sequential::scratch_bytes(const PlanSizes& sizes, std::size_t input_cols) const {
  std::size_t between = 0, inside = 0, cols = input_cols;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    inside = std::max(inside, children_[i]->scratch_bytes(sizes, cols));
    cols = children_[i]->output_cols(cols).value_or(cols);
    if (i + 1 < children_.size()) between += tensor_bytes(sizes.rows, cols);
  }
  return between + inside;
}

void Sequential::forward(const Exec& exec, const Pass& pass, ConstTensor x, Tensor y) const {
  const ArenaScope scope(exec.arena);
  ConstTensor current = x;
  for (std::size_t i = 0; i < children_.size() && !exec.status; ++i) {
    const bool last = i + 1 == children_.size();
    // Widths were checked at prepare().
    const Tensor next = last ? y : exec.arena.tensor(x.rows, *children_[i]->output_cols(current.cols));
    children_[i]->forward(exec, pass, current, next);
    current = next;
  }
  if (children_.empty()) std::memcpy(y.data, x.data, x.rows * x.cols * sizeof(float));
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
