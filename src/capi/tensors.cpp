#include "capi/tensors.h"

#include <algorithm>

#include "capi/options.h"

namespace loom::capi {
namespace {

// The caller's tensor with its element, checked but for its shape.
struct Given {
  loom_tensor tensor{};
  Element element = Element::f32;
};

// The fields of a tensor whose data begin at a multiple of `item` bytes.
Result<void> need_data(const loom_tensor& tensor, std::size_t item, std::string_view what) {
  if (tensor.data == nullptr) return fail(Code::InvalidArgument, "{}: data is NULL", what);
  if (reinterpret_cast<std::uintptr_t>(tensor.data) % item != 0)
    return fail(Code::InvalidArgument, "{}: the address of data is no multiple of {}", what, item);
  return {};
}

Result<Given> given_of(const loom_tensor* tensor, std::string_view what) {
  if (tensor == nullptr) return fail(Code::InvalidArgument, "{} is NULL", what);
  LOOM_TRY(const loom_tensor t, read_struct(tensor));
  if (t.element != LOOM_ELEMENT_FLOAT32 && t.element != LOOM_ELEMENT_FLOAT64)
    return fail(Code::InvalidArgument,
                "{}: element is {}: expected LOOM_ELEMENT_FLOAT32 ({}) or LOOM_ELEMENT_FLOAT64 ({})", what, t.element,
                LOOM_ELEMENT_FLOAT32, LOOM_ELEMENT_FLOAT64);
  const Element element = t.element == LOOM_ELEMENT_FLOAT64 ? Element::f64 : Element::f32;
  LOOM_TRY_VOID(need_data(t, bytes_of(element), what));
  return Given{t, element};
}

Result<void> need_bytes_of(const loom_tensor& tensor, std::size_t item, const Shape& shape, std::string_view what) {
  const std::size_t expected = shape.elements() * item;
  if (tensor.data_size == expected) return {};
  return fail(Code::ShapeMismatch, "{}: data has {} bytes, {} values {} have {}", what, tensor.data_size,
              shape.elements(), shape.text(), expected);
}

// Like need_bytes_of(), for the shape that the tensor gives, where it gives one.
Result<void> need_own_bytes(const loom_tensor& tensor, std::size_t item, std::string_view what) {
  if (tensor.shape_count == 0) return {};
  LOOM_TRY(const Shape own, shape_of(tensor.shape, tensor.shape_count, what));
  return need_bytes_of(tensor, item, own, what);
}

// The number of items of a batch's targets, a multiple of that of the samples.
Result<std::size_t> count_of(const loom_tensor& tensor, std::size_t item, std::size_t samples) {
  LOOM_TRY_VOID(need_own_bytes(tensor, item, "targets"));
  if (tensor.data_size % item != 0)
    return fail(Code::ShapeMismatch, "targets: data has {} bytes, a value has {}", tensor.data_size, item);
  const std::size_t count = tensor.data_size / item;
  if (count == 0) return fail(Code::EmptyTensor, "targets has no values");
  if (count % samples != 0) return fail(Code::ShapeMismatch, "targets has {} values for {} samples", count, samples);
  return count;
}

}  // namespace

loom_tensor tensor_of_view(const ConstView& values, Extents& kept) {
  const bool is_double = values.element == Element::f64;
  loom_tensor out{};
  out.struct_size = sizeof out;
  out.element = is_double ? LOOM_ELEMENT_FLOAT64 : LOOM_ELEMENT_FLOAT32;
  if (values.data == nullptr) return out;
  kept.set(values.shape);
  out.data = const_cast<void*>(values.data);  // to read: the type is that of memory to fill, too
  out.data_size = values.shape.elements() * bytes_of(values.element);
  out.shape = kept.values.data(), out.shape_count = kept.count;
  return out;
}

Result<Shape> shape_of(const std::uint64_t* extents, std::size_t count, std::string_view what) {
  LOOM_TRY(const auto given, need_array(extents, count, what));
  if (given.empty() || given.size() > Shape::kMaxRank)
    return fail(Code::ShapeMismatch, "{} has {} extents: expected 1 to {}", what, given.size(), Shape::kMaxRank);
  std::array<std::size_t, Shape::kMaxRank> sizes{};
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] > Shape::kMaxElements) return fail(Code::SizeOverflow, "{}: an extent of {}", what, given[i]);
    sizes[i] = static_cast<std::size_t>(given[i]);
  }
  auto shape = Shape::create(std::span(sizes).first(given.size()));
  if (!shape) return fail(shape.error().code, "{}: {}", what, shape.error().text());
  return shape;
}

