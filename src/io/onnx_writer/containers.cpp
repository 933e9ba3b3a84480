// Layers with layers inside, links, and the cells of a grid.

#include <algorithm>
#include <array>
#include <limits>

#include "io/onnx_writer/emitter.h"
#include "layers/parallel/parallel.h"
#include "layers/residual/residual.h"

namespace loom::onnx_out {
namespace {

Value added(Emitter& emit, const std::string& path, const Value& a, const Value& b) {
  const Value left = emit.as_float(path, a), right = emit.as_float(path, b);
  return emit.op(path, "Add", left, {left.name, right.name});
}

// The child whose input a residual child adds; nothing where the skip comes from elsewhere.
std::optional<std::size_t> skip_of(const Layer& child, std::size_t index) {
  const Residual* residual = layer_as<Residual>(child);
  if (residual == nullptr || child.common.is_disabled) return std::nullopt;
  const SkipFrom& from = residual->from();
  if (from.kind == SkipFrom::Kind::Default || from.kind == SkipFrom::Kind::Previous) return index - 1;
  if (from.kind == SkipFrom::Kind::Child) return from.child;
  return std::nullopt;
}

struct Child {
  std::string path;
  Layer* layer;
};

std::vector<Child> children_of(const Part& part, std::string_view key) {
  std::vector<Child> found;
  part.layer.visit_children([&](const std::string& below, Layer& child) {
    if (below.starts_with(key)) found.push_back({part.path + "." + below, &child});
  });
  return found;
}

}  // namespace

Result<Value> emit_sequential(Emitter& emit, const Part& part, const Value& x) {
  const std::vector<Child> children = children_of(part, "sequential_layers");
  std::vector<Value> inputs;
  Value current = x;
  for (std::size_t i = 0; i < children.size(); ++i) {
    inputs.push_back(current);
    if (children[i].layer->common.is_disabled) continue;
    if (const auto source = skip_of(*children[i].layer, i)) {
      current = added(emit, children[i].path, current, inputs[*source]);
      continue;
    }
    LOOM_TRY(current, emit.layer(children[i].path, *children[i].layer, current));
  }
  return part.settings.flag("residual") ? added(emit, part.path, x, current) : current;
}

Result<Value> emit_residual(Emitter& emit, const Part& part, const Value& x) {
  const Residual* residual = layer_as<Residual>(part.layer);
  switch (residual->from().kind) {
    case SkipFrom::Kind::External: return unsupported(part.path, "residual: the skip is a second input");
    case SkipFrom::Kind::Cell: {
      LOOM_TRY(const std::size_t cell, emit.cell_at(residual->from().cell));
      return added(emit, part.path, x, emit.output_of(cell));
    }
    default: return x;
  }
}

Result<Value> emit_lora(Emitter& emit, const Part& part, const Value& x) {
  return emit.layer(part.path + ".base_layer", *child_of(part, "base_layer"), x);
}

Result<Value> emit_metacognition(Emitter& emit, const Part& part, const Value& x) {
  if (part.settings.text("meta_effect") != "none")
    return unsupported(part.path, "metacognition with an effect depends on what a session remembers");
  return emit.layer(part.path + ".meta_observed_layer", *child_of(part, "meta_observed_layer"), x);
}

Result<Value> emit_share(Emitter& emit, const Part& part, const Value& x) {
  Layer* const target = layer_as<Share>(part.layer)->target_in(emit.wiring());
  return target == nullptr ? Result<Value>(x) : emit.layer(part.path, *target, x);
}

namespace {

using Combine = ParallelConfig::Combine;

Result<Value> concatenated(Emitter& emit, const Part& part, const std::vector<Value>& outputs, bool flatten,
                           const AxisSizes& given) {
  std::vector<std::string> names;
  std::size_t extent = 0;
  const std::size_t axis = flatten ? 1 : given.at(0, outputs[0].shape.rank() - 1);
  if (axis == 0) return unsupported(part.path, "parallel: concat_axis 0 is the axis of the batch");
  for (const Value& output : outputs) {
    Value own = output;
    if (flatten) {
      LOOM_TRY(const Shape flat, Shape::create(std::array{own.shape[0], own.shape.elements() / own.shape[0]}));
      own = emit.reshape(part.path, own, flat);
    }
    names.push_back(own.name);
    extent += own.shape[axis];
  }
  Shape shape = outputs[0].shape;
  if (flatten) {
    LOOM_TRY(shape, Shape::create(std::array{shape[0], extent}));
  }
  return emit.op(part.path, "Concat", with_extent(shape, axis, extent), names,
                 {{"axis", static_cast<std::int64_t>(axis)}});
}

// The branches' outputs by cell of the scatter grid, zeros in cells without a branch.
Result<Value> scattered(Emitter& emit, const Part& part, const std::vector<Child>& branches,
                        const std::vector<Value>& outputs, const Shape& out) {
  const ParallelConfig& c = layer_as<Parallel>(part.layer)->config();
  const bool given = c.depth != 0 || c.rows != 0 || c.cols != 0;
  const std::size_t depth = std::max<std::size_t>(c.depth, 1), rows = std::max<std::size_t>(c.rows, 1),
                    cols = given ? std::max<std::size_t>(c.cols, 1) : std::max<std::size_t>(branches.size(), 1);
  const Shape branch = outputs[0].shape;
  std::vector<std::optional<Value>> cells(depth * rows * cols);
  for (std::size_t i = 0; i < branches.size(); ++i) {
    const std::vector<std::size_t>& to = branches[i].layer->common.scatter_to;
    std::optional<Value>& cell = cells[to.empty() ? i : (to[0] * rows + to[1]) * cols + to[2]];
    cell = cell ? added(emit, part.path, *cell, outputs[i]) : outputs[i];
  }
  std::vector<std::string> names;
  names.reserve(cells.size());
  for (const auto& cell : cells) names.push_back(cell ? cell->name : emit.zeros(part.path, outputs[0], branch).name);
  LOOM_TRY(const Shape flat, branch.with_cols(cells.size() * branch.cols()));
  const Value all = emit.op(part.path, "Concat", flat, names, {{"axis", std::int64_t{-1}}});
  if (c.scatter_layout != ParallelConfig::Layout::ChannelsFirst) return emit.reshape(part.path, all, out);
  std::vector<std::size_t> extents(branch.extents().begin(), branch.extents().end());
  extents.back() = cells.size();
  extents.push_back(branch.cols());
  LOOM_TRY(const Shape wide, Shape::create(extents));
  std::vector<std::int64_t> order(extents.size());
  for (std::size_t a = 0; a < order.size(); ++a) order[a] = static_cast<std::int64_t>(a);
  std::swap(order[order.size() - 2], order.back());
  LOOM_TRY(const Value turned, emit.transpose(part.path, emit.reshape(part.path, all, wide), order));
  return emit.reshape(part.path, turned, out);
}

// Shares of the branches by the gate [..., n], 0 for those that are left out.
Result<Value> gate_shares(Emitter& emit, const Part& part, const std::vector<Child>& branches, const Value& x) {
  const ParallelConfig& c = layer_as<Parallel>(part.layer)->config();
  Layer* const gate = child_of(part, "filter_gate");
  LOOM_TRY(Value z, emit.layer(part.path + ".filter_gate", *gate, x));
  const std::size_t rank = z.shape.rank(), n = branches.size();
  if (c.gate_scope == ParallelConfig::Scope::Sample && rank > 2) {
    std::vector<std::int64_t> middle;
    for (std::size_t a = 1; a + 1 < rank; ++a) middle.push_back(static_cast<std::int64_t>(a));
    const Shape one = *Shape::create(std::array{z.shape[0], n});
    z = emit.op(part.path, "ReduceMean", one, {z.name}, {{"axes", middle}, {"keepdims", std::int64_t{0}}});
  }
  const bool is_given = gate->last_operation(emit.wiring()).kind_row().gives_distribution;
  if (!is_given && c.gate_temperature != 1) z = emit.with(part.path, "Div", z, static_cast<float>(c.gate_temperature));
  const float none = -std::numeric_limits<float>::infinity();
  std::vector<float> allowed(n, 0);
  bool leaves_out = false;
  for (std::size_t i = 0; i < n; ++i)
    if (branches[i].layer->common.is_disabled) allowed[i] = none, leaves_out = true;
  Value chosen = z;
  if (leaves_out)
    chosen = emit.op(part.path, "Add", z, {z.name, emit.graph.floats(part.path + ".enabled", {{n}}, allowed)});
  if (c.top_k != 0 && c.top_k < n) {
    const auto top = emit.graph.nodes(part.path, "TopK",
                                      {chosen.name, emit.graph.ints({static_cast<std::int64_t>(c.top_k)})}, {}, 2);
    const std::string nothing = emit.op(part.path, "Mul", z, {z.name, emit.graph.scalar(0)}).name;
    const Value left = emit.with(part.path, "Add", {nothing, z.shape}, none);
    chosen = emit.op(part.path, "ScatterElements", z, {left.name, top[1], top[0]}, {{"axis", std::int64_t{-1}}});
    leaves_out = true;
  }
  if (!is_given) return emit.op(part.path, "Softmax", z, {chosen.name}, {{"axis", std::int64_t{-1}}});
  if (!leaves_out) return z;
  const Value kept = emit.op(part.path, "Relu", z, {chosen.name});
  const std::string sum =
      emit.graph.node(part.path, "ReduceSum", {kept.name, emit.graph.ints({-1})}, {{"keepdims", std::int64_t{1}}});
  return emit.op(part.path, "Div", z, {kept.name, sum});
}

Result<Value> filtered(Emitter& emit, const Part& part, const std::vector<Child>& branches,
                       const std::vector<std::optional<Value>>& outputs, const Value& x, const Shape& out) {
  LOOM_TRY(const Value shares, gate_shares(emit, part, branches, x));
  const std::size_t lead = shares.shape.rank() - 1;
  std::optional<Value> sum;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    if (!outputs[i]) continue;
    LOOM_TRY(Value share, emit.slice(part.path, shares, lead, i, i + 1));
    std::vector<std::size_t> extents(out.rank(), 1);
    for (std::size_t a = 0; a < std::min(lead, out.rank()); ++a) extents[a] = out[a];
    LOOM_TRY(const Shape wide, Shape::create(extents));
    share = emit.reshape(part.path, share, wide);
    const Value own = emit.op(part.path, "Mul", out, {outputs[i]->name, share.name});
    sum = sum ? emit.op(part.path, "Add", out, {sum->name, own.name}) : own;
  }
  return sum ? *sum : emit.zeros(part.path, x, out);
}

}  // namespace

