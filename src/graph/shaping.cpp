// Operations that make, read and change shapes, and that move elements without looking at them.

#include <algorithm>
#include <cmath>
#include <array>
#include <cstring>

#include "core/checked.h"
#include "graph/operation.h"
#include "ops/for_rows.h"
#include "ops/permute/permute.h"
#include "ops/slices/slices.h"

namespace loom::graph {
namespace {

constexpr std::size_t kOpen = ~std::size_t{0};

Result<Dims> dims_of(const Op& op, std::span<const std::int64_t> list) {
  Dims dims;
  for (const std::int64_t d : list) {
    if (d < 0) return op.refuse(Code::ShapeMismatch, "an extent of {}", d);
    dims.push_back(static_cast<std::size_t>(d));
  }
  return dims;
}

Result<void> shape(Op& op) {
  const auto rank = static_cast<std::int64_t>(op.in(0).rank());
  const auto bound = [&](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const std::int64_t first = bound(op.integer("start", 0)), last = std::max(first, bound(op.integer("end", rank)));
  LOOM_TRY(Value fresh, Value::create(Type::i64, {static_cast<std::size_t>(last - first)}));
  for (std::int64_t i = first; i < last; ++i)
    fresh.as<std::int64_t>()[i - first] = static_cast<std::int64_t>(op.in(0).dims[static_cast<std::size_t>(i)]);
  op.know(0, std::move(fresh));
  return {};
}
Result<void> size(Op& op) {
  LOOM_TRY(Value fresh, Value::create(Type::i64, {}));
  *fresh.as<std::int64_t>() = static_cast<std::int64_t>(op.in(0).elements());
  op.know(0, std::move(fresh));
  return {};
}

Result<void> constant(Op& op) {
  for (const auto& [key, a] : op.node.attributes) {
    if (key == "value" && a.kind == Attribute::Kind::tensor) {
      op.know(0, a.tensor);
      return {};
    }
    const bool floats = key == "value_float" || key == "value_floats";
    if (!floats && key != "value_int" && key != "value_ints") continue;
    const bool list = key.ends_with("s");
    const std::size_t n = !list ? 1 : floats ? a.numbers.size() : a.integers.size();
    LOOM_TRY(Value fresh, Value::create(floats ? Type::f32 : Type::i64, list ? Dims{n} : Dims{}));
    for (std::size_t i = 0; i < n; ++i) {
      if (floats)
        fresh.as<float>()[i] = static_cast<float>(list ? a.numbers[i] : a.number);
      else
        fresh.as<std::int64_t>()[i] = list ? a.integers[i] : a.integer;
    }
    op.know(0, std::move(fresh));
    return {};
  }
  for (const auto& [key, a] : op.node.attributes)
    if (key.starts_with("value_string")) return op.refuse(Code::Unsupported, "{}, a text", key);
  return op.refuse(Code::Unsupported, "without a tensor, numbers or whole numbers");
}

Result<void> constant_of_shape(Op& op) {
  LOOM_TRY(const auto list, op.ints(0));
  LOOM_TRY(const Dims dims, dims_of(op, list));
  const Attribute* const a = op.node.find("value");
  const bool given = a != nullptr && a->kind == Attribute::Kind::tensor;
  if (given && a->tensor.elements() != 1)
    return op.refuse(Code::ShapeMismatch, "a value of {} numbers", a->tensor.elements());
  LOOM_TRY(Value* const y, op.out(0, given ? a->tensor.type : Type::f32, dims));
  if (op.measures() || !given) return {};
  with_store(store_of(y->type), [&]<class T>(T) { std::fill_n(y->as<T>(), y->elements(), a->tensor.as<T>()[0]); });
  return {};
}

// The result is the input under another shape: the planner shares its memory.
Result<void> reshape(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto list, op.ints(1));
  const bool keeps_zero = op.integer("allowzero", 0) != 0;
  Dims dims;
  std::size_t known = 1, open = kOpen;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] < -1) return op.refuse(Code::ShapeMismatch, "an extent of {}", list[i]);
    if (list[i] == -1 && open != kOpen) return op.refuse(Code::ShapeMismatch, "two extents are left open");
    if (list[i] == -1) {
      open = i;
      dims.push_back(1);
    } else if (list[i] == 0 && !keeps_zero) {
      if (i >= x.rank()) return op.refuse(Code::ShapeMismatch, "extent {} of a shape {}", i, text_of(x.dims));
      dims.push_back(x.dims[i]);
    } else {
      dims.push_back(static_cast<std::size_t>(list[i]));
    }
    LOOM_TRY(known, checked_mul(known, dims.back()));
  }
  if (open != kOpen) {
    if (known == 0 || x.elements() % known != 0)
      return op.refuse(Code::ShapeMismatch, "{} elements do not divide into {}", x.elements(), text_of(dims));
    dims[open] = x.elements() / known, known = x.elements();
  }
  if (known != x.elements()) return op.refuse(Code::ShapeMismatch, "{} into {}", text_of(x.dims), text_of(dims));
  LOOM_TRY_VOID(op.out(0, x.type, dims));
  return {};
}

