#include "graph/plan.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "backend/rehearsal.h"
#include "graph/folding.h"
#include "graph/fusing.h"
#include "graph/on_card.h"
#include "graph/planner.h"

namespace loom::graph {

namespace {

void names_in(const Body& body, std::set<std::string>& names) {
  for (const std::string& name : body.outputs) names.insert(name);
  for (const Node& node : body.nodes) {
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) names_in(*attribute.body, names);
  }
}

// Which nodes lead to an output.
std::vector<bool> wanted_nodes(const Body& body) {
  std::set<std::string> names(body.outputs.begin(), body.outputs.end());
  std::vector<bool> wanted(body.nodes.size(), false);
  for (std::size_t i = body.nodes.size(); i-- > 0;) {
    const Node& node = body.nodes[i];
    wanted[i] =
        std::ranges::any_of(node.outputs, [&](const auto& name) { return !name.empty() && names.contains(name); });
    if (!wanted[i]) continue;
    names.insert(node.inputs.begin(), node.inputs.end());
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) names_in(*attribute.body, names);
  }
  return wanted;
}

// Numbers that a file holds: constants, and those that nodes have as attributes.
std::uint64_t constants_in(const Body& body) {
  std::uint64_t sum = 0;
  for (const auto& [name, value] : body.constants) sum += value.elements();
  for (const Node& node : body.nodes)
    for (const auto& [key, attribute] : node.attributes) {
      if (attribute.kind == Attribute::Kind::tensor) sum += attribute.tensor.elements();
      if (attribute.body) sum += constants_in(*attribute.body);
    }
  return sum;
}

tl::unexpected<Error> at_node(const Node& node, Error error) {
  return at(node.name.empty() ? node.op : fmt::format("{} \"{}\"", node.op, node.name), std::move(error));
}

}  // namespace

int Planner::add(Value fresh, bool is_given) {
  plan_->values.push_back(std::move(fresh));
  given_.push_back(is_given);
  plan_->roots.push_back(plan_->values.size() - 1);
  return static_cast<int>(plan_->values.size() - 1);
}

// The same value, which in a plan of other inputs may be another one.
int Planner::of_this_plan(int slot) {
  if (!value(slot).constant) return slot;
  Value same = value(slot);
  same.constant = false;
  const int copy = add(std::move(same), is_given(slot));
  plan_->roots.back() = plan_->roots[static_cast<std::size_t>(slot)];
  return copy;
}

Result<void> Planner::count_bytes(const Value& fresh) {
  bytes_ += fresh.bytes();
  if (bytes_ > program_.options_.max_bytes)
    return fail(Code::OutOfMemory, "values of more than {:.1f} GB",
                static_cast<double>(program_.options_.max_bytes) / 1e9);
  return {};
}

Result<void> Planner::add_constants(const Body& body, Scope& scope) {
  for (const auto& [name, constant] : body.constants) scope.names.emplace(name, add(constant));
  return {};
}

Result<std::vector<int>> Planner::outputs_of(const Body& body, const Scope& scope) const {
  std::vector<int> outputs;
  for (const std::string& name : body.outputs) {
    outputs.push_back(scope.find(name));
    if (outputs.back() < 0) return fail(Code::CorruptData, "the output \"{}\" names no value", name);
  }
  return outputs;
}

Result<std::shared_ptr<const Plan>> Planner::plan(std::span<const Value> inputs) {
  Scope scope;
  folding_.bring(program_.constant_elements_);
  const auto& infos = program_.inputs();
  for (std::size_t i = 0; i < infos.size(); ++i) {
    Value input = inputs[i];
    if (!input.known) input.data = const_cast<void*>(rehearsal_input());
    const int slot = add(std::move(input), program_.options_.calls_give_inputs);
    scope.names[infos[i].name] = slot;
    plan_->inputs.push_back(static_cast<std::size_t>(slot));
  }
  LOOM_TRY_VOID(add_constants(program_.model_.body, scope));
  LOOM_TRY_VOID(run_body(program_.model_.body, scope));
  LOOM_TRY(const std::vector<int> outputs, outputs_of(program_.model_.body, scope));
  for (const int slot : outputs) plan_->outputs.push_back(static_cast<std::size_t>(slot));
  drop_unread();
  LOOM_TRY_VOID(fuse(*plan_, program_.model_.opset, like_, program_.folded_weights_));
  lay_out();
  if (like_.records()) LOOM_TRY_VOID(plan_card(*plan_, program_.model_.opset, like_));
  return std::shared_ptr<const Plan>(plan_);
}

