// Operations with bodies: a condition chooses a branch while a run is planned, loops are unrolled.

#include <algorithm>
#include <cstring>
#include <limits>

#include "graph/planner.h"

namespace loom::graph {
namespace {

const Body* body_of(const Node& node, std::string_view key) {
  const Attribute* const a = node.find(key);
  return a != nullptr ? a->body.get() : nullptr;
}

}  // namespace

Result<void> Planner::run_if(const Node& node, Scope& scope, const std::vector<int>& ins) {
  if (ins.empty() || ins[0] < 0) return fail(Code::CorruptData, "no condition");
  const Value condition = value(ins[0]);
  if (!condition.known) {
    needs_value_ = true;
    return fail(Code::Unsupported, "its condition is known only in a run");
  }
  if (condition.elements() != 1) return fail(Code::ShapeMismatch, "a condition of shape {}", text_of(condition.dims));
  const Body* const body = body_of(node, condition.number(0) != 0 ? "then_branch" : "else_branch");
  if (body == nullptr) return fail(Code::CorruptData, "a branch is missing");
  Scope inner{&scope};
  LOOM_TRY_VOID(add_constants(*body, inner));
  LOOM_TRY_VOID(run_body(*body, inner));
  LOOM_TRY(const std::vector<int> outputs, outputs_of(*body, inner));
  if (outputs.size() < node.outputs.size()) return fail(Code::CorruptData, "a branch of {} outputs", outputs.size());
  for (std::size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      scope.names[node.outputs[i]] = condition.constant ? outputs[i] : of_this_plan(outputs[i]);
  return {};
}

Result<int> Planner::run_made(Node node, const std::vector<int>& ins) {
  const auto kept = std::make_shared<const Node>(std::move(node));
  plan_->made.push_back(kept);
  Scope scope;
  ++unrolled_;
  auto done = run_op(*kept, scope, ins);
  --unrolled_;
  if (!done) return tl::make_unexpected(std::move(done).error());
  return scope.find(kept->outputs[0]);
}

namespace {

// A node of one output that settings alone tell from others of its kind.
Node made_node(std::string op, std::string_view key, const Attribute& setting) {
  Node node;
  node.op = std::move(op), node.name = "of a loop", node.outputs = {"made"};
  node.attributes.emplace_back(key, setting);
  return node;
}
Attribute whole_number(std::int64_t value) {
  Attribute a;
  a.kind = Attribute::Kind::integer, a.integer = value;
  return a;
}
Attribute whole_numbers(std::vector<std::int64_t> values) {
  Attribute a;
  a.kind = Attribute::Kind::integers, a.integers = std::move(values);
  return a;
}

}  // namespace

// All parts have one shape: they are put after one another on a new axis, by steps where a run alone knows them.
Result<int> Planner::stacked(std::vector<int> parts, std::int64_t axis, bool reversed) {
  if (parts.empty()) return fail(Code::Unsupported, "a scan output of no iteration");
  if (reversed) std::ranges::reverse(parts);
  const Value first = value(parts[0]);
  bool are_known = true;
  for (const int part : parts) {
    are_known = are_known && value(part).known;
    if (value(part).dims != first.dims || value(part).type != first.type)
      return fail(Code::ShapeMismatch, "scan outputs of shapes {} and {}", text_of(first.dims),
                  text_of(value(part).dims));
  }
  const auto rank = static_cast<std::int64_t>(first.rank());
  if (axis < -rank - 1 || axis > rank) return fail(Code::OutOfRange, "a scan output on axis {}", axis);
  if (axis < 0) axis += rank + 1;
  if (!are_known) {
    for (int& part : parts) {
      LOOM_TRY(part, run_made(made_node("Unsqueeze", "axes", whole_numbers({axis})), {part}));
    }
    return run_made(made_node("Concat", "axis", whole_number(axis)), parts);
  }
  Dims dims = first.dims;
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), parts.size());
  LOOM_TRY(Value whole, Value::create(first.type, dims));
  LOOM_TRY_VOID(count_bytes(whole));
  const std::size_t outer = count(std::span(first.dims).first(static_cast<std::size_t>(axis)));
  const std::size_t inner = first.bytes() / std::max<std::size_t>(outer, 1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Value& part = value(parts[i]);
    for (std::size_t o = 0; o < outer && inner != 0; ++o)
      std::memcpy(whole.as<std::byte>() + (o * parts.size() + i) * inner, part.as<std::byte>() + o * inner, inner);
  }
  return add(std::move(whole), std::ranges::any_of(parts, [&](int part) { return is_given(part); }));
}