Result<void> flatten(Op& op) {
  const Value& x = op.in(0);
  std::int64_t at = op.integer("axis", 1);
  if (at < 0) at += static_cast<std::int64_t>(x.rank());
  if (at < 0 || at > static_cast<std::int64_t>(x.rank())) return op.refuse(Code::OutOfRange, "axis {}", at);
  const std::size_t rows = count(std::span(x.dims).first(static_cast<std::size_t>(at)));
  const std::size_t cols = count(std::span(x.dims).subspan(static_cast<std::size_t>(at)));
  LOOM_TRY_VOID(op.out(0, x.type, {rows, cols}));
  return {};
}

Result<void> squeeze(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto axes, op.ints_of(1, "axes"));
  std::vector<bool> goes(x.rank(), false);
  for (const std::int64_t a : axes) {
    LOOM_TRY(const std::size_t axis, op.axis(a, x.rank()));
    if (x.dims[axis] != 1) return op.refuse(Code::ShapeMismatch, "axis {} of {}", axis, text_of(x.dims));
    goes[axis] = true;
  }
  Dims dims;
  for (std::size_t i = 0; i < x.rank(); ++i)
    if (axes.empty() ? x.dims[i] != 1 : !goes[i]) dims.push_back(x.dims[i]);
  LOOM_TRY_VOID(op.out(0, x.type, dims));
  return {};
}

Result<void> unsqueeze(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto axes, op.ints_of(1, "axes"));
  const std::size_t rank = x.rank() + axes.size();
  std::vector<bool> fresh(rank, false);
  for (const std::int64_t a : axes) {
    LOOM_TRY(const std::size_t axis, op.axis(a, rank));
    if (fresh[axis]) return op.refuse(Code::ShapeMismatch, "axis {} twice", axis);
    fresh[axis] = true;
  }
  Dims dims;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) dims.push_back(fresh[i] ? 1 : x.dims[next++]);
  LOOM_TRY_VOID(op.out(0, x.type, dims));
  return {};
}

// Axes that an offset walks by strides: those of one element are left out, those that it passes as if they were one are
// one.
struct Strided {
  Dims dims;
  std::vector<std::size_t> strides;
};
Strided merged(const Dims& dims, const std::vector<std::size_t>& strides) {
  Strided s;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (!s.dims.empty() && s.strides.back() == strides[i] * dims[i])
      s.dims.back() *= dims[i], s.strides.back() = strides[i];
    else
      s.dims.push_back(dims[i]), s.strides.push_back(strides[i]);
  }
  return s;
}

// Returns whether these are all elements of x in their order.
bool is_whole(const Value& x, const Dims& dims, const std::vector<std::size_t>& strides) {
  if (count(dims) != x.elements()) return false;
  const Strided s = merged(dims, strides);
  return s.dims.empty() || (s.dims.size() == 1 && s.strides[0] == 1);
}

constexpr std::size_t kBlock = 32;  // rows and columns that are transposed together

// Transposes two axes: a row of y reads x with stride `step`, a column of y is adjacent in x. It works in blocks, so
// that whole cache lines are used.
template <class T>
void turn(const T* x, std::size_t step, std::size_t rows, std::size_t cols, T* y, std::size_t y_step) {
  for (std::size_t first = 0; first < cols; first += kBlock) {
    const std::size_t last = std::min(cols, first + kBlock);
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = first; c < last; ++c) y[r * y_step + c] = x[r + c * step];
  }
}

