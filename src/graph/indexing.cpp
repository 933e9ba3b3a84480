// Operations that take and put elements by index, and that look for them.

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "graph/operation.h"
#include "ops/for_rows.h"
#include "ops/gather/gather.h"

namespace loom::graph {
namespace {

// An index counts from the end where it is negative. OutOfRange.
Result<std::size_t> index_of(const Op& op, std::int64_t index, std::size_t extent) {
  const auto n = static_cast<std::int64_t>(extent);
  if (index < -n || index >= n) return op.refuse(Code::IndexOutOfRange, "index {} of {}", index, n);
  return static_cast<std::size_t>(index < 0 ? index + n : index);
}
Result<void> expect_indices(const Op& op, const Value& indices) {
  if (store_of(indices.type) == Store::i64) return {};
  return op.refuse(Code::CorruptData, "indices of {}", name_of(indices.type));
}

constexpr std::size_t kMostIds = 1u << 16;  // that a card gets in one piece

// Rows of x by their numbers, which the host reads.
Result<void> gather_on_card(Op& op, std::size_t outer, std::size_t axis, Value& y) {
  if (op.form == 0 || op.measures()) return {};
  const Value &x = op.in(0), &indices = op.in(1);
  const std::size_t n = indices.elements(), extent = x.dims[axis];
  std::vector<std::int32_t> rows;
  for (std::size_t o = 0; o < outer; ++o)
    for (std::size_t i = 0; i < n; ++i) {
      LOOM_TRY(const std::size_t from, index_of(op, indices.as<std::int64_t>()[i], extent));
      rows.push_back(static_cast<std::int32_t>(o * extent + from));
    }
  const std::size_t part = y.elements() / rows.size();
  take_rows(op.exec, tensor_of(x, part), rows, tensor_of(y, part));
  return {};
}

Result<void> gather(Op& op) {
  const Value &x = op.in(0), &indices = op.in(1);
  LOOM_TRY_VOID(expect_indices(op, indices));
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 0), x.rank()));
  Dims dims(x.dims.begin(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(axis) + 1, x.dims.end());
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  const std::size_t outer = count(std::span(x.dims).first(axis)), n = indices.elements();
  if (outer * n <= kMostIds) op.has_form(1, true);
  if (op.is_on_card()) return gather_on_card(op, outer, axis, *y);
  if (op.measures()) return {};
  const std::size_t part = count(std::span(x.dims).subspan(axis + 1)) * bytes_of(store_of(x.type));
  for (std::size_t i = 0; i < n; ++i) {
    LOOM_TRY(const std::size_t from, index_of(op, indices.as<std::int64_t>()[i], x.dims[axis]));
    for (std::size_t o = 0; o < outer && part != 0; ++o)
      std::memcpy(y->as<std::byte>() + (o * n + i) * part, x.as<std::byte>() + (o * x.dims[axis] + from) * part, part);
  }
  return {};
}

Result<void> gather_elements(Op& op) {
  const Value &x = op.in(0), &indices = op.in(1);
  LOOM_TRY_VOID(expect_indices(op, indices));
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 0), x.rank()));
  if (indices.rank() != x.rank()) return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis && indices.dims[i] > x.dims[i])
      return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  LOOM_TRY(Value* const y, op.out(0, x.type, indices.dims));
  if (op.measures()) return {};
  const auto own = row_major_strides(x.dims);
  auto strides = own;
  strides[axis] = 0;
  std::optional<Error> error;
  with_store(store_of(x.type), [&]<class T>(T) {
    walk(indices.dims, strides, [&](std::size_t i, std::size_t at) {
      if (error) return;
      const auto from = index_of(op, indices.as<std::int64_t>()[i], x.dims[axis]);
      if (from)
        y->as<T>()[i] = x.as<T>()[at + *from * own[axis]];
      else
        error = from.error();
    });
  });
  if (error) return tl::make_unexpected(*std::move(error));
  return {};
}

// The place of an update that a row of indices names, in elements.
Result<std::size_t> place_of(const Op& op, const std::int64_t* row, std::size_t n, std::span<const std::size_t> dims,
                             std::span<const std::size_t> strides) {
  std::size_t at = 0;
  for (std::size_t k = 0; k < n; ++k) {
    LOOM_TRY(const std::size_t i, index_of(op, row[k], dims[k]));
    at += i * strides[k];
  }
  return at;
}