Result<Value> emit_parallel(Emitter& emit, const Part& part, const Value& x) {
  const ParallelConfig& c = layer_as<Parallel>(part.layer)->config();
  const std::vector<Child> branches = children_of(part, "parallel_branches");
  if (branches.empty()) return x;
  const bool pieces = c.combine_mode == Combine::Concat || c.combine_mode == Combine::GridScatter;
  std::vector<std::optional<Value>> outputs(branches.size());
  std::vector<Value> parts;
  for (std::size_t i = 0; i < branches.size(); ++i) {
    Layer& branch = *branches[i].layer;
    if (branch.common.is_disabled && !pieces) continue;
    if (branch.common.is_disabled) {
      LOOM_TRY(const Shape shape, branch.wired_shape(emit.wiring(), x.shape));
      outputs[i] = emit.zeros(branches[i].path, x, shape);
    } else {
      LOOM_TRY(const Value y, emit.layer(branches[i].path, branch, x));
      outputs[i] = emit.as_float(branches[i].path, y);
    }
    parts.push_back(*outputs[i]);
  }
  LOOM_TRY(const Shape out, part.layer.wired_shape(emit.wiring(), x.shape));
  if (c.combine_mode == Combine::Concat) return concatenated(emit, part, parts, c.flatten, c.concat_axis);
  if (c.combine_mode == Combine::GridScatter) return scattered(emit, part, branches, parts, out);
  if (c.combine_mode == Combine::Filter) return filtered(emit, part, branches, outputs, x, out);
  if (parts.empty()) return emit.zeros(part.path, x, out);
  Value sum = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) sum = added(emit, part.path, sum, parts[i]);
  if (c.combine_mode == Combine::Avg && parts.size() > 1)
    sum = emit.with(part.path, "Mul", sum, 1.0f / static_cast<float>(parts.size()));
  return sum;
}