// y at (i, j, ...) is x at an offset that walks by strides.
void gather_by_strides(const Exec& exec, const Value& x, const Value& y, const std::vector<std::size_t>& strides,
                       std::size_t start = 0) {
  if (y.elements() == 0) return;
  Strided s = merged(y.dims, strides);
  if (s.dims.empty()) s.dims = {1}, s.strides = {1};
  if (exec.records()) return take_by_steps(exec, tensor_of(x, 1), start, s.dims, s.strides, y.data);
  const std::size_t cols = s.dims.back(), step = s.strides.back(), outer = s.dims.size() - 1;
  // An axis that is contiguous in x, if the last one is not: turn() transposes the two.
  const std::size_t side =
      step == 1 ? outer : static_cast<std::size_t>(std::ranges::find(s.strides, 1u) - s.strides.begin());
  const bool turns = side < outer;
  const std::size_t blocks = turns ? (s.dims[side] + kBlock - 1) / kBlock : 1;
  std::size_t between = 1;  // rows of y from one place on that axis to the next
  for (std::size_t axis = side + 1; axis < outer; ++axis) between *= s.dims[axis];
  with_store(store_of(x.type), [&]<class T>(T) {
    const std::size_t rows = count(std::span(s.dims).first(outer)) / (turns ? s.dims[side] : 1);
    for_rows(exec, rows * blocks, cols * (turns ? kBlock : 1), [&](std::size_t row) {
      std::size_t at = start, to = 0, rest = row / blocks, pitch = 1;
      const std::size_t first = row % blocks * kBlock;
      for (std::size_t axis = outer; axis-- > 0; pitch *= s.dims[axis]) {
        const std::size_t i = turns && axis == side ? first : rest % s.dims[axis];
        if (!turns || axis != side) rest /= s.dims[axis];
        at += i * s.strides[axis], to += i * pitch;
      }
      const T* const from = x.as<T>() + at;
      T* const into = y.as<T>() + to * cols;
      if (turns)
        turn(from, step, std::min(kBlock, s.dims[side] - first), cols, into, between * cols);
      else if (step == 1)
        std::memcpy(into, from, cols * sizeof(T));
      else
        for (std::size_t i = 0; i < cols; ++i) into[i] = from[static_cast<std::ptrdiff_t>(i * step)];  // may lead back
    });
  });
}

Result<void> transpose(Op& op) {
  const Value& x = op.in(0);
  auto order = op.integers("perm");
  if (order.empty())
    for (std::size_t i = x.rank(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  if (order.size() != x.rank())
    return op.refuse(Code::ShapeMismatch, "an order of {} axes for {}", order.size(), x.rank());
  const auto own = row_major_strides(x.dims);
  Dims dims;
  std::vector<std::size_t> strides;
  std::vector<bool> seen(x.rank(), false);
  for (const std::int64_t o : order) {
    LOOM_TRY(const std::size_t axis, op.axis(o, x.rank()));
    if (seen[axis]) return op.refuse(Code::ShapeMismatch, "axis {} twice", axis);
    seen[axis] = true;
    dims.push_back(x.dims[axis]), strides.push_back(own[axis]);
  }
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  op.is_first_input = is_whole(x, dims, strides);
  op.has_form(1, true);
  if (!op.measures() || op.is_on_card()) gather_by_strides(op.exec, x, *y, strides);
  return {};
}

Result<void> expand(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto list, op.ints(1));
  LOOM_TRY(const Dims wanted, dims_of(op, list));
  LOOM_TRY(const Dims dims, broadcast(x.dims, wanted));
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  op.is_first_input = dims.size() >= x.rank() && count(dims) == x.elements();
  op.has_form(1, true);
  if (!op.measures() || op.is_on_card()) gather_by_strides(op.exec, x, *y, stretched_strides(x.dims, dims));
  return {};
}

Result<void> tile(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto list, op.ints(1));
  LOOM_TRY(const Dims repeats, dims_of(op, list));
  if (repeats.size() != x.rank())
    return op.refuse(Code::ShapeMismatch, "{} repeats of {}", repeats.size(), text_of(x.dims));
  Dims dims;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    LOOM_TRY(const std::size_t d, checked_mul(x.dims[i], repeats[i]));
    dims.push_back(d);
  }
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  const auto own = row_major_strides(x.dims), strides = row_major_strides(dims);
  return take_by_table(op, *y, [&](std::size_t i) {
    std::size_t from = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis)
      from += i / strides[axis] % dims[axis] % x.dims[axis] * own[axis];
    return static_cast<std::ptrdiff_t>(from);
  });
}

