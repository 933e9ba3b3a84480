#pragma once
// Tensors of loom.h: those that a caller gives, to read or to fill, and those that the library gives.

#include <loom/loom.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/exec.h"
#include "training/samples.h"

namespace loom::capi {

// Extents that a caller reads.
struct Extents {
  std::array<std::uint64_t, Shape::kMaxRank> values{};
  std::size_t count = 0;
  void set(const Shape& shape) {
    count = shape.rank();
    std::copy(shape.extents().begin(), shape.extents().end(), values.begin());
  }
};

// Values of the library as a tensor of loom.h; its extents are kept in `kept`. Without values: a tensor without data.
loom_tensor tensor_of_view(const ConstView& values, Extents& kept);

// Memory of the caller that a call fills.
struct Room {
  void* data = nullptr;
  Element element = Element::f32;
};

// Extents as a caller gives them.
Result<Shape> shape_of(const std::uint64_t* extents, std::size_t count, std::string_view what);
// A tensor of the caller: float32 or float64, its bytes as many as its shape has. `what` begins the messages.
Result<ConstView> view_of(const loom_tensor* tensor, std::string_view what);
// Like view_of(), for a tensor whose shape is `shape` where it gives one.
Result<ConstView> view_of(const loom_tensor* tensor, const Shape& shape, std::string_view what);
// Like view_of(), for a tensor with as many values as `shape`, in a shape of its own or none.
Result<ConstView> values_of(const loom_tensor* tensor, const Shape& shape, std::string_view what);
// Like view_of(), for memory to fill.
Result<Room> room_of(const loom_tensor* tensor, const Shape& shape, std::string_view what);
// InvalidArgument unless `given` is the element in which the network computes.
Result<void> need_element(Element network, Element given, std::string_view what);

// A copy of values in memory of our own.
inline ConstView kept_copy(const ConstView& values, std::vector<std::byte>& to) {
  const auto* const from = static_cast<const std::byte*>(values.data);
  to.assign(from, from + values.shape.elements() * bytes_of(values.element));
  return {to.data(), values.shape, values.element};
}

// A batch of the caller, with classes or with values [samples, values of each]. InvalidArgument, EmptyTensor and
// ShapeMismatch for tensors that are none; whether they fit a network is for the engine to check.
Result<Samples> samples_of(const loom_batch* batch);

}  // namespace loom::capi
