#pragma once
// One operation of a run. A function of type OpFn declares the outputs and computes them: first it is called to measure
// (Op::measures: shapes and scratch memory, no numbers), then with memory for its outputs. It reads numbers that decide
// shapes with ints(), which fails for a number that only a run would know.

#include <functional>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "backend/exec.h"
#include "graph/model.h"
#include "simd/orders.h"

namespace loom::graph {

struct Fused;

// Packed forms of constant matrices, by address, extents, and whether the matrix is transposed: steps of an unrolled
// loop share them.
using Packs = std::map<std::tuple<const void*, std::size_t, std::size_t, bool>, std::shared_ptr<void>>;

class Op {
 public:
  Op(const Node& node_of_it, int opset_of_it, const Exec& on) : node(node_of_it), opset(opset_of_it), exec(on) {}

  const Node& node;
  const int opset;
  const Exec& exec;
  std::vector<const Value*> ins;  // null: left out
  std::vector<Value>* outs = nullptr;
  std::shared_ptr<void>* packed = nullptr;  // made of constant inputs once and for all; null: nothing may be packed
  Packs* packs = nullptr;                   // of constants that several operations read
  const Fused* fused = nullptr;             // of a step that stands for several operations
  std::size_t most_elements = Shape::kMaxElements;  // of an output
  bool is_first_input =
      false;  // set while it is measured: the output is the first input in the output's shape; nothing is run
  // Set while it is measured: the operation records its work on a graphics card. Bit i: input i is read on the card.
  std::uint64_t form = 0;
  // Source of each element (take_by_table()), a table of the plan.
  std::shared_ptr<const std::vector<std::int32_t>>* table = nullptr;
  bool needs_value = false;  // the error is about a number that only a run would know

  // Sets `form` if these inputs and all outputs have types of a card: f32, and words of 0 or 1 for truth values if the
  // operation knows them.
  void has_form(std::uint64_t inputs, bool knows_truth = false);
  bool is_on_card() const { return exec.records(); }
  // The card's copy of numbers that belong to `packed`.
  Result<const void*> placed(const std::vector<float>& numbers) const;
  bool measures() const { return exec.rehearsal(); }
  // Long loops check this and stop: the caller drops the outputs of a cancelled operation.
  bool is_cancelled() const { return exec.cancel != nullptr && exec.cancel->load(std::memory_order_relaxed); }
  std::size_t num_ins() const { return ins.size(); }
  bool has(std::size_t i) const { return i < ins.size() && ins[i] != nullptr; }
  const Value& in(std::size_t i) const { return *ins[i]; }
  bool wants(std::size_t i) const { return i < node.outputs.size() && !node.outputs[i].empty(); }
  // CorruptData unless the first `n` inputs exist.
  Result<void> expect(std::size_t n) const;

  // The output, declared where the operation is measured and checked where it runs.
  Result<Value*> out(std::size_t i, Type type, const Dims& dims);
  // An output whose numbers are known while a run is planned, whatever its inputs are.
  void know(std::size_t i, Value value) {
    if (i >= outs->size()) outs->resize(i + 1);
    value.known = true;
    (*outs)[i] = std::move(value);
  }
  Result<Value*> out_like(std::size_t i, const Value& like) { return out(i, like.type, like.dims); }

  // Whole numbers of an input that must be known before the run.
  Result<std::vector<std::int64_t>> ints(std::size_t i);
  Result<double> known_number(std::size_t i);
  bool is_known(std::size_t i) const { return has(i) && ins[i]->known; }

  std::int64_t integer(std::string_view key, std::int64_t fallback) const;
  double number(std::string_view key, double fallback) const;
  std::string text(std::string_view key, std::string_view fallback) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  bool has_attribute(std::string_view key) const { return node.find(key) != nullptr; }
  // An axis, counted from the end where it is negative. OutOfRange.
  Result<std::size_t> axis(std::int64_t value, std::size_t rank) const;
  // Axes from the input or, as older operations have them, from the attribute.
  Result<std::vector<std::int64_t>> ints_of(std::size_t i, std::string_view key);