Result<void> gather_nd(Op& op) {
  const Value &x = op.in(0), &indices = op.in(1);
  LOOM_TRY_VOID(expect_indices(op, indices));
  const std::int64_t given = op.integer("batch_dims", 0);
  if (given < 0 || indices.rank() == 0 || x.rank() == 0 ||
      given >= static_cast<std::int64_t>(std::min(indices.rank(), x.rank())))
    return op.refuse(Code::ShapeMismatch, "{} shared axes", given);
  const auto shared = static_cast<std::size_t>(given);
  const std::size_t depth = indices.dims.back();
  if (depth + shared > x.rank() || depth == 0)
    return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  for (std::size_t i = 0; i < shared; ++i)
    if (indices.dims[i] != x.dims[i]) return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  Dims dims(indices.dims.begin(), indices.dims.end() - 1);
  dims.insert(dims.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(shared + depth), x.dims.end());
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.measures()) return {};
  const auto own = row_major_strides(x.dims);
  const std::size_t rows = indices.elements() / depth, batches = count(std::span(x.dims).first(shared));
  const std::size_t part = count(std::span(x.dims).subspan(shared + depth)), size = bytes_of(store_of(x.type));
  for (std::size_t r = 0; r < rows; ++r) {
    LOOM_TRY(const std::size_t inside, place_of(op, indices.as<std::int64_t>() + r * depth, depth,
                                                std::span(x.dims).subspan(shared), std::span(own).subspan(shared)));
    const std::size_t batch = r / (rows / batches), from = batch * (x.elements() / batches) + inside;
    if (part != 0) std::memcpy(y->as<std::byte>() + r * part * size, x.as<std::byte>() + from * size, part * size);
  }
  return {};
}

enum class Put : std::uint8_t { replace, add, multiply, larger, smaller };
Result<Put> put_of(const Op& op) {
  const std::string text = op.text("reduction", "none");
  if (text == "none") return Put::replace;
  if (text == "add") return Put::add;
  if (text == "mul") return Put::multiply;
  if (text == "max") return Put::larger;
  if (text == "min") return Put::smaller;
  return op.refuse(Code::Unsupported, "reduction \"{}\"", text);
}
template <class T>
void put(T& to, T value, Put how) {
  switch (how) {
    case Put::replace: to = value; break;
    case Put::add: to = snap(plus(to, value)); break;
    case Put::multiply: to = snap(times(to, value)); break;
    case Put::larger: to = value > to ? value : to; break;
    case Put::smaller: to = value < to ? value : to; break;
  }
}

Result<void> scatter_elements(Op& op) {
  const Value &x = op.in(0), &indices = op.in(1), &updates = op.in(2);
  LOOM_TRY_VOID(expect_indices(op, indices));
  LOOM_TRY(const Put how, put_of(op));
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 0), x.rank()));
  if (indices.rank() != x.rank() || updates.dims != indices.dims || updates.type != x.type)
    return op.refuse(Code::ShapeMismatch, "indices of {}, updates of {}", text_of(indices.dims), text_of(updates.dims));
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (i != axis && indices.dims[i] > x.dims[i])
      return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  std::memcpy(y->data, x.data, x.bytes());
  const auto own = row_major_strides(x.dims);
  auto strides = own;
  strides[axis] = 0;
  std::optional<Error> error;
  with_store(store_of(x.type), [&]<class T>(T) {
    walk(indices.dims, strides, [&](std::size_t i, std::size_t at) {
      if (error) return;
      const auto to = index_of(op, indices.as<std::int64_t>()[i], x.dims[axis]);
      if (to)
        put(y->as<T>()[at + *to * own[axis]], updates.as<T>()[i], how);
      else
        error = to.error();
    });
  });
  if (error) return tl::make_unexpected(*std::move(error));
  round_to_type(*y);
  return {};
}

Result<void> scatter_nd(Op& op) {
  const Value &x = op.in(0), &indices = op.in(1), &updates = op.in(2);
  LOOM_TRY_VOID(expect_indices(op, indices));
  LOOM_TRY(const Put how, put_of(op));
  if (indices.rank() == 0 || indices.dims.back() == 0 || indices.dims.back() > x.rank() || updates.type != x.type)
    return op.refuse(Code::ShapeMismatch, "indices of {}", text_of(indices.dims));
  const std::size_t depth = indices.dims.back(), rows = indices.elements() / depth;
  Dims wanted(indices.dims.begin(), indices.dims.end() - 1);
  wanted.insert(wanted.end(), x.dims.begin() + static_cast<std::ptrdiff_t>(depth), x.dims.end());
  if (updates.dims != wanted) return op.refuse(Code::ShapeMismatch, "updates of {}", text_of(updates.dims));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  std::memcpy(y->data, x.data, x.bytes());
  const auto own = row_major_strides(x.dims);
  const std::size_t part = count(std::span(x.dims).subspan(depth));
  for (std::size_t r = 0; r < rows; ++r) {
    LOOM_TRY(const std::size_t to, place_of(op, indices.as<std::int64_t>() + r * depth, depth, x.dims, own));
    with_store(store_of(x.type), [&]<class T>(T) {
      for (std::size_t i = 0; i < part; ++i) put(y->as<T>()[to + i], updates.as<T>()[r * part + i], how);
    });
  }
  round_to_type(*y);
  return {};
}