Result<void> Planner::run_body(const Body& body, Scope& scope) {
  const std::vector<bool> wanted = wanted_nodes(body);
  for (std::size_t i = 0; i < body.nodes.size(); ++i) {
    if (!wanted[i]) continue;
    if (is_cancelled()) return fail(Code::Cancelled, "cancelled");
    if (++nodes_ > kMostNodes) return fail(Code::LimitExceeded, "a plan of more than {} operations", kMostNodes);
    if (auto done = run_node(body.nodes[i], scope); !done) return at_node(body.nodes[i], std::move(done).error());
  }
  return {};
}

Result<std::vector<int>> Planner::ins_of(const Node& node, const Scope& scope) const {
  std::vector<int> ins;
  for (const std::string& name : node.inputs) {
    ins.push_back(name.empty() ? -1 : scope.find(name));
    if (!name.empty() && ins.back() < 0) return fail(Code::CorruptData, "the input \"{}\" names no value", name);
  }
  return ins;
}

Result<void> Planner::run_node(const Node& node, Scope& scope) {
  LOOM_TRY(const std::vector<int> ins, ins_of(node, scope));
  if (!is_control(node)) return run_op(node, scope, ins);
  if (node.op == "If") return run_if(node, scope, ins);
  return node.op == "Loop" ? run_loop(node, scope, ins) : run_scan(node, scope, ins);
}

Result<void> Planner::compute(Op& op, OpFn run, std::vector<Value>& outs, bool constant, const Arena::Mark& scratch) {
  for (Value& out : outs) {
    if (!out.present()) continue;
    LOOM_TRY_VOID(count_bytes(out));
    LOOM_TRY(out, Value::create(out.type, std::move(out.dims)));
    out.constant = constant;
  }
  LOOM_TRY(Arena arena, Arena::create(scratch.plus(2 * Buffer::kAlignment)));
  const Exec exec{like_.pool, like_.kernels, arena, like_.cancel, like_.activations};
  Op at_work(op.node, op.opset, exec);
  at_work.ins = op.ins, at_work.outs = &outs, at_work.packed = op.packed;
  LOOM_TRY_VOID(run(at_work));
  if (exec.status) return tl::make_unexpected(*std::move(exec.status));
  if (is_cancelled()) return fail(Code::Cancelled, "cancelled");
  return {};
}

