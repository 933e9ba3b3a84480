#include "layers/graph/graph_values.h"

#include "graph/on_card.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

using graph::Plan;
using graph::Type;
using graph::Value;

namespace {

// Numbers between a tensor of the network and a value of the graph.
void convert_in(const Exec& exec, const ConstTensor& x, const graph::Value& to) {
  const std::size_t n = to.elements();
  if (graph::store_of(to.type) != graph::Store::i64)
    convert(exec, x, {to.data, 1, n, graph::store_of(to.type) == graph::Store::f64 ? Element::f64 : Element::f32});
  else
    for (std::size_t i = 0; i < n; ++i) to.as<std::int64_t>()[i] = graph::stored<std::int64_t>(read_element(x, i));
  graph::round_to_type(to);
}
void convert_out(const Exec& exec, const graph::Value& from, const Tensor& y) {
  const std::size_t n = from.elements();
  if (graph::store_of(from.type) == graph::Store::i64)
    with_element(y.element, [&]<class T>() {
      for (std::size_t i = 0; i < n; ++i) y.as<T>()[i] = static_cast<T>(from.as<std::int64_t>()[i]);
    });
  else
    convert(exec, {from.data, 1, n, graph::store_of(from.type) == graph::Store::f64 ? Element::f64 : Element::f32}, y);
}

// Copies a tensor of the card into host scratch.
ConstTensor brought(const Run& run, const ConstTensor& x) {
  const std::size_t bytes = x.rows * x.cols * bytes_of(x.element);
  std::byte* const here = run.arena().note<std::byte>(bytes);
  if (!run.rehearsal())
    if (auto done = run.arena().device()->read_in_pass(static_cast<const std::byte*>(x.data), {here, bytes}); !done)
      run.fail(std::move(done).error());
  return {here, x.rows, x.cols, x.element};
}

}  // namespace

Result<void> give_input(const Run& run, graph::Work& work, const Plan& plan, std::size_t input, const ConstTensor& x) {
  Value in = plan.values[plan.inputs[input]];
  const bool fits = in.type == (x.element == Element::f64 ? Type::f64 : Type::f32), is_on_device = run.exec.records();
  if (fits) {
    work.give(plan.inputs[input], x.data, is_on_device);
    return {};
  }
  in.data = is_on_device ? run.arena().note<std::byte>(in.bytes()) : run.take<std::byte>(in.bytes());
  const ConstTensor from = is_on_device ? brought(run, x) : x;
  Arena none;
  if (!run.rehearsal()) convert_in({run.exec.pool, run.exec.kernels, none}, from, in);
  work.give(plan.inputs[input], in.data, false);
  return {};
}

Result<void> take_output(const Run& run, const Plan& plan, graph::Work& work, std::size_t output, const Tensor& y) {
  const std::size_t slot = plan.outputs[output];
  Arena none;
  const Exec here{run.exec.pool, run.exec.kernels, none};
  if (!run.exec.records()) {
    if (!run.rehearsal()) convert_out(here, work.values[slot], y);
    return {};
  }
  if (plan.values[slot].type == Type::f32) {
    if (run.rehearsal()) {
      copy(run, y, y);
      return {};
    }
    LOOM_TRY(const Value* const value, graph::device_value(run.exec, plan, work, slot));
    copy(run, {value->data, y.rows, y.cols, y.element}, y);
    return {};
  }
  const Tensor to{run.arena().note<std::byte>(y.bytes()), y.rows, y.cols, y.element};
  if (run.rehearsal()) return {};
  LOOM_TRY(const Value* const value, graph::host_value(run.exec, plan, work, slot));
  convert_out(here, *value, to);
  return run.arena().device()->write_in_pass(static_cast<std::byte*>(y.data), {to.as<std::byte>(), to.bytes()});
}

}  // namespace loom