Result<void> one_hot(Op& op) {
  const Value &indices = op.in(0), &values = op.in(2);
  LOOM_TRY(const auto depths, op.ints(1));
  if (depths.size() != 1 || depths[0] < 1 || depths[0] > (std::int64_t{1} << 40) || values.elements() != 2)
    return op.refuse(Code::ShapeMismatch, "a depth of {} and values of {}", text_of(op.in(1).dims),
                     text_of(values.dims));
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -1), indices.rank() + 1));
  Dims dims = indices.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), static_cast<std::size_t>(depths[0]));
  LOOM_TRY(Value* const y, op.out(0, values.type, dims));
  if (op.measures()) return {};
  const std::size_t inner = count(std::span(dims).subspan(axis + 1));
  with_store(store_of(values.type), [&]<class T>(T) {
    std::fill_n(y->as<T>(), y->elements(), values.as<T>()[0]);
    for (std::size_t i = 0; i < indices.elements(); ++i) {
      auto hot = stored<std::int64_t>(std::clamp(indices.number(i), -0x1p50, 0x1p50));
      if (hot < 0) hot += depths[0];
      if (hot < 0 || hot >= depths[0]) continue;
      y->as<T>()[(i / inner * dims[axis] + static_cast<std::size_t>(hot)) * inner + i % inner] = values.as<T>()[1];
    }
  });
  return {};
}

Result<void> non_zero(Op& op) {
  const Value& x = op.in(0);
  if (!x.known) {
    LOOM_TRY_VOID(op.ints(0));
  }
  std::size_t found = 0;
  for (std::size_t i = 0; i < x.elements(); ++i) found += x.number(i) != 0;
  LOOM_TRY(Value* const y, op.out(0, Type::i64, {x.rank(), found}));
  if (op.measures()) return {};
  const auto strides = row_major_strides(x.dims);
  std::size_t at = 0;
  for (std::size_t i = 0; i < x.elements(); ++i) {
    if (x.number(i) == 0) continue;
    for (std::size_t axis = 0; axis < x.rank(); ++axis)
      y->as<std::int64_t>()[axis * found + at] = static_cast<std::int64_t>(i / strides[axis] % x.dims[axis]);
    ++at;
  }
  return {};
}

Result<void> compress(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto takes, op.ints(1));
  const bool flat = !op.has_attribute("axis");
  std::size_t axis = 0;
  if (!flat) {
    LOOM_TRY(axis, op.axis(op.integer("axis", 0), x.rank()));
  }
  const std::size_t extent = flat ? x.elements() : x.dims[axis];
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < std::min(extent, takes.size()); ++i)
    if (takes[i] != 0) taken.push_back(i);
  Dims dims = flat ? Dims{taken.size()} : x.dims;
  if (!flat) dims[axis] = taken.size();
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  if (op.measures()) return {};
  const std::size_t outer = flat ? 1 : count(std::span(x.dims).first(axis));
  const std::size_t part = (flat ? 1 : count(std::span(x.dims).subspan(axis + 1))) * bytes_of(store_of(x.type));
  for (std::size_t o = 0; o < outer && part != 0; ++o)
    for (std::size_t i = 0; i < taken.size(); ++i)
      std::memcpy(y->as<std::byte>() + (o * taken.size() + i) * part,
                  x.as<std::byte>() + (o * extent + taken[i]) * part, part);
  return {};
}

// The largest or smallest k of each line along an axis, the earlier of equals first.
Result<void> top_k(Op& op) {
  const Value& x = op.in(0);
  std::int64_t k = op.integer("k", 0);
  if (op.opset >= 10) {
    LOOM_TRY(const auto list, op.ints(1));
    k = list.size() == 1 ? list[0] : -1;
  }
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -1), x.rank()));
  if (k < 0 || k > static_cast<std::int64_t>(x.dims[axis]))
    return op.refuse(Code::OutOfRange, "{} of {}", k, x.dims[axis]);
  const bool largest = op.integer("largest", 1) != 0;
  Dims dims = x.dims;
  dims[axis] = static_cast<std::size_t>(k);
  LOOM_TRY_VOID(op.out(0, x.type, dims));
  LOOM_TRY_VOID(op.out(1, Type::i64, dims));
  if (op.measures()) return {};
  Value &y = (*op.outs)[0], &places = (*op.outs)[1];
  const std::size_t inner = count(std::span(dims).subspan(axis + 1)), n = x.dims[axis];
  const std::size_t lines = n == 0 ? 0 : x.elements() / n;
  with_store(store_of(x.type), [&]<class T>(T) {
    std::vector<std::size_t> order(n);
    for (std::size_t line = 0; line < lines; ++line) {
      const T* const from = x.as<T>() + line / inner * n * inner + line % inner;
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
        const T u = from[a * inner], v = from[b * inner];
        return largest ? u > v || (u != u && v == v) : u < v || (u == u && v != v);
      });
      for (std::size_t i = 0; i < dims[axis]; ++i) {
        const std::size_t to = (line / inner * dims[axis] + i) * inner + line % inner;
        y.as<T>()[to] = from[order[i] * inner], places.as<std::int64_t>()[to] = static_cast<std::int64_t>(order[i]);
      }
    }
  });
  return {};
}

