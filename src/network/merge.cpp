#include "network/merge.h"

#include "ops/elementwise/elementwise.h"
#include "ops/slices/slices.h"

namespace loom {

Result<Shape> merged_shape(Merge merge, const Shape& input, const Shape& fed) {
  if (merge == Merge::Add && !(input == fed))
    return fail(Code::ShapeMismatch, "link: the target's output has shape {}, the input it is added to {}", fed.text(),
                input.text());
  if (merge != Merge::Concat) return merge == Merge::None ? input : fed;
  if (input.rank() != fed.rank() || !(*input.with_cols(1) == *fed.with_cols(1)))
    return fail(Code::ShapeMismatch, "link: the target's output has shape {}, the input it is appended to {}",
                fed.text(), input.text());
  return input.with_cols(input.cols() + fed.cols());
}

void merge_inputs(const Exec& exec, Merge merge, const ConstView& input, const ConstView& fed, const View& y) {
  if (merge == Merge::Add) return add(exec, input, fed, y);
  LOOM_ASSERT(merge == Merge::Concat);
  const ConstTensor a = input, b = fed;
  move_slices(exec, {a.rows, a.cols}, a, {0, a.cols}, y, {0, a.cols + b.cols});
  move_slices(exec, {b.rows, b.cols}, b, {0, b.cols}, y, {a.cols, a.cols + b.cols});
}

Tensor columns_of(const Exec& exec, const ConstTensor& d, std::size_t begin, std::size_t cols) {
  const Tensor part = exec.arena.tensor(d.rows, cols, d.element);
  move_slices(exec, {d.rows, cols}, d, {begin, d.cols}, part, {0, cols});
  return part;
}

}  // namespace loom