// On a card: parts side by side on an axis, into the whole.
void move_parts(const Op& op, std::size_t axis, const Value& whole) {
  if (whole.elements() == 0) return;
  const std::size_t outer = count(std::span(whole.dims).first(axis)), row = whole.elements() / outer;
  std::size_t at = 0;
  for (const Value* const in : op.ins) {
    const std::size_t part = count(std::span(in->dims).subspan(axis));
    move_slices(op.exec, {outer, part}, tensor_of(*in, part), {.stride = part}, {whole.data, outer, row},
                {.offset = at, .stride = row});
    at += part;
  }
}

Result<void> concat(Op& op) {
  const Value& first = op.in(0);
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 1), first.rank()));
  Dims dims = first.dims;
  dims[axis] = 0;
  for (std::size_t i = 0; i < op.num_ins(); ++i) {
    if (!op.has(i)) return op.refuse(Code::CorruptData, "input {} is missing", i);
    Dims other = op.in(i).dims;
    if (other.size() != dims.size() || op.in(i).type != first.type)
      return op.refuse(Code::ShapeMismatch, "{} beside {}", text_of(other), text_of(first.dims));
    dims[axis] += std::exchange(other[axis], first.dims[axis]);
    if (other != first.dims)
      return op.refuse(Code::ShapeMismatch, "{} beside {}", text_of(op.in(i).dims), text_of(first.dims));
  }
  LOOM_TRY(Value* const y, op.out(0, first.type, dims));
  op.has_form(~std::uint64_t{0}, true);
  if (op.is_on_card()) {
    move_parts(op, axis, *y);
    return {};
  }
  if (op.measures()) return {};
  const std::size_t outer = count(std::span(dims).first(axis)), size = bytes_of(store_of(first.type));
  const std::size_t row = y->bytes() / std::max<std::size_t>(outer, 1);
  std::size_t at = 0;
  for (std::size_t i = 0; i < op.num_ins(); ++i) {
    const std::size_t part = count(std::span(op.in(i).dims).subspan(axis)) * size;
    for (std::size_t o = 0; o < outer && part != 0; ++o)
      std::memcpy(y->as<std::byte>() + o * row + at, op.in(i).as<std::byte>() + o * part, part);
    at += part;
  }
  return {};
}

Result<void> split(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", 0), x.rank()));
  LOOM_TRY(auto sizes, op.ints_of(1, "split"));
  const std::size_t parts = op.node.outputs.size();
  const auto whole = static_cast<std::int64_t>(x.dims[axis]);
  if (parts == 0) return op.refuse(Code::CorruptData, "no outputs");
  if (const auto said = op.integer("num_outputs", static_cast<std::int64_t>(parts));
      said != static_cast<std::int64_t>(parts))
    return op.refuse(Code::ShapeMismatch, "num_outputs {} for {} outputs", said, parts);
  if (sizes.empty()) {
    const auto n = static_cast<std::int64_t>(parts), part = (whole + n - 1) / n;
    for (std::int64_t i = 0; i < n; ++i) sizes.push_back(std::clamp(whole - i * part, std::int64_t{0}, part));
  }
  std::int64_t sum = 0;
  for (const std::int64_t s : sizes) {
    if (s < 0 || s > whole) return op.refuse(Code::ShapeMismatch, "a part of {}", s);
    sum += s;
  }
  if (sizes.size() != parts || sum != whole)
    return op.refuse(Code::ShapeMismatch, "{} parts of {} elements for {} outputs of {}", sizes.size(), sum, parts,
                     whole);
  const std::size_t outer = count(std::span(x.dims).first(axis)), size = bytes_of(store_of(x.type));
  const std::size_t row = x.bytes() / std::max<std::size_t>(outer, 1),
                    step = count(std::span(x.dims).subspan(axis + 1)) * size;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    Dims dims = x.dims;
    dims[axis] = static_cast<std::size_t>(sizes[i]);
    LOOM_TRY(Value* const y, op.out(i, x.type, dims));
    const std::size_t part = dims[axis] * step;
    if (op.is_on_card())
      move_slices(op.exec, {outer, part / size}, tensor_of(x, row / size), {.offset = at / size, .stride = row / size},
                  {y->data, outer, part / size}, {.stride = part / size});
    for (std::size_t o = 0; o < outer && part != 0 && !op.measures() && !op.is_on_card(); ++o)
      std::memcpy(y->as<std::byte>() + o * part, x.as<std::byte>() + o * row + at, part);
    at += part;
  }
  op.has_form(1, true);
  return {};
}