Result<std::size_t> Emitter::cell_at(const std::array<std::size_t, 4>& a) const {
  return network_.index_of({a[0], a[1], a[2], a[3]});
}

Result<Value> Emitter::cell(std::size_t index, const Value& before) {
  const Cell& cell = network_.cell(index);
  if (!cell.runs()) return before;
  Value x = before;
  const std::string path = Network::path(index);
  if (cell.is_fed()) {
    LOOM_TRY(const std::size_t from, network_.target_of(cell.link->share));
    const Value& fed = outputs_[from];
    switch (cell.link->share.merge()) {
      case Merge::Add: x = added(*this, path, x, fed); break;
      case Merge::Concat: {
        const Value own = as_float(path, x), other = as_float(path, fed);
        LOOM_TRY(const Shape shape, own.shape.with_cols(own.shape.cols() + other.shape.cols()));
        x = op(path, "Concat", shape, {own.name, other.name}, {{"axis", std::int64_t{-1}}});
        break;
      }
      default: x = fed;
    }
  }
  Layer* const operation = cell.operation();
  return operation == nullptr ? Result<Value>(x) : layer(path, *operation, x);
}

Result<Value> Emitter::cells(const Value& input) {
  Value current = input;
  for (std::size_t i = 0; i < network_.num_cells(); ++i) {
    LOOM_TRY(current, cell(i, current));
    outputs_.push_back(current);
  }
  return current;
}

}  // namespace loom::onnx_out