Result<void> Planner::run_op(const Node& node, Scope& scope, const std::vector<int>& ins) {
  const OpRow* const row = find_op(node);
  if (row == nullptr) return fail(Code::Unsupported, "an operation that Loom lacks");
  bool all_known = true, all_constant = true, given = false;
  for (const int in : ins) {
    if (in < 0) continue;
    given = given || is_given(in);
    all_known = all_known && value(in).known, all_constant = all_constant && value(in).constant;
  }
  const auto bind = [&](std::size_t i, int slot) {
    if (i < node.outputs.size() && !node.outputs[i].empty()) scope.names[node.outputs[i]] = slot;
  };
  const bool keeps = all_constant && unrolled_ == 0;
  if (keeps)
    if (const auto found = program_.folded_.find(&node); found != program_.folded_.end()) {
      for (std::size_t i = 0; i < found->second.size(); ++i) bind(i, add(found->second[i]));
      return {};
    }
  Arena measuring = Arena::measuring();
  const Exec exec{like_.pool, like_.kernels, measuring, nullptr, like_.activations};
  Op op(node, program_.model_.opset, exec);
  std::vector<Value> outs;
  for (const int in : ins) op.ins.push_back(in < 0 ? nullptr : &value(in));
  op.outs = &outs;
  op.most_elements =
      static_cast<std::size_t>(std::min<std::uint64_t>(op.most_elements, program_.options_.max_bytes / 4));
  if (unrolled_ == 0) op.packed = &program_.packed_[&node], op.packs = &program_.packs_;
  Result<void> done = op.expect(row->least_inputs);
  if (done) done = row->run(op);
  if (done && exec.status) done = tl::make_unexpected(*std::move(exec.status));
  needs_value_ |= op.needs_value;
  if (!done) return done;
  if (measuring.peak().bytes() > program_.options_.max_bytes)
    return fail(Code::OutOfMemory, "scratch memory of {:.1f} GB", static_cast<double>(measuring.peak().bytes()) / 1e9);
  if (measuring.overflowed()) return fail(Code::OutOfMemory, "more scratch memory than addresses can count");
  // Planning alone walks over the products of an empty stack.
  const bool is_empty = std::ranges::any_of(outs, [](const Value& v) { return v.present() && v.elements() == 0; });
  const bool computes = all_known && !(row->aliases || op.is_first_input) && !(!outs.empty() && outs[0].known);
  if (!given && (computes || is_empty)) LOOM_TRY_VOID(folding_.spend(work_of_op(op)));
  const bool shares = (row->aliases || op.is_first_input) && ins[0] >= 0;
  if (shares) {
    outs[0].data = value(ins[0]).data, outs[0].own = value(ins[0]).own;
    outs[0].known = value(ins[0]).known, outs[0].constant = value(ins[0]).constant;
  } else if (!outs.empty() && outs[0].known) {
    all_known = true;
    outs[0].constant = keeps;
    if (keeps) program_.folded_[&node] = outs;
  } else if (all_known) {
    LOOM_TRY_VOID(compute(op, row->run, outs, keeps, measuring.peak()));
    if (keeps) program_.folded_[&node] = outs;
  } else {
    plan_->scratch = plan_->scratch.max(measuring.peak());
  }
  Step step{&node, row->run, ins, {}, op.packed, {}, {}};
  for (std::size_t i = 0; i < outs.size(); ++i) {
    if (!shares && !all_known) LOOM_TRY_VOID(count_bytes(outs[i]));
    const int slot = outs[i].present() ? add(std::move(outs[i]), given) : -1;
    if (slot >= 0) bind(i, slot);
    if (shares && slot >= 0)
      plan_->roots[static_cast<std::size_t>(slot)] = plan_->roots[static_cast<std::size_t>(ins[0])];
    step.outs.push_back(slot);
  }
  if (!shares && !all_known) plan_->steps.push_back(std::move(step));
  return {};
}

// Removes steps whose outputs nobody reads, as when only the shape of an output is used.
void Planner::drop_unread() {
  std::vector<bool> read(plan_->values.size(), false);
  for (const std::size_t out : plan_->outputs) read[plan_->roots[out]] = true;
  std::vector<Step> kept;
  for (std::size_t s = plan_->steps.size(); s-- > 0;) {
    Step& step = plan_->steps[s];
    const auto is_read = [&](int slot) { return slot >= 0 && read[plan_->roots[static_cast<std::size_t>(slot)]]; };
    if (!std::ranges::any_of(step.outs, is_read)) continue;
    for (const int in : step.ins)
      if (in >= 0) read[plan_->roots[static_cast<std::size_t>(in)]] = true;
    kept.push_back(std::move(step));
  }
  std::ranges::reverse(kept);
  plan_->steps = std::move(kept);
}

// Gives each value that a step writes a place that no value alive at the same time has: the lowest gap that is wide
// enough.
void Planner::lay_out() {
  struct Life {
    std::size_t root, first, last, bytes, offset;
  };
  const std::size_t n = plan_->values.size();
  std::vector<std::size_t> first(n, Plan::kNowhere), last(n, 0);
  const auto root_of = [&](int slot) { return plan_->roots[static_cast<std::size_t>(slot)]; };
  for (std::size_t s = 0; s < plan_->steps.size(); ++s) {
    for (const int out : plan_->steps[s].outs)
      if (out >= 0) first[root_of(out)] = s, last[root_of(out)] = s;
    for (const int in : plan_->steps[s].ins)
      if (in >= 0) last[root_of(in)] = s;
  }
  for (const std::size_t out : plan_->outputs) last[plan_->roots[out]] = plan_->steps.size();
  plan_->offsets.assign(n, Plan::kNowhere);
  std::vector<Life> alive;  // by offset
  for (std::size_t s = 0; s < plan_->steps.size(); ++s) {
    std::erase_if(alive, [&](const Life& life) { return life.last < s; });
    for (const int out : plan_->steps[s].outs) {
      if (out < 0) continue;
      const std::size_t root = root_of(out), bytes = (plan_->values[root].bytes() + 127) / 64 * 64;
      std::size_t offset = 0;
      auto place = alive.begin();
      for (; place != alive.end() && place->offset - offset < bytes; ++place) offset = place->offset + place->bytes;
      alive.insert(place, {root, first[root], last[root], bytes, offset});
      plan_->offsets[root] = offset;
      plan_->value_bytes = std::max(plan_->value_bytes, offset + bytes);
    }
  }
}