struct SliceList {
  std::vector<std::int64_t> starts, ends, axes, steps;
};
Result<SliceList> slice_list(Op& op) {
  SliceList s;
  if (op.opset < 10) {
    s.starts = op.integers("starts"), s.ends = op.integers("ends"), s.axes = op.integers("axes");
  } else {
    LOOM_TRY(s.starts, op.ints(1));
    LOOM_TRY(s.ends, op.ints(2));
    if (op.has(3)) {
      LOOM_TRY(s.axes, op.ints(3));
    }
    if (op.has(4)) {
      LOOM_TRY(s.steps, op.ints(4));
    }
  }
  if (s.axes.empty())
    for (std::size_t i = 0; i < s.starts.size(); ++i) s.axes.push_back(static_cast<std::int64_t>(i));
  if (s.steps.empty()) s.steps.assign(s.starts.size(), 1);
  if (s.ends.size() != s.starts.size() || s.axes.size() != s.starts.size() || s.steps.size() != s.starts.size())
    return op.refuse(Code::ShapeMismatch, "{} starts, {} ends, {} axes, {} steps", s.starts.size(), s.ends.size(),
                     s.axes.size(), s.steps.size());
  return s;
}

Result<void> slice(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const SliceList s, slice_list(op));
  Dims dims = x.dims;
  auto strides = row_major_strides(x.dims);
  std::size_t start = 0;
  std::vector<bool> seen(x.rank(), false);
  for (std::size_t i = 0; i < s.starts.size(); ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(s.axes[i], x.rank()));
    if (seen[axis] || s.steps[i] == 0) return op.refuse(Code::InvalidConfig, "axis {} twice, or a step of 0", axis);
    seen[axis] = true;
    const auto n = static_cast<std::int64_t>(x.dims[axis]);
    const bool forward = s.steps[i] > 0;
    const auto bound = [&](std::int64_t at) {
      at = at < 0 && at >= -n ? at + n : at;
      return forward ? std::clamp(at, std::int64_t{0}, n) : std::clamp(at, std::int64_t{-1}, n - 1);
    };
    const std::int64_t step = std::clamp(s.steps[i], -std::max<std::int64_t>(n, 1), std::max<std::int64_t>(n, 1));
    // A start before the first element is the first one, in both directions (Slice-10 on).
    const std::int64_t first = n == 0 ? bound(s.starts[i]) : std::max<std::int64_t>(bound(s.starts[i]), 0);
    const std::int64_t last = bound(s.ends[i]);
    const std::int64_t length = forward ? (last - first + step - 1) / step : (first - last - step - 1) / -step;
    dims[axis] = static_cast<std::size_t>(std::max<std::int64_t>(length, 0));
    if (dims[axis] != 0) start += static_cast<std::size_t>(first) * strides[axis];
    strides[axis] = strides[axis] * static_cast<std::size_t>(step);  // modulo 2^64 where it goes back
  }
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  op.is_first_input = start == 0 && is_whole(x, dims, strides);
  op.has_form(1, true);
  if (!op.measures() || op.is_on_card()) gather_by_strides(op.exec, x, *y, strides, start);
  return {};
}