Result<void> Planner::run_loop(const Node& node, Scope& scope, const std::vector<int>& ins) {
  const Body* const body = body_of(node, "body");
  if (body == nullptr || body->inputs.size() < 2) return fail(Code::CorruptData, "a loop without a body");
  const auto known_flag = [&](int slot) -> Result<std::int64_t> {
    if (!value(slot).known) {
      needs_value_ = true;
      return fail(Code::Unsupported, "how often it runs is known only in a run");
    }
    if (value(slot).elements() != 1) return fail(Code::ShapeMismatch, "a count or condition of several numbers");
    return stored<std::int64_t>(value(slot).number(0));
  };
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (!ins.empty() && ins[0] >= 0) {
    LOOM_TRY(most, known_flag(ins[0]));
  }
  bool goes_on = true;
  if (ins.size() > 1 && ins[1] >= 0) {
    LOOM_TRY(goes_on, known_flag(ins[1]));
  }
  const std::size_t carried = body->inputs.size() - 2;
  if (ins.size() < carried + 2 || body->outputs.size() < carried + 1)
    return fail(Code::CorruptData, "{} inputs for a body of {}", ins.size(), body->inputs.size());
  std::vector<int> state(ins.begin() + 2, ins.begin() + 2 + static_cast<std::ptrdiff_t>(carried));
  std::vector<std::vector<int>> scans(body->outputs.size() - 1 - carried);
  ++unrolled_;
  for (std::int64_t i = 0; i < most && goes_on; ++i) {
    Scope inner{&scope};
    LOOM_TRY(Value index, Value::create(Type::i64, {}));
    *index.as<std::int64_t>() = i;
    LOOM_TRY(Value flag, Value::create(Type::boolean, {}));
    *flag.as<std::int64_t>() = 1;
    inner.names[body->inputs[0].name] = add(std::move(index));
    inner.names[body->inputs[1].name] = add(std::move(flag));
    for (std::size_t k = 0; k < carried; ++k) inner.names[body->inputs[k + 2].name] = state[k];
    LOOM_TRY_VOID(add_constants(*body, inner));
    LOOM_TRY_VOID(run_body(*body, inner));
    if (++nodes_ > kMostNodes) return fail(Code::LimitExceeded, "a plan of more than {} operations", kMostNodes);
    LOOM_TRY(const std::vector<int> outputs, outputs_of(*body, inner));
    LOOM_TRY(goes_on, known_flag(outputs[0]));
    for (std::size_t k = 0; k < carried; ++k) state[k] = outputs[k + 1];
    for (std::size_t k = 0; k < scans.size(); ++k) scans[k].push_back(outputs[1 + carried + k]);
  }
  --unrolled_;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k < carried) {
      scope.names[node.outputs[k]] = of_this_plan(state[k]);
    } else if (k - carried < scans.size()) {
      LOOM_TRY(scope.names[node.outputs[k]], stacked(std::move(scans[k - carried]), 0, false));
    }
  }
  return {};
}

namespace {

// Reads an attribute of a Scan for its inputs or outputs: a number for each, or none, which stands for zeros.
Result<std::vector<std::int64_t>> numbers_of(const Node& node, std::string_view key, std::size_t n) {
  const Attribute* const a = node.find(key);
  if (a == nullptr || a->integers.empty()) return std::vector<std::int64_t>(n, 0);
  if (a->integers.size() == n) return a->integers;
  return fail(Code::InvalidConfig, "{} {} where {} are expected", a->integers.size(), key, n);
}

}  // namespace

