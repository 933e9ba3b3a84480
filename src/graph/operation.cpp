#include "graph/operation.h"

#include <algorithm>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "ops/for_rows.h"
#include "ops/gather/gather.h"

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

void Op::has_form(std::uint64_t inputs, bool knows_truth) {
  const auto fits = [&](const Value& v) {
    const bool is_word = v.type == Type::f32 || (knows_truth && v.type == Type::boolean);
    return !v.present() || (is_word && v.elements() != 0);
  };
  if (ins.size() > 64 || !std::ranges::all_of(*outs, fits)) return;
  for (std::size_t i = 0; i < ins.size(); ++i)
    if (ins[i] != nullptr && (inputs >> i & 1u) != 0 && !fits(*ins[i])) return;
  form = inputs;
}

Result<const void*> Op::placed(const std::vector<float>& numbers) const {
  if (!is_on_card() || measures()) return numbers.data();
  return exec.arena.device()->place(*packed, std::as_bytes(std::span(numbers)));
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
  if (has(i) && has_attribute(key))
    return refuse(Code::InvalidConfig, "\"{}\" as an attribute and as input {}; expected one of them", key, i);
  return has(i) ? ints(i) : Result<std::vector<std::int64_t>>(integers(key));
}

Result<void> take_by_table(Op& op, Value& y, const std::function<std::ptrdiff_t(std::size_t)>& source) {
  const Value& x = op.in(0);
  const std::size_t n = y.elements();
  if (n <= (std::size_t{1} << 26) && x.elements() <= (std::size_t{1} << 31)) op.has_form(1, true);
  if (!op.is_on_card()) {
    if (op.measures()) return {};
    with_store(store_of(x.type), [&]<class T>(T) {
      for_elements(op.exec, n, [&](std::size_t first, std::size_t more) {
        for (std::size_t i = first; i < first + more; ++i) {
          const std::ptrdiff_t at = source(i);
          y.as<T>()[i] = at < 0 ? T{} : x.as<T>()[at];
        }
      });
    });
    return {};
  }
  if (op.form == 0) return {};
  if (*op.table == nullptr) {
    auto made = std::make_shared<std::vector<std::int32_t>>(n);
    for (std::size_t i = 0; i < n; ++i) (*made)[i] = static_cast<std::int32_t>(source(i));
    *op.table = std::move(made);
  }
  std::span<const std::int32_t> ids = **op.table;
  if (!op.measures()) {
    LOOM_TRY(const std::byte* const placed, op.exec.arena.device()->place(*op.table, std::as_bytes(ids)));
    ids = {reinterpret_cast<const std::int32_t*>(placed), n};
  }
  take_rows(op.exec, tensor_of(x, 1), ids, tensor_of(y, 1));
  return {};
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

std::string full_name(const Node& node) {
  return node.domain.empty() || node.domain == "ai.onnx" ? node.op : node.domain + "." + node.op;
}

const OpRow* find_op(const Node& node) {
  if (is_gradient(node)) return gradient_op(node);
  const std::string name = full_name(node);
  for (const auto rows : {elementwise_rows(), binary_rows(), shape_rows(), index_rows(), reduce_rows(), linear_rows(),
                          spatial_rows(), norm_rows(), recurrent_rows(), quantize_rows(), resize_rows(), loss_rows(),
                          attention_rows(), sampling_rows(), signal_rows()})
    for (const OpRow& row : rows)
      if (row.name == name) return &row;
  return nullptr;
}

bool is_control(const Node& node) {
  return (node.domain.empty() || node.domain == "ai.onnx") &&
         (node.op == "If" || node.op == "Loop" || node.op == "Scan");
}

}  // namespace loom::graph