  template <class... Args>
  [[nodiscard]] tl::unexpected<Error> refuse(Code code, fmt::format_string<Args...> text, Args&&... args) const {
    return fail(code, "{}", fmt::format(text, std::forward<Args>(args)...));
  }
};

using OpFn = Result<void> (*)(Op& op);

struct OpRow {
  std::string_view name;
  OpFn run;
  bool aliases = false;  // the output is the first input under another shape, whatever the shapes are
  std::size_t least_inputs = 1;
};

// The name in tables: "Conv", "com.microsoft.DynamicQuantizeLSTM".
std::string full_name(const Node& node);
// Null for an operation that Loom lacks.
const OpRow* find_op(const Node& node);
// Returns whether the node belongs to a gradient (graph/gradient.h); no file holds such nodes.
bool is_gradient(const Node& node);
const OpRow* gradient_op(const Node& node);
// Returns whether the planner handles the operation itself: those with bodies.
bool is_control(const Node& node);

std::span<const OpRow> elementwise_rows();
std::span<const OpRow> binary_rows();
std::span<const OpRow> shape_rows();
std::span<const OpRow> index_rows();
std::span<const OpRow> reduce_rows();
std::span<const OpRow> linear_rows();
std::span<const OpRow> spatial_rows();
std::span<const OpRow> norm_rows();
std::span<const OpRow> recurrent_rows();
std::span<const OpRow> quantize_rows();
std::span<const OpRow> resize_rows();
std::span<const OpRow> loss_rows();
std::span<const OpRow> attention_rows();
std::span<const OpRow> sampling_rows();
std::span<const OpRow> signal_rows();

// ---- what several files of operations share ----

// Numbers of a result as tensors keep them (numerics); whole numbers stay as they are.
using loom::snap;
inline std::int64_t snap(std::int64_t x) { return x; }

// The nearest whole number, the even one of two.
inline double nearest_even(double v) {
  const double down = __builtin_floor(v), part = v - down;
  if (part < 0.5) return down;
  if (part > 0.5) return down + 1;
  return down - 2 * __builtin_floor(down / 2) == 0 ? down : down + 1;
}

// Sums and products of whole numbers wrap, as those of ONNX do.
template <class T>
T plus(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  return a + b;
}
template <class T>
T times(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  return a * b;
}

// A number as a store of T holds it: whole numbers are cut towards zero, and beyond their range it is the nearest one,
// 0 for NaN.
template <class T, class From>
T stored(From x) {
  if constexpr (std::is_integral_v<T> && std::is_floating_point_v<From>) {
    constexpr From kEdge = 0x1p63;
    if (x != x) return 0;
    if (x >= kEdge) return std::numeric_limits<T>::max();
    if (x < -kEdge) return std::numeric_limits<T>::min();
  }
  return static_cast<T>(x);
}

// y[i], the output, is element source(i) of the first input, 0 for -1. On a card by a table that is made with the plan.
Result<void> take_by_table(Op& op, Value& y, const std::function<std::ptrdiff_t(std::size_t)>& source);

// Rounds what has been written to the value's type, where its store is wider.
void round_to_type(const Value& value);

// The shape that two shapes stretch to. ShapeMismatch.
Result<Dims> broadcast(const Dims& a, const Dims& b);
// For each axis of `to`, the stride of `from` in elements; 0 where it is stretched.
std::vector<std::size_t> stretched_strides(const Dims& from, const Dims& to);
std::vector<std::size_t> row_major_strides(const Dims& dims);

// f(index in the output, offset), over all elements of `dims` in order, where offset walks by `strides`.
template <class F>
void walk(const Dims& dims, std::span<const std::size_t> strides, F&& f) {
  const std::size_t n = count(dims);
  std::vector<std::size_t> at(dims.size(), 0);
  std::size_t offset = 0;
  for (std::size_t i = 0; i < n; ++i) {
    f(i, offset);
    for (std::size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++at[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      at[axis] = 0;
    }
  }
}

// The value as a tensor of Loom's operations: [rows, cols] with `cols` elements in a row.
inline Element element_of_value(const Value& v) { return store_of(v.type) == Store::f64 ? Element::f64 : Element::f32; }
inline ConstTensor tensor_of(const Value& v, std::size_t cols) {
  return {v.data, cols == 0 ? 0 : v.elements() / cols, cols, element_of_value(v)};
}
inline Tensor tensor_of(Value& v, std::size_t cols) {
  return {v.data, cols == 0 ? 0 : v.elements() / cols, cols, element_of_value(v)};
}

}  // namespace loom::graph
