#include "layers/graph/operation.h"

#include <algorithm>

#include "backend/rehearsal.h"
#include "core/checked.h"

namespace loom::graph {

Result<void> Op::expect(std::size_t n) const {
  for (std::size_t i = 0; i < n; ++i)
    if (!has(i)) return refuse(Code::CorruptData, "input {} is missing", i);
  return {};
}

Result<Value*> Op::out(std::size_t i, Type type, const Dims& dims) {
  if (i >= outs->size()) outs->resize(i + 1);
  Value& value = (*outs)[i];
  if (measures()) {
    std::size_t n = 1;
    if (dims.size() > 16) return refuse(Code::Unsupported, "an output of {} axes", dims.size());
    for (const std::size_t d : dims) {
      LOOM_TRY(n, checked_mul(n, d));
    }
    if (n > most_elements) return refuse(Code::SizeOverflow, "an output of shape {}", text_of(dims));
    value = {};
    value.type = type, value.dims = dims, value.data = const_cast<void*>(rehearsal_input());
    return &value;
  }
  if (value.type != type || value.dims != dims)
    return refuse(Code::ShapeMismatch, "output {} has shape {}, planned was {}", i, text_of(dims), text_of(value.dims));
  return &value;
}

Result<std::vector<std::int64_t>> Op::ints(std::size_t i) {
  if (!has(i)) return refuse(Code::CorruptData, "input {} is missing", i);
  const Value& value = in(i);
  if (!value.known) {
    needs_value = true;
    return refuse(Code::Unsupported, "its shape depends on numbers that only a run knows (input {}, \"{}\")", i,
                  node.inputs[i]);
  }
  std::vector<std::int64_t> list(value.elements());
  for (std::size_t k = 0; k < list.size(); ++k)
    list[k] = store_of(value.type) == Store::i64 ? value.as<std::int64_t>()[k]
                                                 : stored<std::int64_t>(std::clamp(value.number(k), -0x1p62, 0x1p62));
  return list;
}

Result<double> Op::known_number(std::size_t i) {
  LOOM_TRY(const auto list, ints(i));
  if (list.size() != 1) return refuse(Code::ShapeMismatch, "input {} has {} numbers, one expected", i, list.size());
  return in(i).number(0);
}

std::int64_t Op::integer(std::string_view key, std::int64_t fallback) const {
  const Attribute* const a = node.find(key);
  return a != nullptr && a->kind == Attribute::Kind::integer ? a->integer : fallback;
}

double Op::number(std::string_view key, double fallback) const {
  const Attribute* const a = node.find(key);
  return a != nullptr && a->kind == Attribute::Kind::number ? a->number : fallback;
}

std::string Op::text(std::string_view key, std::string_view fallback) const {
  const Attribute* const a = node.find(key);
  return a != nullptr && a->kind == Attribute::Kind::text ? a->text : std::string(fallback);
}

std::vector<std::int64_t> Op::integers(std::string_view key) const {
  const Attribute* const a = node.find(key);
  return a != nullptr && a->kind == Attribute::Kind::integers ? a->integers : std::vector<std::int64_t>();
}

Result<std::size_t> Op::axis(std::int64_t value, std::size_t rank) const {
  const auto wide = static_cast<std::int64_t>(rank);
  if (value < -wide || value >= wide) return refuse(Code::OutOfRange, "axis {} of a tensor of {} axes", value, rank);
  return static_cast<std::size_t>(value < 0 ? value + wide : value);
}

Result<std::vector<std::int64_t>> Op::ints_of(std::size_t i, std::string_view key) {
  return has(i) ? ints(i) : Result<std::vector<std::int64_t>>(integers(key));
}

void round_to_type(const Value& value) {
  const std::size_t n = value.elements();
  if (store_of(value.type) == Store::i64) {
    if (value.type == Type::i64 || value.type == Type::u64) return;
    for (std::size_t i = 0; i < n; ++i) value.as<std::int64_t>()[i] = wrapped(value.type, value.as<std::int64_t>()[i]);
  } else if (value.type != Type::f32 && value.type != Type::f64) {
    for (std::size_t i = 0; i < n; ++i) value.as<float>()[i] = rounded(value.type, value.as<float>()[i]);
  }
}

Result<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      return fail(Code::ShapeMismatch, "shapes {} and {} do not stretch to one", text_of(a), text_of(b));
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

std::vector<std::size_t> row_major_strides(const Dims& dims) {
  std::vector<std::size_t> strides(dims.size());
  std::size_t step = 1;
  for (std::size_t i = dims.size(); i-- > 0;) strides[i] = step, step *= dims[i];
  return strides;
}

std::vector<std::size_t> stretched_strides(const Dims& from, const Dims& to) {
  std::vector<std::size_t> strides(to.size(), 0);
  const auto own = row_major_strides(from);
  for (std::size_t i = 0; i < from.size(); ++i)
    strides[to.size() - 1 - i] = from[from.size() - 1 - i] == 1 ? 0 : own[from.size() - 1 - i];
  return strides;
}

const OpRow* find_op(const Node& node) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return nullptr;
  for (const auto rows : {elementwise_rows(), binary_rows(), shape_rows(), index_rows(), reduce_rows(), linear_rows(),
                          spatial_rows(), norm_rows(), recurrent_rows(), quantize_rows(), resize_rows(), loss_rows()})
    for (const OpRow& row : rows)
      if (row.name == node.op) return &row;
  return nullptr;
}

bool is_control(const Node& node) {
  return (node.domain.empty() || node.domain == "ai.onnx") &&
         (node.op == "If" || node.op == "Loop" || node.op == "Scan");
}

}  // namespace loom::graph