// Where an element of the padded tensor comes from; -1: from the constant.
std::ptrdiff_t source_of(std::ptrdiff_t at, std::ptrdiff_t n, std::string_view mode) {
  if (at >= 0 && at < n) return at;
  if (mode == "edge") return at < 0 ? 0 : n - 1;
  if (mode == "wrap") return ((at % n) + n) % n;
  if (mode != "reflect") return -1;
  if (n == 1) return 0;
  const std::ptrdiff_t period = 2 * (n - 1), r = ((at % period) + period) % period;
  return r < n ? r : period - r;
}

Result<void> pad(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto given, op.opset < 11 ? Result<std::vector<std::int64_t>>(op.integers("pads")) : op.ints(1));
  std::vector<std::int64_t> axes, begin(x.rank(), 0), end(x.rank(), 0);
  if (op.opset >= 18 && op.has(3)) {
    LOOM_TRY(axes, op.ints(3));
  } else {
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  }
  if (given.size() != 2 * axes.size())
    return op.refuse(Code::ShapeMismatch, "{} pads for {} axes", given.size(), axes.size());
  const std::string mode = op.text("mode", "constant");
  Dims dims = x.dims;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(axes[i], x.rank()));
    begin[axis] = given[i], end[axis] = given[axes.size() + i];
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    if (begin[axis] > kMost || end[axis] > kMost || begin[axis] < -kMost || end[axis] < -kMost)
      return op.refuse(Code::SizeOverflow, "pads of {} and {}", begin[axis], end[axis]);
    const std::int64_t length = static_cast<std::int64_t>(x.dims[axis]) + begin[axis] + end[axis];
    if (length < 0 || (mode != "constant" && x.dims[axis] == 0 && length > 0))
      return op.refuse(Code::ShapeMismatch, "pads of {} and {} on {}", begin[axis], end[axis], x.dims[axis]);
    dims[axis] = static_cast<std::size_t>(length);
  }
  if (op.has(2) && (op.in(2).elements() != 1 || op.in(2).type != x.type))
    return op.refuse(Code::ShapeMismatch, "a constant of {} {}", name_of(op.in(2).type), text_of(op.in(2).dims));
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  const auto own = row_major_strides(x.dims);
  const auto is_zero = [](double fill) { return fill == 0 && !std::signbit(fill); };  // what a card fills with
  const bool fills_zero =
      op.opset < 11 ? is_zero(op.number("value", 0)) : !op.has(2) || (op.is_known(2) && is_zero(op.in(2).number(0)));
  if (op.is_on_card() && (mode != "constant" || fills_zero))
    return take_by_table(op, *y, [&](std::size_t i) {
      std::ptrdiff_t from = 0;
      for (std::size_t axis = x.rank(); axis-- > 0; i /= dims[axis]) {
        const std::ptrdiff_t at = source_of(static_cast<std::ptrdiff_t>(i % dims[axis]) - begin[axis],
                                            static_cast<std::ptrdiff_t>(x.dims[axis]), mode);
        if (at < 0) return std::ptrdiff_t{-1};
        from += at * static_cast<std::ptrdiff_t>(own[axis]);
      }
      return from;
    });
  if (op.measures()) return {};
  with_store(store_of(x.type), [&]<class T>(T) {
    const T fill = op.opset < 11 ? stored<T>(op.number("value", 0)) : op.has(2) ? op.in(2).as<T>()[0] : T{};
    if (y->elements() == 0) return;
    const std::size_t cols = y->rank() == 0 ? 1 : dims.back(), rows = y->elements() / cols;
    for_rows(op.exec, rows, cols, [&](std::size_t row) {
      std::ptrdiff_t from = 0;
      std::size_t rest = row;
      bool inside = true;
      for (std::size_t axis = y->rank() == 0 ? 0 : y->rank() - 1; axis-- > 0;) {
        const std::ptrdiff_t at = source_of(static_cast<std::ptrdiff_t>(rest % dims[axis]) - begin[axis],
                                            static_cast<std::ptrdiff_t>(x.dims[axis]), mode);
        rest /= dims[axis], inside &= at >= 0;
        from += at * static_cast<std::ptrdiff_t>(own[axis]);
      }
      for (std::size_t i = 0; i < cols; ++i) {
        const std::ptrdiff_t at = y->rank() == 0 ? 0
                                                 : source_of(static_cast<std::ptrdiff_t>(i) - begin.back(),
                                                             static_cast<std::ptrdiff_t>(x.dims.back()), mode);
        y->as<T>()[row * cols + i] = inside && at >= 0 ? x.as<T>()[from + at] : fill;
      }
    });
  });
  return {};
}

