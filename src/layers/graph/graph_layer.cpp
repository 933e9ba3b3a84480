#include "layers/graph/graph_layer.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "backend/rehearsal.h"
#include "core/checked.h"
#include "core/config_reader.h"
#include "core/nearest.h"
#include "graph/graph_json.h"
#include "graph/on_card.h"
#include "layers/graph/graph_values.h"
#include "layers/lengths.h"
#include "ops/all.h"
#include "ops/elementwise/elementwise.h"

namespace loom {

using graph::Body;
using graph::Dims;
using graph::InputInfo;
using graph::Node;
using graph::Plan;
using graph::Program;
using graph::Store;
using graph::Type;
using graph::Value;

constinit const LayerKind GraphLayer::kKind{.id = 33,
                                            .name = "graph",
                                            .aliases = "onnx",
                                            .help = "a graph of operations, from an ONNX file or in the spec",
                                            .shapes = "[B, ...] -> [B, ...] as the graph has them",
                                            .make = make_layer<GraphLayer>,
                                            .forward_only = true};

namespace {

constexpr graph::ProgramOptions kLimits = kGraphLimits;

// Names of constants whose numbers decide shapes: a plan has to know them, so that they are no weights.
void find_sizes(const Body& body, std::set<std::string>& names) {
  for (const Node& node : body.nodes) {
    const graph::Attribute* const to = node.find("to");
    const bool casts = node.op == "Cast" && to != nullptr && !graph::is_float(static_cast<Type>(to->integer));
    if (casts || node.op == "Resize" || node.op == "Upsample" || node.op == "Range" || node.op == "CastLike")
      names.insert(node.inputs.begin() + (casts || node.op == "Range" || node.inputs.empty() ? 0 : 1),
                   node.inputs.end());
    for (const auto& [key, attribute] : node.attributes)
      if (attribute.body) find_sizes(*attribute.body, names);
  }
}

bool can_be_weight(const Value& value) {
  if (graph::store_of(value.type) != Store::f32 || value.elements() < 2 || !Shape::create(value.dims)) return false;
  return value.data == nullptr ||
         std::ranges::all_of(std::span(value.as<float>(), value.elements()), [](float v) { return std::isfinite(v); });
}

// Exporters also write weights as nodes that give a constant.
void unpack_constants(Body& body) {
  std::erase_if(body.nodes, [&](Node& node) {
    graph::Attribute* value = nullptr;
    for (auto& [key, attribute] : node.attributes)
      if (key == "value" && attribute.kind == graph::Attribute::Kind::tensor) value = &attribute;
    if (node.op != "Constant" || !node.domain.empty() || value == nullptr || node.outputs.size() != 1) return false;
    value->tensor.known = value->tensor.constant = true;
    body.constants.emplace_back(node.outputs[0], std::move(value->tensor));
    return true;
  });
}

Result<void> check_names(const Body& body) {
  std::set<std::string> known;
  for (const auto& [name, value] : body.constants) known.insert(name);
  for (const InputInfo& info : body.inputs) known.insert(info.name);  // old files list constants as inputs too
  for (const Node& node : body.nodes) {
    for (const std::string& name : node.inputs)
      if (!name.empty() && !known.contains(name))
        return fail(Code::CorruptData, "{} \"{}\" reads \"{}\", which no node before it gives", printable(node.op),
                    printable(node.name), printable(name));
    known.insert(node.outputs.begin(), node.outputs.end());
  }
  for (const std::string& name : body.outputs)
    if (!known.contains(name)) return fail(Code::CorruptData, "no node gives the output \"{}\"", printable(name));
  return {};
}

void read_in(const Node& node, std::set<std::string>& names) {
  names.insert(node.inputs.begin(), node.inputs.end());
  for (const auto& [key, attribute] : node.attributes)
    if (attribute.body) {
      names.insert(attribute.body->outputs.begin(), attribute.body->outputs.end());
      for (const Node& inner : attribute.body->nodes) read_in(inner, names);
    }
}

// Nodes and constants that lead to no output go: what the layer does not run are no weights of it.
void drop_unread(Body& body) {
  std::set<std::string> read(body.outputs.begin(), body.outputs.end());
  std::vector<Node> kept;
  for (std::size_t i = body.nodes.size(); i-- > 0;) {
    Node& node = body.nodes[i];
    if (std::ranges::none_of(node.outputs, [&](const std::string& name) { return read.contains(name); })) continue;
    read_in(node, read);
    kept.push_back(std::move(node));
  }
  std::ranges::reverse(kept);
  body.nodes = std::move(kept);
  std::erase_if(body.constants, [&](const auto& constant) { return !read.contains(constant.first); });
}

std::string listed(const std::vector<InputInfo>& inputs) {
  std::vector<std::string> names;
  names.reserve(inputs.size());
  for (const InputInfo& info : inputs) names.push_back(fmt::format("\"{}\"", printable(info.name)));
  return fmt::format("{}", fmt::join(names, ", "));
}

std::string shape_text(const std::vector<std::int64_t>& dims) {
  std::vector<std::string> extents;
  extents.reserve(dims.size());
  for (const std::int64_t d : dims) extents.push_back(d < 0 ? "?" : std::to_string(d));
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

// The extents of nested lists, by their first items.
Dims nested_dims(const Json& json) {
  Dims dims;
  for (const Json* level = &json; level->is_array(); level = &(*level)[0]) {
    dims.push_back(level->size());
    if (level->empty()) break;
  }
  return dims;
}

Result<void> fill_nested(const Json& json, std::size_t axis, Value& value, std::size_t& at) {
  if (axis == value.rank()) {
    const auto n = as_number(json);
    if (!n) return fail(Code::InvalidConfig, "{}", expected("a number", json));
    graph::with_store(graph::store_of(value.type), [&]<class T>(T) { value.as<T>()[at] = graph::stored<T>(*n); });
    ++at;
    return {};
  }
  if (!json.is_array() || json.size() != value.dims[axis])
    return fail(Code::InvalidConfig, "{}", expected(fmt::format("a list of {}", value.dims[axis]), json));
  for (const Json& item : json) LOOM_TRY_VOID(fill_nested(item, axis + 1, value, at));
  return {};
}

}  // namespace

void GraphLayer::fields(FieldVisitor& visit) {
  visit.json({"graph", "Required. The graph as an object, or the name of an ONNX file beside the spec"}, config_.graph);
  visit({"input", "The graph's input that x becomes; empty: the only one without a value"}, config_.input);
  visit({"output", "The value that is y, an output or what another node gives; empty: the only output"},
        config_.output);
  visit.json({"fixed", "Values of the other inputs by name: a number for all, or nested lists"}, config_.fixed);
  visit({"train_weights", "Names of the weights that training moves, or \"*\" for all that a gradient reaches"},
        config_.train_weights);
}

void GraphLayer::adopt(graph::Model model) {
  unpack_constants(model.body);
  std::set<std::string> sizes;
  find_sizes(model.body, sizes);
  brought_.clear();
  for (auto& [name, value] : model.body.constants) {
    if (name.empty() || sizes.contains(name) || brought_.contains(name) || !can_be_weight(value)) continue;
    brought_.emplace(name, value);
    value.data = nullptr, value.own = nullptr;
  }
  config_.graph = graph::graph_to_json(model);
}

Result<void> GraphLayer::choose_inputs() {
  std::set<std::string> constants;
  for (const auto& [name, value] : model_.body.constants) constants.insert(name);
  std::erase_if(model_.body.inputs, [&](const InputInfo& info) { return constants.contains(info.name); });
  if (!config_.fixed.is_null() && !config_.fixed.is_object())
    return fail_at({"fixed"}, Code::InvalidConfig, "{}", expected("an object of values", config_.fixed));
  fixed_.clear();
  std::vector<InputInfo> open;
  for (const InputInfo& info : model_.body.inputs)
    (find(config_.fixed, info.name) != nullptr ? fixed_ : open).push_back(info);
  if (fixed_.size() != config_.fixed.size())
    for (const auto& [name, value] : config_.fixed.items())
      if (std::ranges::find(fixed_, name, &InputInfo::name) == fixed_.end())
        return fail_at({"fixed", printable(name)}, Code::UnknownName, "the graph has no input of this name; it has {}",
                       listed(model_.body.inputs));
  if (config_.input.empty() && open.size() > 1)
    return fail_at(
        {"input"}, Code::InvalidConfig,
        "the graph has {} inputs, {}: \"input\" names the one that x becomes, \"fixed\" gives the others values",
        open.size(), listed(open));
  const auto chosen = config_.input.empty() && open.size() == 1
                          ? open.begin()
                          : std::ranges::find(open, config_.input, &InputInfo::name);
  if (chosen == open.end())
    return fail_at({"input"}, Code::InvalidConfig, "\"{}\", one of {} expected", printable(config_.input),
                   open.empty() ? "none: all inputs are fixed" : listed(open));
  input_ = *chosen;
  open.erase(chosen);
  if (!open.empty())
    return fail_at({"fixed"}, Code::InvalidConfig, "the graph's inputs {} have no values beside \"{}\"", listed(open),
                   printable(input_.name));
  if (input_.type == Type::none) input_.type = Type::f32;
  return {};
}

Result<void> GraphLayer::choose_output() {
  std::vector<std::string>& outputs = model_.body.outputs;
  if (config_.output.empty() && outputs.size() == 1) return {};
  const auto gives = [&](const Node& node) {
    return std::ranges::find(node.outputs, config_.output) != node.outputs.end();
  };
  if (config_.output.empty() ||
      (std::ranges::find(outputs, config_.output) == outputs.end() && std::ranges::none_of(model_.body.nodes, gives))) {
    std::vector<std::string> names;
    names.reserve(outputs.size());
    for (const std::string& name : outputs) names.push_back(fmt::format("\"{}\"", printable(name)));
    return fail_at({"output"}, Code::InvalidConfig, "\"{}\", one of {} expected", printable(config_.output),
                   fmt::join(names, ", "));
  }
  outputs = {config_.output};
  return {};
}

Result<void> GraphLayer::declare_weights() {
  weights_.clear(), weight_types_.clear();
  std::vector<const std::pair<std::string, Value>*> wanted;
  for (const auto& constant : model_.body.constants)
    if (constant.second.data == nullptr) wanted.push_back(&constant);
  weights_.resize(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [name, value] = *wanted[i];
    if (name.empty() || !can_be_weight(value))
      return fail_at({"graph", "constants"}, Code::InvalidConfig,
                     "\"{}\" of {} {} has no values: only floats of 1 to {} axes and at least two numbers are weights",
                     printable(name), graph::name_of(value.type), graph::text_of(value.dims), Shape::kMaxRank);
    const std::size_t outputs = value.dims[0], inputs = value.elements() / outputs;
    WeightInit init;
    if (value.rank() > 1) init = {WeightInit::Rule::Glorot, inputs, outputs};
    // The type of the cell is not the graph's: its constants stay floats.
    LOOM_TRY_VOID(weights_[i].declare(name, WeightRole::Vector, value.dims, init));
    weights_[i].freeze(true);
    weight_types_.push_back(value.type);
  }
  for (Weight& w : weights_) {
    const auto brought = brought_.find(w.name());
    if (brought == brought_.end()) continue;
    LOOM_TRY_VOID(w.morph(common.encoding));
    LOOM_TRY_VOID(w.set(std::span<const float>(brought->second.as<float>(), w.elements())));
    w.release_master();
  }
  brought_.clear();
  return {};
}

Result<void> GraphLayer::build() {
  if (config_.graph.is_null()) return fail_at({"graph"}, Code::InvalidConfig, "is missing");
  if (file() != nullptr)
    return fail_at({"graph"}, Code::InvalidConfig, "names a file, \"{}\": only a spec that is read from a file can",
                   printable(*file()));
  const auto read = [&]() -> Result<void> {
    LOOM_TRY(model_, graph::graph_from_json(config_.graph));
    LOOM_TRY_VOID(graph::check_model(model_));
    return check_names(model_.body);
  };
  if (auto done = read(); !done) return under({"graph"}, std::move(done).error());
  LOOM_TRY_VOID(choose_inputs());
  LOOM_TRY_VOID(choose_output());
  drop_unread(model_.body);
  LOOM_TRY_VOID(declare_weights());
  // One order of inputs for all plans: x, what is fixed, and for shapes and gradients the weights.
  model_.body.inputs = {input_};
  model_.body.inputs.insert(model_.body.inputs.end(), fixed_.begin(), fixed_.end());
  LOOM_TRY(shapes_, Program::create(with_weights_as_inputs(), kLimits));
  return choose_trained();
}

bool GraphLayer::have_values() const {
  return std::ranges::all_of(weights_, [](const Weight& w) { return w.has_value(); });
}

bool GraphLayer::are_current() const {
  for (std::size_t i = 0; i < weights_.size(); ++i)
    if (weights_[i].version() != versions_[i]) return false;
  return true;
}

// Returns the graph with its weights bound: plain f32 values in place, others as decoded copies.
Result<std::shared_ptr<const Program>> GraphLayer::bind() const {
  graph::Model model = model_;
  std::size_t next = 0;
  for (auto& [name, value] : model.body.constants) {
    if (value.data != nullptr) continue;
    const Weight& w = weights_[next];
    const Type type = weight_types_[next++];
    if (type == Type::f32 && w.plain() != nullptr) {
      value.data = const_cast<float*>(w.plain()), value.own = w.version();
    } else {
      LOOM_TRY(value, Value::create(type, value.dims));
      w.decode(0, w.elements(), value.as<float>());
      graph::round_to_type(value);
    }
    value.known = value.constant = true;
  }
  LOOM_TRY(std::shared_ptr<const Program> program, Program::create(std::move(model), kLimits));
  return program;
}

// Axes that the file leaves open are those of the samples, or of an x with as many axes.
Result<Value> GraphLayer::fixed_value(const InputInfo& info, const Shape& x) const {
  const Json& given = *find(config_.fixed, info.name);
  const auto read = [&]() -> Result<Value> {
    const Type type = info.type == Type::none ? Type::f32 : info.type;
    Dims dims = nested_dims(given);
    if (!given.is_array()) {
      if (!info.has_shape) return fail(Code::InvalidConfig, "a number for an input whose shape the file does not say");
      for (std::size_t i = 0; i < info.dims.size(); ++i) {
        if (info.dims[i] < 0 && i != 0 && info.dims.size() != x.rank())
          return fail(Code::InvalidConfig, "a number for an input {}: give nested lists", shape_text(info.dims));
        dims.push_back(info.dims[i] < 0 ? x[i] : static_cast<std::size_t>(info.dims[i]));
      }
    }
    std::size_t bytes = sizeof(double);
    for (const std::size_t d : dims) {
      LOOM_TRY(bytes, checked_mul(bytes, d));
    }
    if (bytes > kLimits.max_bytes) return fail(Code::SizeOverflow, "a value of shape {}", graph::text_of(dims));
    LOOM_TRY(Value value, Value::create(type, dims));
    std::size_t at = 0;
    if (given.is_array()) {
      LOOM_TRY_VOID(fill_nested(given, 0, value, at));
    } else {
      const std::size_t n = value.elements();
      for (value.dims.clear(); at < n;) LOOM_TRY_VOID(fill_nested(given, 0, value, at));
      value.dims = std::move(dims);
    }
    graph::round_to_type(value);
    return value;
  };
  auto value = read();
  if (!value) return under({"fixed", printable(info.name)}, std::move(value).error());
  return value;
}

Result<Dims> GraphLayer::dims_of_call(const Shape& input, std::size_t& calls) const {
  Dims dims(input.extents().begin(), input.extents().end());
  calls = 1;
  if (!input_.has_shape) return dims;
  bool fits = dims.size() == input_.dims.size();
  if (fits && !dims.empty() && input_.dims[0] == 1) calls = dims[0], dims[0] = 1;
  for (std::size_t i = 0; fits && i < dims.size(); ++i)
    fits = input_.dims[i] < 0 || input_.dims[i] == static_cast<std::int64_t>(dims[i]);
  if (!fits)
    return fail(Code::ShapeMismatch, "graph: an input {}, \"{}\" of the graph is {}", input.text(),
                printable(input_.name), shape_text(input_.dims));
  return dims;
}

Result<std::shared_ptr<const Plan>> GraphLayer::plan_of(const Program& program, const Exec& like, const Shape& input,
                                                        const Dims& dims) const {
  std::vector<Value> inputs;
  inputs.push_back({input_.type, dims});
  for (const InputInfo& info : fixed_) {
    LOOM_TRY(Value value, fixed_value(info, input));
    inputs.push_back(std::move(value));
  }
  if (&program == shapes_.get())
    for (std::size_t i = 0; i < weights_.size(); ++i) inputs.push_back(weight_shape(i));
  return program.plan(like, inputs, nullptr);
}

Result<Shape> GraphLayer::output_shape(const Shape& input) const {
  {
    const Mutex::Guard guard(lock_);
    for (const KnownShape& known : known_)
      if (known.input == input) return known.output;
  }
  std::size_t calls = 1;
  LOOM_TRY(const Dims dims, dims_of_call(input, calls));
  LOOM_TRY(const auto pool, ThreadPool::create(1));
  LOOM_TRY(const KernelTable* const kernels, kernels_for(best_isa()));
  Arena none;
  LOOM_TRY(const auto plan, plan_of(*shapes_, {*pool, *kernels, none}, input, dims));
  Dims out = plan->values[plan->outputs[0]].dims;
  const std::string& name = model_.body.outputs[0];
  // The first axis counts the samples, in the output as in the input.
  if (input.rank() > 1 && (out.empty() || out[0] != dims[0]))
    return fail(Code::ShapeMismatch, "graph: its output \"{}\" is {}: the first axis is not that of the input, {}",
                printable(name), graph::text_of(out), graph::text_of(dims));
  if (calls > 1) out[0] = calls;
  auto shape = Shape::create(out);
  if (!shape)
    return fail(shape.error().code, "graph: its output \"{}\" is {}: {}", printable(name), graph::text_of(out),
                shape.error().message);
  const Mutex::Guard guard(lock_);
  if (known_.size() == kMostGraphPlans) known_.erase(known_.begin());
  known_.push_back({input, *shape});
  return shape;
}

Result<std::shared_ptr<GraphLayer::Ready>> GraphLayer::ready_for(const Exec& exec, const Shape& input) const {
  std::shared_ptr<const Program> program;
  {
    const Mutex::Guard guard(lock_);
    if (program_ != nullptr && are_current()) {
      for (const auto& ready : ready_)
        if (ready->input == input && ready->threads == exec.pool.threads() && ready->kernels == &exec.kernels &&
            ready->device == exec.arena.device())
          return ready;
      program = program_;
    }
  }
  std::vector<std::shared_ptr<const void>> versions;
  const bool is_new = program == nullptr;
  if (is_new) {
    for (const Weight& w : weights_) versions.push_back(w.version());
    LOOM_TRY(program, bind());
  }
  auto ready = std::make_shared<Ready>();
  ready->input = input, ready->threads = exec.pool.threads(), ready->kernels = &exec.kernels, ready->program = program;
  ready->device = exec.arena.device();
  LOOM_TRY(ready->dims, dims_of_call(input, ready->calls));
  LOOM_TRY(ready->plan, plan_of(*program, exec, input, ready->dims));
  const Mutex::Guard guard(lock_);
  if (is_new) {
    program_ = program;
    versions_ = std::move(versions);
    ready_.clear();
  }
  if (program_ != program) return ready;  // another session has bound it again meanwhile
  if (ready_.size() == kMostGraphPlans) ready_.erase(ready_.begin());
  ready_.push_back(ready);
  return ready;
}

Result<void> GraphLayer::run_once(const Run& run, Ready& ready, const ConstTensor& x, const Tensor& y) const {
  const ArenaScope scope(run.arena());
  const Plan& plan = *ready.plan;
  std::unique_ptr<graph::Work> work;
  {
    const Mutex::Guard guard(ready.lock);
    if (!ready.idle.empty()) {
      work = std::move(ready.idle.back());
      ready.idle.pop_back();
    }
  }
  if (work == nullptr) work = std::make_unique<graph::Work>(plan);
  const auto run_all = [&]() -> Result<void> {
    LOOM_TRY_VOID(give_input(run, *work, plan, 0, x));
    LOOM_TRY_VOID(Program::run(run, plan, model_.opset, *work));
    return take_output(run, plan, *work, 0, y);
  };
  auto done = run_all();
  const Mutex::Guard guard(ready.lock);
  ready.idle.push_back(std::move(work));
  return done;
}

void GraphLayer::forward(const Run& run, const ConstView& x, const View& y) const {
  if (refuses_lengths(run, kind())) return;
  const auto run_all = [&]() -> Result<void> {
    if (run.arena().device() != nullptr && !run.exec.records())
      return fail(Code::Unsupported, "graph runs on the CPU and on graphics cards: its operations look at values");
    if (!have_values()) return fail(Code::NoValue, "graph: its weights have no values");
    LOOM_TRY(const std::shared_ptr<Ready> ready, ready_for(run, x.shape));
    const std::size_t in = x.shape.elements() / ready->calls, out = y.shape.elements() / ready->calls;
    const std::size_t calls = run.rehearsal() ? 1 : ready->calls;
    for (std::size_t i = 0; i < calls; ++i) {
      const auto* const from = static_cast<const std::byte*>(x.data) + i * in * bytes_of(x.element);
      auto* const to = static_cast<std::byte*>(y.data) + i * out * bytes_of(y.element);
      LOOM_TRY_VOID(run_once(run, *ready, {from, 1, in, x.element}, {to, 1, out, y.element}));
    }
    return {};
  };
  if (auto done = run_all(); !done) run.exec.status = std::move(done).error();
  run.save(x);
}

}  // namespace loom