Result<std::shared_ptr<Program>> Program::create(Model model, const ProgramOptions& options) {
  if (!options.has_gradients) LOOM_TRY_VOID(check_model(model));
  auto program = std::make_shared<Program>();
  program->model_ = std::move(model), program->options_ = options;
  std::set<std::string> constants;
  for (const auto& [name, value] : program->model_.body.constants) constants.insert(name);
  std::vector<InputInfo> defaults;
  for (const InputInfo& input : program->model_.body.inputs)
    (constants.contains(input.name) ? defaults : program->inputs_).push_back(input);
  program->constant_elements_ = constants_in(program->model_.body);
  program->accepted_ = program->inputs_;
  program->accepted_.insert(program->accepted_.end(), defaults.begin(), defaults.end());
  return program;
}

Result<std::shared_ptr<const Program>> Program::with_inputs(const std::set<std::string>& names) const {
  Model model = model_;
  std::erase_if(model.body.constants, [&](const auto& constant) { return names.contains(constant.first); });
  return create(std::move(model), options_);
}

Result<std::shared_ptr<const Plan>> Program::plan(const Exec& like, std::span<const Value> inputs,
                                                  bool* needs_value) const {
  LOOM_ASSERT(inputs.size() == inputs_.size());
  const Mutex::Guard lock(lock_);
  Planner planner(*this, like);
  auto planned = planner.plan(inputs);
  if (needs_value != nullptr) *needs_value = planner.needs_value();
  return planned;
}

Result<void> run_step(const Exec& exec, const Step& step, int opset, std::span<const Value* const> ins,
                      std::vector<Value>& values) {
  // The values themselves are handed over, not copies, whose dims would be allocated.
  std::vector<Value> outs;
  outs.reserve(step.outs.size());
  for (const int out : step.outs) outs.push_back(out < 0 ? Value{} : std::move(values[static_cast<std::size_t>(out)]));
  const ArenaScope scope(exec.arena);
  Op op(*step.node, opset, exec);
  op.ins.assign(ins.begin(), ins.end());
  op.outs = &outs, op.packed = step.packed, op.fused = step.fused.get();
  op.form = step.form;
  std::shared_ptr<const std::vector<std::int32_t>> table = step.table;
  op.table = &table;
  auto done = step.run(op);
  for (std::size_t i = 0; i < step.outs.size(); ++i)
    if (step.outs[i] >= 0) values[static_cast<std::size_t>(step.outs[i])] = std::move(outs[i]);
  if (!done) return at_node(*step.node, std::move(done).error());
  if (exec.status) return at_node(*step.node, *std::move(exec.status));
  return {};
}

Result<void> Program::run(const Exec& exec, const Plan& plan, int opset, Work& work) {
  if (plan.is_for_card) return run_on_card(exec, plan, opset, work);
  std::byte* const base = exec.arena.take<std::byte>(plan.value_bytes);
  if (exec.rehearsal()) {
    const ArenaScope scope(exec.arena);
    exec.arena.take<std::byte>(plan.scratch.tensors + Buffer::kAlignment);
    exec.arena.note<std::byte>(plan.scratch.notes + Buffer::kAlignment);
    return {};
  }
  std::vector<Value>& values = work.values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t root = plan.roots[i];
    if (plan.offsets[root] != Plan::kNowhere)
      values[i].data = base + plan.offsets[root];
    else if (root != i)
      values[i].data = values[root].data;
  }
  std::vector<const Value*> ins;
  for (const Step& step : plan.steps) {
    ins.clear();
    for (const int in : step.ins) ins.push_back(in < 0 ? nullptr : &values[static_cast<std::size_t>(in)]);
    LOOM_TRY_VOID(run_step(exec, step, opset, ins, values));
    if (exec.cancel != nullptr && exec.cancel->load(std::memory_order_relaxed))
      return fail(Code::Cancelled, "cancelled");
  }
  return {};
}

}  // namespace loom::graph
