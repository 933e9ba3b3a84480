#include "training/samples.h"

#include <algorithm>
#include <cstring>

#include "backend/travel.h"

namespace loom {
namespace {

ConstView view_of_part(const ConstView& x, std::size_t first, std::size_t count) {
  if (x.data == nullptr) return x;
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  const std::size_t each = x.shape.elements() / extents[0];
  extents[0] = count;
  return {x.as<std::byte>() + first * each * bytes_of(x.element), *Shape::create(extents), x.element};
}

// Copies positions [first, first + count) of every sequence of x [B, T, ...], one sequence after the other.
Result<ConstView> positions_of(const ConstView& x, std::size_t first, std::size_t count, Buffer& memory) {
  std::vector<std::size_t> extents(x.shape.extents().begin(), x.shape.extents().end());
  const std::size_t samples = extents[0], steps = extents[1],
                    each = x.shape.elements() / (samples * steps) * bytes_of(x.element);
  extents[1] = count;
  LOOM_TRY_VOID(make_room(samples * count * each, memory));
  for (std::size_t s = 0; s < samples; ++s)
    std::memcpy(memory.data() + s * count * each, x.as<std::byte>() + (s * steps + first) * each, count * each);
  return ConstView{memory.data(), *Shape::create(extents), x.element};
}

Result<void> widen(ConstView& view, Buffer& memory) {
  if (view.data == nullptr || view.element == Element::f64) return {};
  LOOM_TRY_VOID(make_room(view.shape.elements() * sizeof(double), memory));
  std::copy_n(view.as<float>(), view.shape.elements(), memory.as<double>());
  view = {memory.data(), view.shape, Element::f64};
  return {};
}

}  // namespace

Samples part_of(const Samples& batch, std::size_t first, std::size_t count) {
  const std::size_t labels = batch.classes.size() / batch.size();
  return {view_of_part(batch.inputs, first, count),
          batch.classes.empty() ? batch.classes : batch.classes.subspan(first * labels, count * labels),
          view_of_part(batch.values, first, count)};
}

Result<Samples> SequenceChunk::cut(const Samples& batch, std::size_t first, std::size_t count) {
  const Shape& shape = batch.inputs.shape;
  const std::size_t steps = shape[1], rows = shape[0] * steps, labels = batch.classes.size() / rows;
  if (batch.classes.size() % rows != 0 ||
      (batch.values.data != nullptr && (batch.values.shape.rank() < 2 || batch.values.shape[1] != steps)))
    return fail(Code::ShapeMismatch, "tbptt_steps: targets for each of {} positions expected", steps);
  Samples out;
  LOOM_TRY(out.inputs, positions_of(batch.inputs, first, count, inputs_));
  if (batch.values.data != nullptr) {
    LOOM_TRY(out.values, positions_of(batch.values, first, count, values_));
  }
  classes_.clear();
  for (std::size_t s = 0; s < shape[0] && !batch.classes.empty(); ++s) {
    const auto from = batch.classes.begin() + static_cast<std::ptrdiff_t>((s * steps + first) * labels);
    classes_.insert(classes_.end(), from, from + static_cast<std::ptrdiff_t>(count * labels));
  }
  out.classes = classes_;
  return out;
}

Result<Samples> WideBatch::widened(const Samples& batch) {
  Samples out = batch;
  LOOM_TRY_VOID(widen(out.inputs, inputs_));
  LOOM_TRY_VOID(widen(out.values, values_));
  return out;
}

}  // namespace loom
