#pragma once
// Shared by the operations of gradients (graph/gradient.h).

#include <array>

#include "graph/gradient.h"
#include "ops/for_rows.h"

namespace loom::graph {

// The inputs of a node "gradient of OP" by what they are.
class Backward {
 public:
  explicit Backward(Op& of) : op(of), num_ins(of.node.outputs.size()), num_outs((of.ins.size() - num_ins) / 2) {}

  Op& op;
  const std::size_t num_ins, num_outs;  // of OP

  bool has_x(std::size_t i) const { return i < num_ins && op.ins[i] != nullptr; }
  const Value& x(std::size_t i) const { return *op.ins[i]; }
  const Value& y(std::size_t i = 0) const { return *op.ins[num_ins + i]; }
  // The gradient of output i, null where none came.
  const Value* dy(std::size_t i) const { return op.ins[num_ins + num_outs + i]; }
  const Value& dy() const { return *dy(0); }
  bool wants(std::size_t i) const { return i < num_ins && op.wants(i); }
  // The gradient of input i, declared.
  Result<Value*> dx(std::size_t i) const { return op.out_like(i, x(i)); }
  std::string_view name() const { return std::string_view(op.node.op).substr(kGradientOf.size()); }
  // OP with its inputs alone, for what says its geometry.
  Op forward() const {
    Op forward(op.node, op.opset, op.exec);
    forward.ins.assign(op.ins.begin(), op.ins.begin() + static_cast<std::ptrdiff_t>(num_ins));
    return forward;
  }
  // Memory of the step for a value.
  Value scratch(const Dims& dims, Type type) const {
    Value value;
    value.type = type, value.dims = dims;
    value.data = op.exec.arena.take<std::byte>(count(dims) * bytes_of(store_of(type)));
    return value;
  }
};

// Calls f with a float or a double, as the value keeps its numbers.
template <class F>
decltype(auto) with_floats(const Value& value, F&& f) {
  return store_of(value.type) == Store::f64 ? f(double{}) : f(float{});
}

// to[j] = the sum of the elements of `from` to which element j stretches, in f64 in their order, rounded once; rows of
// all leading axes by chain64 (add_column_sums). Both have one type.
void sum_to(const Exec& exec, const Value& from, const Value& to);

// f(i, offsets) for all elements i of `dims`, where offset k walks by strides[k]; threads divide the rows.
inline constexpr std::size_t kMostStretched = 8;
template <class F>
void for_stretched(const Exec& exec, const Dims& dims, std::span<const std::vector<std::size_t>> strides, F&& f) {
  const std::size_t n = count(dims), cols = dims.empty() ? 1 : dims.back();
  if (n == 0) return;
  for_rows(exec, n / cols, cols, [&](std::size_t row) {
    std::array<std::size_t, kMostStretched> at{};
    std::size_t rest = row;
    for (std::size_t axis = dims.empty() ? 0 : dims.size() - 1; axis-- > 0; rest /= dims[axis])
      for (std::size_t k = 0; k < strides.size(); ++k) at[k] += rest % dims[axis] * strides[k][axis];
    for (std::size_t c = 0; c < cols; ++c) {
      f(row * cols + c, at);
      for (std::size_t k = 0; k < strides.size() && !dims.empty(); ++k) at[k] += strides[k].back();
    }
  });
}

}  // namespace loom::graph