Result<void> range(Op& op) {
  double first = 0, limit = 0, step = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    LOOM_TRY((i == 0 ? first : i == 1 ? limit : step), op.known_number(i));
  }
  if (op.in(1).type != op.in(0).type || op.in(2).type != op.in(0).type)
    return op.refuse(Code::CorruptData, "of {} by {}", name_of(op.in(0).type), name_of(op.in(2).type));
  if (!(step != 0)) return op.refuse(Code::InvalidConfig, "a step of 0");
  const double length = __builtin_ceil((limit - first) / step);
  if (!(length < 0x1p40)) return op.refuse(Code::SizeOverflow, "from {} to {} by {}", first, limit, step);
  LOOM_TRY(Value* const y, op.out(0, op.in(0).type, {length > 0 ? static_cast<std::size_t>(length) : 0}));
  if (op.measures()) return {};
  with_store(store_of(y->type), [&]<class T>(T) {
    for (std::size_t i = 0; i < y->elements(); ++i)
      y->as<T>()[i] = plus(op.in(0).as<T>()[0], times(static_cast<T>(i), op.in(2).as<T>()[0]));
  });
  round_to_type(*y);
  return {};
}

Result<void> eye_like(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() != 2) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const std::int64_t type = op.integer("dtype", static_cast<std::int64_t>(x.type)), k = op.integer("k", 0);
  if (type < 0 || type > 255 || !is_known(static_cast<Type>(type)))
    return op.refuse(Code::Unsupported, "of type {}", type);
  LOOM_TRY(Value* const y, op.out(0, static_cast<Type>(type), x.dims));
  if (op.measures()) return {};
  with_store(store_of(y->type), [&]<class T>(T) {
    for (std::size_t r = 0; r < x.dims[0]; ++r)
      for (std::size_t c = 0; c < x.dims[1]; ++c)
        y->as<T>()[r * x.dims[1] + c] = static_cast<std::int64_t>(c) - static_cast<std::int64_t>(r) == k ? T{1} : T{};
  });
  return {};
}

Result<void> trilu(Op& op) {
  const Value& x = op.in(0);
  if (x.rank() < 2) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  std::int64_t k = 0;
  if (op.has(1)) {
    LOOM_TRY(const auto list, op.ints(1));
    k = list.empty() ? 0 : list[0];
  }
  const bool upper = op.integer("upper", 1) != 0;
  LOOM_TRY(Value* const y, op.out_like(0, x));
  const std::size_t rows = x.dims[x.rank() - 2], cols = x.dims.back();
  return take_by_table(op, *y, [&](std::size_t i) {
    const auto r = static_cast<std::int64_t>(i / cols % rows), c = static_cast<std::int64_t>(i % cols);
    return (upper ? c - r >= k : c - r <= k) ? static_cast<std::ptrdiff_t>(i) : -1;
  });
}