Result<Planner::ScanInputs> Planner::scan_inputs_of(const Node& node, const std::vector<int>& ins, std::size_t states) {
  ScanInputs scan;
  scan.slots.assign(ins.begin() + static_cast<std::ptrdiff_t>(states), ins.end());
  LOOM_TRY(scan.axes, numbers_of(node, "scan_input_axes", scan.slots.size()));
  LOOM_TRY(scan.reversed, numbers_of(node, "scan_input_directions", scan.slots.size()));
  for (std::size_t k = 0; k < scan.slots.size(); ++k) {
    const Value& whole = value(scan.slots[k]);
    const auto rank = static_cast<std::int64_t>(whole.rank());
    if (scan.axes[k] < -rank || scan.axes[k] >= rank)
      return fail(Code::OutOfRange, "a scan input {} on axis {}", text_of(whole.dims), scan.axes[k]);
    if (scan.axes[k] < 0) scan.axes[k] += rank;
    const std::size_t extent = whole.dims[static_cast<std::size_t>(scan.axes[k])];
    if (k != 0 && extent != scan.steps)
      return fail(Code::ShapeMismatch, "scan inputs of {} and {} steps", scan.steps, extent);
    scan.steps = extent;
  }
  return scan;
}

// The element of a scan input that step i reads.
Result<int> Planner::scanned(const ScanInputs& scan, std::size_t k, std::size_t i) {
  LOOM_TRY(Value at, Value::create(Type::i64, {}));
  *at.as<std::int64_t>() = static_cast<std::int64_t>(scan.reversed[k] != 0 ? scan.steps - 1 - i : i);
  at.constant = true;
  return run_made(made_node("Gather", "axis", whole_number(scan.axes[k])), {scan.slots[k], add(std::move(at))});
}

// A loop over elements of inputs, whose count follows from shapes: it is unrolled.
Result<void> Planner::run_scan(const Node& node, Scope& scope, const std::vector<int>& ins) {
  const Body* const body = body_of(node, "body");
  const Attribute* const said = node.find("num_scan_inputs");
  if (body == nullptr || said == nullptr || said->integer < 1 || body->inputs.size() != ins.size() ||
      said->integer > static_cast<std::int64_t>(ins.size()) || std::ranges::find(ins, -1) != ins.end())
    return fail(Code::CorruptData, "{} inputs, of which {} are scanned, for a body of {}", ins.size(),
                said == nullptr ? 0 : said->integer, body == nullptr ? 0 : body->inputs.size());
  const std::size_t states = ins.size() - static_cast<std::size_t>(said->integer);
  if (body->outputs.size() < states) return fail(Code::CorruptData, "a body of {} outputs", body->outputs.size());
  LOOM_TRY(const ScanInputs scan, scan_inputs_of(node, ins, states));
  std::vector<int> state(ins.begin(), ins.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<int>> parts(body->outputs.size() - states);
  LOOM_TRY(const auto axes, numbers_of(node, "scan_output_axes", parts.size()));
  LOOM_TRY(const auto reversed, numbers_of(node, "scan_output_directions", parts.size()));
  ++unrolled_;
  for (std::size_t i = 0; i < scan.steps; ++i) {
    Scope inner{&scope};
    for (std::size_t k = 0; k < states; ++k) inner.names[body->inputs[k].name] = state[k];
    for (std::size_t k = 0; k < scan.slots.size(); ++k) {
      LOOM_TRY(inner.names[body->inputs[states + k].name], scanned(scan, k, i));
    }
    LOOM_TRY_VOID(add_constants(*body, inner));
    LOOM_TRY_VOID(run_body(*body, inner));
    if (++nodes_ > kMostNodes) return fail(Code::LimitExceeded, "a plan of more than {} operations", kMostNodes);
    LOOM_TRY(const std::vector<int> outputs, outputs_of(*body, inner));
    for (std::size_t k = 0; k < states; ++k) state[k] = outputs[k];
    for (std::size_t k = 0; k < parts.size(); ++k) parts[k].push_back(outputs[states + k]);
  }
  --unrolled_;
  for (std::size_t k = 0; k < node.outputs.size(); ++k) {
    if (node.outputs[k].empty()) continue;
    if (k < states) {
      scope.names[node.outputs[k]] = of_this_plan(state[k]);
    } else if (k - states < parts.size()) {
      LOOM_TRY(scope.names[node.outputs[k]],
               stacked(std::move(parts[k - states]), axes[k - states], reversed[k - states] != 0));
    }
  }
  return {};
}

}  // namespace loom::graph