Result<ConstView> view_of(const loom_tensor* tensor, std::string_view what) {
  LOOM_TRY(const Given given, given_of(tensor, what));
  LOOM_TRY(const Shape shape, shape_of(given.tensor.shape, given.tensor.shape_count, what));
  LOOM_TRY_VOID(need_bytes_of(given.tensor, bytes_of(given.element), shape, what));
  return ConstView{given.tensor.data, shape, given.element};
}

Result<ConstView> view_of(const loom_tensor* tensor, const Shape& shape, std::string_view what) {
  LOOM_TRY(const Room room, room_of(tensor, shape, what));
  return ConstView{room.data, shape, room.element};
}

Result<ConstView> values_of(const loom_tensor* tensor, const Shape& shape, std::string_view what) {
  LOOM_TRY(const Given given, given_of(tensor, what));
  LOOM_TRY_VOID(need_own_bytes(given.tensor, bytes_of(given.element), what));
  LOOM_TRY_VOID(need_bytes_of(given.tensor, bytes_of(given.element), shape, what));
  return ConstView{given.tensor.data, shape, given.element};
}

Result<Room> room_of(const loom_tensor* tensor, const Shape& shape, std::string_view what) {
  LOOM_TRY(const Given given, given_of(tensor, what));
  LOOM_TRY(const auto extents, need_array(given.tensor.shape, given.tensor.shape_count, "shape"));
  if (!extents.empty() && !std::ranges::equal(extents, shape.extents()))
    return fail(Code::ShapeMismatch, "{}: got the shape [{}], expected {}", what, fmt::join(extents, ", "),
                shape.text());
  LOOM_TRY_VOID(need_bytes_of(given.tensor, bytes_of(given.element), shape, what));
  return Room{given.tensor.data, given.element};
}

Result<void> need_element(Element network, Element given, std::string_view what) {
  if (given == network) return {};
  const auto name_of = [](Element e) { return e == Element::f64 ? "float64" : "float32"; };
  return fail(Code::InvalidArgument, "{} has {} values, the network computes in {}", what, name_of(given),
              name_of(network));
}

Result<Samples> samples_of(const loom_batch* batch) {
  if (batch == nullptr) return fail(Code::InvalidArgument, "batch is NULL");
  LOOM_TRY(const loom_batch given, read_struct(batch));
  Samples out;
  LOOM_TRY(out.inputs, view_of(given.inputs, "inputs"));
  if (given.targets == nullptr) return fail(Code::InvalidArgument, "targets is NULL");
  LOOM_TRY(const loom_tensor targets, read_struct(given.targets));
  if (targets.element == LOOM_ELEMENT_INT32) {
    LOOM_TRY_VOID(need_data(targets, sizeof(std::int32_t), "targets"));
    LOOM_TRY(const std::size_t count, count_of(targets, sizeof(std::int32_t), out.size()));
    out.classes = std::span(static_cast<const std::int32_t*>(targets.data), count);
    return out;
  }
  if (targets.element != LOOM_ELEMENT_FLOAT32 && targets.element != LOOM_ELEMENT_FLOAT64)
    return fail(Code::InvalidArgument,
                "targets: element is {}: expected LOOM_ELEMENT_INT32 ({}) of classes, LOOM_ELEMENT_FLOAT32 ({}) or "
                "LOOM_ELEMENT_FLOAT64 ({})",
                targets.element, LOOM_ELEMENT_INT32, LOOM_ELEMENT_FLOAT32, LOOM_ELEMENT_FLOAT64);
  LOOM_TRY(const Given values, given_of(given.targets, "targets"));
  LOOM_TRY(const std::size_t count, count_of(targets, bytes_of(values.element), out.size()));
  LOOM_TRY(const Shape rows, Shape::create(std::array{out.size(), count / out.size()}));
  out.values = {targets.data, rows, values.element};
  return out;
}

}  // namespace loom::capi