// Blocks of channels and blocks of the plane change places: both are a transposition of six axes.
Result<void> blocks(Op& op, bool to_space) {
  const Value& x = op.in(0);
  const std::int64_t given = op.integer("blocksize", 1);
  if (x.rank() != 4 || given < 1) return op.refuse(Code::ShapeMismatch, "of {}", text_of(x.dims));
  const auto b = static_cast<std::size_t>(given);
  const std::size_t n = x.dims[0], c = x.dims[1], h = x.dims[2], w = x.dims[3];
  if (b > 65536 || (to_space ? c % (b * b) != 0 : h % b != 0 || w % b != 0))
    return op.refuse(Code::ShapeMismatch, "blocks of {} of {}", b, text_of(x.dims));
  Dims inner;
  std::array<std::size_t, 6> order{};
  const bool channels_first = op.text("mode", "DCR") == "CRD";  // a channel's blocks are neighbours in depth
  if (to_space && channels_first)
    inner = {n, c / (b * b), b, b, h, w}, order = {0, 1, 4, 2, 5, 3};
  else if (to_space)
    inner = {n, b, b, c / (b * b), h, w}, order = {0, 3, 4, 1, 5, 2};
  else if (channels_first)
    inner = {n, c, h / b, b, w / b, b}, order = {0, 1, 3, 5, 2, 4};
  else
    inner = {n, c, h / b, b, w / b, b}, order = {0, 3, 5, 1, 2, 4};
  const auto own = row_major_strides(inner);
  LOOM_TRY(Value* const y,
           op.out(0, x.type, to_space ? Dims{n, c / (b * b), h * b, w * b} : Dims{n, c * b * b, h / b, w / b}));
  op.has_form(1);
  if (op.measures() && !op.is_on_card()) return {};
  Value wide = *y;
  wide.dims.clear();
  std::vector<std::size_t> strides;
  for (const std::size_t o : order) wide.dims.push_back(inner[o]), strides.push_back(own[o]);
  gather_by_strides(op.exec, x, wide, strides);
  return {};
}
Result<void> depth_to_space(Op& op) { return blocks(op, true); }
Result<void> space_to_depth(Op& op) { return blocks(op, false); }

// Crops or pads around the centre.
Result<void> center_crop_pad(Op& op) {
  const Value& x = op.in(0);
  LOOM_TRY(const auto wanted, op.ints(1));
  auto axes = op.integers("axes");
  if (axes.empty())
    for (std::size_t i = 0; i < x.rank(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  if (axes.size() != wanted.size())
    return op.refuse(Code::ShapeMismatch, "{} extents for {} axes", wanted.size(), axes.size());
  Dims dims = x.dims;
  std::vector<std::int64_t> shift(x.rank(), 0);  // of x from y
  for (std::size_t i = 0; i < axes.size(); ++i) {
    LOOM_TRY(const std::size_t axis, op.axis(axes[i], x.rank()));
    if (wanted[i] < 0) return op.refuse(Code::ShapeMismatch, "an extent of {}", wanted[i]);
    const auto n = static_cast<std::int64_t>(x.dims[axis]);
    shift[axis] = wanted[i] > n ? -((wanted[i] - n) / 2) : (n - wanted[i]) / 2;
    dims[axis] = static_cast<std::size_t>(wanted[i]);
  }
  LOOM_TRY(Value* const y, op.out(0, x.type, dims));
  const auto own = row_major_strides(x.dims), strides = row_major_strides(dims);
  return take_by_table(op, *y, [&](std::size_t i) {
    std::ptrdiff_t from = 0;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
      const std::int64_t at = static_cast<std::int64_t>(i / strides[axis] % dims[axis]) + shift[axis];
      if (at < 0 || at >= static_cast<std::int64_t>(x.dims[axis])) return std::ptrdiff_t{-1};
      from += static_cast<std::ptrdiff_t>(static_cast<std::size_t>(at) * own[axis]);
    }
    return from;
  });
}

}  // namespace

std::span<const OpRow> shape_rows() {
  static constexpr std::array kRows{
      OpRow{"Shape", shape},
      OpRow{"Size", size},
      OpRow{"Constant", constant, false, 0},
      OpRow{"ConstantOfShape", constant_of_shape},
      OpRow{"Reshape", reshape, true, 2},
      OpRow{"Flatten", flatten, true},
      OpRow{"Squeeze", squeeze, true},
      OpRow{"Unsqueeze", unsqueeze, true},
      OpRow{"Transpose", transpose},
      OpRow{"Expand", expand, false, 2},
      OpRow{"Tile", tile, false, 2},
      OpRow{"Concat", concat},
      OpRow{"Split", split},
      OpRow{"Slice", slice},
      OpRow{"Pad", pad},
      OpRow{"Range", range, false, 3},
      OpRow{"EyeLike", eye_like},
      OpRow{"Trilu", trilu},
      OpRow{"DepthToSpace", depth_to_space},
      OpRow{"SpaceToDepth", space_to_depth},
      OpRow{"CenterCropPad", center_crop_pad, false, 2},
  };
  return kRows;
}

}  // namespace loom::graph
