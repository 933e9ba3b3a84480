#pragma once
// Runs a parsed template over a context.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/template/ast.h"
#include "text/template/builtins.h"
#include "text/template/chat_template.h"
#include "text/template/value.h"

namespace loom::jinja {

// The variables of one function of the template.
struct Frame final : Object {
  Frame(Heap& h, Ref<Frame> up, std::size_t count)
      : Object(h, sizeof(Frame) + count * sizeof(Value)), parent(std::move(up)), slots(count) {}
  void clear() override {
    slots.clear();
    parent = {};
  }
  Ref<Frame> parent;
  std::vector<Value> slots;
  bool captured = false;
};

struct MacroObject final : Object {
  MacroObject(Heap& h, NodeId n, Ref<Frame> f) : Object(h, sizeof(MacroObject)), node(n), frame(std::move(f)) {}
  NodeId node;
  Ref<Frame> frame;  // where it was defined
};

// The `loop` variable and its iterator.
struct LoopObject final : Object {
  explicit LoopObject(Heap& h) : Object(h, sizeof(LoopObject)) {}
  void clear() override {
    items.clear();
    current = before = after = changed = Value();
    definition = {};
  }
  std::vector<Value> items;
  std::optional<Error> tail;
  std::size_t next = 0;  // item to fetch
  std::int64_t index0 = -1;
  std::int64_t length = -1;      // -1: not known yet
  Value current, before, after;  // after: fetched ahead, Missing when not
  Value changed;                 // what loop.changed() saw last
  bool sized = true;             // the iterable has a len()
  bool iterating = true;
  std::int64_t depth0 = 0;
  NodeId node = kNoNode;
  Frame* frame = nullptr;  // of the body; only while iterating
  Ref<Frame> definition;   // recursive loops: the frame around the loop
};

// One level of nesting, for as long as it lives.
struct Deeper {
  explicit Deeper(std::size_t& d) : depth(d) { ++depth; }
  ~Deeper() { --depth; }
  std::size_t& depth;
};

class Machine {
 public:
  Machine(const ProgramData& program, const TemplateLimits& limits, const std::optional<TemplateTime>& now);

  Result<std::string> run(const Json& context);

  // Interface for filters, tests and methods.
  Heap heap;
  Result<Value> call(const Value& callee, const Arguments& args);
  Result<Value> attribute(const Value& object, std::string_view name);  // object.name
  Result<Value> item(const Value& object, const Value& key);            // object[key]
  Result<Value> loop_length(LoopObject& loop);
  Result<Value> loop_peek(LoopObject& loop);  // Missing at the end
  Result<Value> recurse(LoopObject& loop, const Value& iterable);
  const std::optional<TemplateTime>& now() const { return now_; }
  Value string(std::string text, bool markup = false) { return make_string(heap, std::move(text), markup); }
  Value undefined(std::string_view message) { return make_undefined(heap, message); }
  Error located(Error error) const;

 private:
  enum class Flow : std::uint8_t { Normal, Break, Continue };
  using Done = Result<Flow>;
  using Evaluated = Result<Value>;

  const Node& at(NodeId id) const { return p_.nodes[id]; }
  const MacroInfo& macro_info(const Value& macro) const {
    return p_.macros[static_cast<std::size_t>(at(macro.as<MacroObject>().node).index)];
  }
  NodeId child(const Node& n, std::uint32_t k) const { return p_.lists[n.first + k]; }
  Value& variable(const Node& n, Frame& frame);
  void enter(std::int32_t scope, Frame& frame);
  Value context_value(std::uint32_t name);
  Result<void> deeper();
  Result<void> stack_room() const;
  void capture(Frame& frame);

  // Statements
  Done exec(NodeId id, Frame& frame);
  Done exec_block(const Node& n, Frame& frame);
  Done exec_node(NodeId id, const Node& n, Frame& frame);
  Done exec_condition(const Node& n, Frame& frame);
  Done exec_for(NodeId id, Frame& frame);
  Done run_loop(NodeId id, const Value& iterable, Frame& frame, Frame* definition, std::int64_t depth0);
  Result<bool> fetch(LoopObject& loop, Value& out);
  Result<bool> passes(const Node& n, const Value& value, Frame& frame);
  Done exec_set_block(const Node& n, Frame& frame);
  Done exec_filter_block(const Node& n, Frame& frame);
  Done exec_with(const Node& n, Frame& frame);
  Result<void> exec_output(const Node& n, Frame& frame);
  Result<void> exec_call_block(NodeId id, Frame& frame);
  Result<void> assign(NodeId target, const Value& value, Frame& frame);
  Result<void> check_namespaces(NodeId target, Frame& frame);
  void target_slots(NodeId target, std::vector<std::int32_t>& out) const;
  Result<void> emit(std::string_view text);
  Result<void> emit_value(const Value& value);

  // Texts caught instead of printed.
  struct Capture;
  Result<std::string> caught(Capture& capture);

  // Expressions
  Evaluated eval(NodeId id, Frame& frame);
  Evaluated eval_node(const Node& n, Frame& frame);
  Evaluated eval_constant(const Node& n);
  Evaluated eval_name(const Node& n, Frame& frame);
  Evaluated eval_sequence(const Node& n, Kind kind, Frame& frame);
  Evaluated eval_dict(const Node& n, Frame& frame);
  Evaluated eval_concat(const Node& n, Frame& frame);
  Evaluated eval_chain(const Node& n, Frame& frame);
  Evaluated eval_compare(const Node& n, Frame& frame);
  Evaluated eval_logic(const Node& n, Frame& frame);
  Evaluated eval_sign(const Node& n, Frame& frame);
  Evaluated eval_if(const Node& n, Frame& frame);
  Evaluated eval_item(const Node& n, Frame& frame);
  Evaluated eval_call(const Node& n, Frame& frame, const Value* caller);
  Evaluated eval_filter(const Node& n, Frame& frame, const Value* subject);
  Evaluated eval_test(const Node& n, Frame& frame);
  Result<Arguments> arguments(const Node& n, Frame& frame);
  Evaluated call_macro(const MacroObject& macro, const Arguments& args);
  Evaluated loop_attribute(const Value& value, std::string_view name);
  Evaluated plain_attribute(const Value& object, std::string_view name, bool& found);
  Evaluated refused(const Value& object, std::string_view name);
  Result<Value> subscript(const Value& object, const Value& key);

  const ProgramData& p_;
  TemplateLimits limits_;
  const std::optional<TemplateTime>& now_;
  std::vector<Value> constants_;  // made on first use
  Value context_;
  std::string* out_ = nullptr;
  std::size_t out_limit_ = 0;
  std::size_t depth_ = 0;
  StackLimit stack_;  // leaves room for walks over values
  std::uint32_t line_ = 0;
};

}  // namespace loom::jinja