// Running sums and products along an axis, in one chain.
Result<void> running(Op& op, bool multiplies) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto axes, op.ints(1));
  if (axes.size() != 1) return op.refuse(Code::ShapeMismatch, "an axis of {}", text_of(op.in(1).dims));
  LOOM_TRY(const std::size_t axis, op.axis(axes[0], x.rank()));
  const bool exclusive = op.integer("exclusive", 0) != 0, reverse = op.integer("reverse", 0) != 0;
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  const std::size_t n = x.dims[axis], inner = count(std::span(x.dims).subspan(axis + 1));
  with_store(store_of(x.type), [&]<class T>(T) {
    for (std::size_t line = 0; n != 0 && line < x.elements() / n; ++line) {
      const std::size_t first = line / inner * n * inner + line % inner;
      T total = multiplies ? T{1} : T{};
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = first + (reverse ? n - 1 - i : i) * inner;
        if (exclusive) y->as<T>()[at] = total;
        total = snap(multiplies ? times(total, x.as<T>()[at]) : plus(total, x.as<T>()[at]));
        if (!exclusive) y->as<T>()[at] = total;
      }
    }
  });
  round_to_type(*y);
  return {};
}
Result<void> running_sum(Op& op) { return running(op, false); }
Result<void> running_product(Op& op) { return running(op, true); }

Result<void> reverse_sequence(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() < 2) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const std::int64_t batch_axis = op.integer("batch_axis", 1), time_axis = op.integer("time_axis", 0);
  if ((batch_axis != 0 && batch_axis != 1) || time_axis != 1 - batch_axis)
    return op.refuse(Code::InvalidConfig, "batch_axis {} and time_axis {}; expected 0 and 1, or 1 and 0", batch_axis,
                     time_axis);
  const bool batch_first = batch_axis == 0;
  const std::size_t batches = x.dims[batch_first ? 0 : 1], steps = x.dims[batch_first ? 1 : 0];
  if (op.in(1).elements() != batches) return op.refuse(Code::ShapeMismatch, "lengths of {}", text_of(op.in(1).dims));
  LOOM_TRY(Value* const y, op.out_like(0, x));
  if (op.measures()) return {};
  const std::size_t part = count(std::span(x.dims).subspan(2)) * bytes_of(store_of(x.type));
  const auto place = [&](std::size_t b, std::size_t t) {
    return (batch_first ? b * steps + t : t * batches + b) * part;
  };
  for (std::size_t b = 0; b < batches; ++b) {
    const double given = op.in(1).number(b);
    if (!(given >= 0 && given <= static_cast<double>(steps)))
      return op.refuse(Code::OutOfRange, "a length of {}", given);
    const auto length = static_cast<std::size_t>(given);
    for (std::size_t t = 0; t < steps && part != 0; ++t)
      std::memcpy(y->as<std::byte>() + place(b, t), x.as<std::byte>() + place(b, t < length ? length - 1 - t : t),
                  part);
  }
  return {};
}

}  // namespace

std::span<const OpRow> index_rows() {
  static constexpr std::array kRows{
      OpRow{"Gather", gather, false, 2},
      OpRow{"GatherElements", gather_elements, false, 2},
      OpRow{"GatherND", gather_nd, false, 2},
      OpRow{"ScatterElements", scatter_elements, false, 3},
      OpRow{"Scatter", scatter_elements, false, 3},
      OpRow{"ScatterND", scatter_nd, false, 3},
      OpRow{"OneHot", one_hot, false, 3},
      OpRow{"NonZero", non_zero},
      OpRow{"Compress", compress, false, 2},
      OpRow{"TopK", top_k},
      OpRow{"CumSum", running_sum, false, 2},
      OpRow{"CumProd", running_product, false, 2},
      OpRow{"ReverseSequence", reverse_sequence, false, 2},
  };
  return kRows;
}

}  // namespace loom::graph
