// Statements, scopes, loops and macros.

#include "text/template/interpreter.h"

namespace loom::jinja {

// While it lives, what is printed goes into its own text, which counts as memory.
struct Machine::Capture {
  explicit Capture(Machine& machine) : m(machine), outer(machine.out_), outer_limit(machine.out_limit_) {
    m.out_ = &text;
    m.out_limit_ = m.heap.room();
  }
  ~Capture() { leave(); }
  void leave() {
    if (m.out_ != &text) return;
    m.out_ = outer;
    m.out_limit_ = outer_limit;
  }
  Machine& m;
  std::string text;
  std::string* outer;
  std::size_t outer_limit;
};

Machine::Machine(const ProgramData& program, const TemplateLimits& limits, const std::optional<TemplateTime>& now)
    : p_(program),
      limits_(limits),
      now_(now),
      constants_(program.constants.size()),
      stack_(StackLimit::kReserve + heap.tallest * kLevelBytes) {
  heap.limit = limits.max_memory_bytes;
  heap.max_steps = limits.max_steps;
  heap.cancel = limits.cancel;
}

Error Machine::located(Error error) const {
  error.message = shortened(error.message, 2000);
  if (line_ > 0) error.in_source(fmt::format("line {}", line_));
  return error;
}

Result<std::string> Machine::run(const Json& context) {
  if (!context.is_object()) return fail(Code::InvalidArgument, "the template's variables must be a JSON object");
  LOOM_TRY(context_, from_json(heap, context));
  std::string out;
  out_ = &out;
  out_limit_ = limits_.max_output_bytes;
  Ref<Frame> frame(new Frame(heap, {}, static_cast<std::size_t>(p_.functions[0].slots)));
  enter(0, *frame);
  auto done = exec(p_.root, *frame);
  if (!done) return tl::make_unexpected(located(std::move(done).error()));
  return out;
}

Result<void> Machine::deeper() {
  if (depth_ > limits_.max_depth)
    return fail(Code::LimitExceeded, "the template nests deeper than {} evaluations", limits_.max_depth);
  LOOM_TRY_VOID(stack_room());
  return heap.tick();
}

Result<void> Machine::stack_room() const {
  if (stack_.reached())
    return fail(Code::LimitExceeded, "the template nests deeper than the stack of this thread allows");
  return {};
}

// ---- variables

Value& Machine::variable(const Node& n, Frame& frame) {
  Frame* f = &frame;
  for (std::int32_t up = n.index; up > 0; --up) f = f->parent.get();
  return f->slots[static_cast<std::size_t>(n.slot)];
}

Value Machine::context_value(std::uint32_t name) {
  const std::string& text = p_.strings[name];
  if (const Value* v = context_.dict().find(std::string_view(text))) return *v;
  if (text == kClockName && !now_)
    return undefined("strftime_now: the template writes the date, and none was given (--date YYYY-MM-DD)");
  if (const MethodEntry* global = find_global(text))
    return Value::of(Kind::Function, new MethodObject(heap, Value(), global));
  return {};
}

void Machine::enter(std::int32_t scope, Frame& frame) {
  heap.spend(p_.scopes[static_cast<std::size_t>(scope)].loads.size());
  for (const Load& load : p_.scopes[static_cast<std::size_t>(scope)].loads) {
    Value& to = frame.slots[static_cast<std::size_t>(load.slot)];
    switch (load.kind) {
      case Load::Kind::Parameter: break;
      case Load::Kind::Undefined: to = Value(); break;
      case Load::Kind::Resolve: to = context_value(load.name); break;
      case Load::Kind::Alias: {
        const Frame* f = &frame;
        for (std::int32_t up = load.from_up; up > 0; --up) f = f->parent.get();
        to = f->slots[static_cast<std::size_t>(load.from_slot)];
      }
    }
  }
}

void Machine::capture(Frame& frame) {
  for (Frame* f = &frame; f && !f->captured; f = f->parent.get()) {
    f->captured = true;
    heap.retain(*f);
  }
}

// ---- output

Result<void> Machine::emit(std::string_view text) {
  if (text.size() > out_limit_ - out_->size())
    return fail(Code::LimitExceeded, "the template prints more than {} bytes", out_limit_);
  out_->append(text);
  return heap.tick(1 + text.size() / 64);
}

Result<void> Machine::emit_value(const Value& value) {
  if (value.is(Kind::String)) return emit(value.s());
  if (value.undefined()) return {};
  LOOM_TRY(const std::string text, to_str(heap, value));
  return emit(text);
}

Result<std::string> Machine::caught(Capture& capture) {
  capture.leave();
  LOOM_TRY_VOID(heap.reserve(capture.text.size()));
  return std::move(capture.text);
}

Result<void> Machine::exec_output(const Node& n, Frame& frame) {
  for (std::uint32_t k = 0; k < n.count; ++k) {
    const Node& part = at(child(n, k));
    if (part.kind == NodeKind::Data) {
      LOOM_TRY_VOID(emit(p_.strings[part.text]));
      continue;
    }
    LOOM_TRY(const Value v, eval(child(n, k), frame));
    LOOM_TRY_VOID(emit_value(v));
  }
  return {};
}

// ---- statements

Result<Machine::Flow> Machine::exec(NodeId id, Frame& frame) {
  const Deeper deep(depth_);
  LOOM_TRY_VOID(deeper());
  const Node& n = at(id);
  if (n.kind == NodeKind::Block) return exec_block(n, frame);
  line_ = n.line;
  return exec_node(id, n, frame);
}

Result<Machine::Flow> Machine::exec_block(const Node& n, Frame& frame) {
  for (std::uint32_t k = 0; k < n.count; ++k) {
    LOOM_TRY(const Flow flow, exec(child(n, k), frame));
    if (flow != Flow::Normal) return flow;
  }
  return Flow::Normal;
}

Result<Machine::Flow> Machine::exec_node(NodeId id, const Node& n, Frame& frame) {
  switch (n.kind) {
    case NodeKind::Output: LOOM_TRY_VOID(exec_output(n, frame)); break;
    case NodeKind::Condition: return exec_condition(n, frame);
    case NodeKind::For: return exec_for(id, frame);
    case NodeKind::Set: {
      LOOM_TRY_VOID(check_namespaces(n.a, frame));
      LOOM_TRY(const Value v, eval(n.b, frame));
      LOOM_TRY_VOID(assign(n.a, v, frame));
      break;
    }
    case NodeKind::SetBlock: return exec_set_block(n, frame);
    case NodeKind::FilterBlock: return exec_filter_block(n, frame);
    case NodeKind::With: return exec_with(n, frame);
    case NodeKind::Macro:
      capture(frame);
      frame.slots[static_cast<std::size_t>(n.slot)] =
          Value::of(Kind::Macro, new MacroObject(heap, id, Ref<Frame>(&frame)));
      break;
    case NodeKind::CallBlock:
    case NodeKind::Generation: LOOM_TRY_VOID(exec_call_block(id, frame)); break;
    case NodeKind::Break: return Flow::Break;
    case NodeKind::Continue: return Flow::Continue;
    default: break;
  }
  return Flow::Normal;
}

Result<Machine::Flow> Machine::exec_condition(const Node& n, Frame& frame) {
  for (std::uint32_t k = 0; k + 1 < n.count; k += 2) {
    LOOM_TRY(const Value test, eval(child(n, k), frame));
    if (truthy(test)) return exec(child(n, k + 1), frame);
  }
  if (n.otherwise != kNoNode) return exec(n.otherwise, frame);
  return Flow::Normal;
}

Result<void> Machine::check_namespaces(NodeId target, Frame& frame) {
  LOOM_TRY_VOID(stack_room());
  const Node& n = at(target);
  if (n.kind == NodeKind::Tuple) {
    for (std::uint32_t k = 0; k < n.count; ++k) LOOM_TRY_VOID(check_namespaces(child(n, k), frame));
  } else if (n.kind == NodeKind::NamespaceRef && !variable(n, frame).is(Kind::Namespace)) {
    return fail(Code::TemplateError, "cannot assign attribute on non-namespace object");
  }
  return {};
}

Result<void> Machine::assign(NodeId target, const Value& value, Frame& frame) {
  LOOM_TRY_VOID(stack_room());
  const Node& n = at(target);
  if (n.kind == NodeKind::Name) {
    frame.slots[static_cast<std::size_t>(n.slot)] = value;
    return {};
  }
  if (n.kind == NodeKind::NamespaceRef) {
    Value& where = variable(n, frame);
    if (!where.is(Kind::Namespace)) return fail(Code::TemplateError, "cannot assign attribute on non-namespace object");
    auto& space = where.as<NamespaceObject>();
    const std::string& name = p_.strings[n.text2];
    LOOM_TRY_VOID(heap.tick());
    space.set(name, value);
    return {};
  }
  LOOM_TRY(auto parts, iterate(heap, value));
  if (parts.tail) return tl::make_unexpected(*std::move(parts.tail));
  if (parts.items.size() > n.count)
    return fail(Code::TemplateError, "too many values to unpack (expected {})", n.count);
  if (parts.items.size() < n.count)
    return fail(Code::TemplateError, "not enough values to unpack (expected {}, got {})", n.count, parts.items.size());
  for (std::uint32_t k = 0; k < n.count; ++k) LOOM_TRY_VOID(assign(child(n, k), parts.items[k], frame));
  return {};
}

Result<Machine::Flow> Machine::exec_set_block(const Node& n, Frame& frame) {
  enter(n.scope, frame);
  Capture capture(*this);
  LOOM_TRY(const Flow flow, exec(n.body, frame));
  if (flow != Flow::Normal) return flow;
  LOOM_TRY(std::string text, caught(capture));
  Value value = string(std::move(text));
  if (n.b != kNoNode) {
    LOOM_TRY(value, eval_filter(at(n.b), frame, &value));
  }
  LOOM_TRY_VOID(check_namespaces(n.a, frame));
  LOOM_TRY_VOID(assign(n.a, value, frame));
  return flow;
}

Result<Machine::Flow> Machine::exec_filter_block(const Node& n, Frame& frame) {
  enter(n.scope, frame);
  Capture capture(*this);
  LOOM_TRY(const Flow flow, exec(n.body, frame));
  if (flow != Flow::Normal) return flow;
  LOOM_TRY(std::string text, caught(capture));
  const Value subject = string(std::move(text));
  LOOM_TRY(const Value value, eval_filter(at(n.b), frame, &subject));
  LOOM_TRY_VOID(emit_value(value));
  return flow;
}

Result<Machine::Flow> Machine::exec_with(const Node& n, Frame& frame) {
  enter(n.scope, frame);
  for (std::uint32_t k = 0; k + 1 < n.count; k += 2) {
    LOOM_TRY(const Value v, eval(child(n, k + 1), frame));
    LOOM_TRY_VOID(assign(child(n, k), v, frame));
  }
  return exec(n.body, frame);
}

// ---- loops

Result<Machine::Flow> Machine::exec_for(NodeId id, Frame& frame) {
  const Node& n = at(id);
  LOOM_TRY(const Value iterable, eval(n.b, frame));
  if (!n.flag) return run_loop(id, iterable, frame, nullptr, 0);
  LoopObject start(heap);
  start.refs = 1;  // on the stack: never freed by a reference
  start.node = id;
  start.definition = Ref<Frame>(&frame);
  start.depth0 = -1;
  LOOM_TRY(const Value text, recurse(start, iterable));
  LOOM_TRY_VOID(emit_value(text));
  return Flow::Normal;
}

Result<Value> Machine::recurse(LoopObject& loop, const Value& iterable) {
  if (!loop.definition.get())
    return fail(Code::TemplateError, "The loop must have the 'recursive' marker to be called recursively.");
  const Deeper deep(depth_);
  LOOM_TRY_VOID(deeper());
  const Ref<Frame> definition = loop.definition;
  const NodeId id = loop.node;
  const MacroInfo& info = p_.macros[static_cast<std::size_t>(at(id).index)];
  Ref<Frame> frame(new Frame(heap, definition,
                             static_cast<std::size_t>(p_.functions[static_cast<std::size_t>(info.function)].slots)));
  capture(*frame);
  Capture capture(*this);
  LOOM_TRY_VOID(run_loop(id, iterable, *frame, definition.get(), loop.depth0 + 1));
  LOOM_TRY(std::string text, caught(capture));
  return string(std::move(text));
}

Result<Machine::Flow> Machine::run_loop(NodeId id, const Value& iterable, Frame& frame, Frame* definition,
                                        std::int64_t depth0) {
  const Node& n = at(id);
  Ref<LoopObject> loop(new LoopObject(heap));
  struct Keep {  // the loop may still be referenced after it ended
    LoopObject& loop;
    ~Keep() {
      loop.iterating = false;
      if (loop.refs > 1) loop.heap->retain(loop);
    }
  } const keep{*loop};
  LOOM_TRY(auto source, iterate(heap, iterable));
  loop->items = std::move(source.items);
  loop->tail = std::move(source.tail);
  loop->sized = n.c == kNoNode && !iterable.is(Kind::Generator);
  if (loop->sized) loop->length = static_cast<std::int64_t>(loop->items.size());
  loop->depth0 = depth0;
  loop->node = id;
  loop->frame = &frame;
  if (definition) loop->definition = Ref<Frame>(definition);
  LOOM_TRY(loop->height, height_over(loop->items));
  bool none = true;
  while (true) {
    Value value = std::exchange(loop->after, Value());
    if (value.missing()) {
      LOOM_TRY(const bool more, fetch(*loop, value));
      if (!more) break;
    }
    ++loop->index0;
    loop->before = std::exchange(loop->current, value);
    LOOM_TRY_VOID(assign(n.a, value, frame));
    if (n.uses_loop) frame.slots[static_cast<std::size_t>(n.slot)] = Value::of(Kind::Loop, loop.get());
    enter(n.scope, frame);
    LOOM_TRY(const Flow flow, exec(n.body, frame));
    if (flow == Flow::Break) break;
    if (flow == Flow::Normal) none = false;  // as in jinja2, `continue` in every round leaves the else branch to run
  }
  if (n.uses_loop) frame.slots[static_cast<std::size_t>(n.slot)] = Value();
  if (!none || n.otherwise == kNoNode) return Flow::Normal;
  enter(n.scope3, frame);
  return exec(n.otherwise, frame);
}

void Machine::target_slots(NodeId target, std::vector<std::int32_t>& out) const {
  const Node& n = at(target);
  if (n.kind == NodeKind::Name) out.push_back(n.slot);
  if (n.kind == NodeKind::Tuple)
    for (std::uint32_t k = 0; k < n.count; ++k) target_slots(child(n, k), out);
}

// The `if` of a for: runs with the target set, and puts the target's values back, since it may run while the body does
// (loop.last).
Result<bool> Machine::passes(const Node& n, const Value& value, Frame& frame) {
  std::vector<std::int32_t> slots;
  target_slots(n.a, slots);
  std::vector<Value> saved;
  saved.reserve(slots.size());
  for (const std::int32_t s : slots) saved.push_back(frame.slots[static_cast<std::size_t>(s)]);
  enter(n.scope2, frame);
  LOOM_TRY_VOID(assign(n.a, value, frame));
  LOOM_TRY(const Value test, eval(n.c, frame));
  for (std::size_t k = 0; k < slots.size(); ++k) frame.slots[static_cast<std::size_t>(slots[k])] = std::move(saved[k]);
  return truthy(test);
}

Result<bool> Machine::fetch(LoopObject& loop, Value& out) {
  const Node& n = at(loop.node);
  while (loop.next < loop.items.size()) {
    Value value = loop.items[loop.next++];
    LOOM_TRY_VOID(heap.tick());
    if (n.c != kNoNode) {
      if (!loop.iterating) return false;
      LOOM_TRY(const bool pass, passes(n, value, *loop.frame));
      if (!pass) continue;
    }
    out = std::move(value);
    return true;
  }
  if (loop.tail) return tl::make_unexpected(*std::exchange(loop.tail, std::nullopt));
  return false;
}

Result<Value> Machine::loop_peek(LoopObject& loop) {
  if (loop.after.missing()) LOOM_TRY_VOID(fetch(loop, loop.after));
  return loop.after;
}

Result<Value> Machine::loop_length(LoopObject& loop) {
  if (loop.length < 0) {
    std::vector<Value> rest;
    Value v;
    while (true) {
      LOOM_TRY(const bool more, fetch(loop, v));
      if (!more) break;
      rest.push_back(v);
    }
    loop.length = static_cast<std::int64_t>(rest.size()) + loop.index0 + 1 + (loop.after.missing() ? 0 : 1);
    // The remaining items have passed the test already; they are tested again when fetched, which only a changing
    // namespace could show.
    loop.items = std::move(rest);
    loop.next = 0;
  }
  return Value::integer(loop.length);
}

// ---- macros

Result<void> Machine::exec_call_block(NodeId id, Frame& frame) {
  const Node& n = at(id);
  capture(frame);
  const Value caller = Value::of(Kind::Macro, new MacroObject(heap, id, Ref<Frame>(&frame)));
  if (n.kind == NodeKind::Generation) {
    LOOM_TRY(const Value text, call_macro(caller.as<MacroObject>(), {}));
    return emit_value(text);
  }
  LOOM_TRY(const Value value, eval_call(at(n.a), frame, &caller));
  return emit_value(value);
}

Result<Value> Machine::call_macro(const MacroObject& macro, const Arguments& args) {
  const Deeper deep(depth_);
  LOOM_TRY_VOID(deeper());
  const Node& n = at(macro.node);
  const MacroInfo& info = p_.macros[static_cast<std::size_t>(n.index)];
  const std::string& name = p_.strings[n.text];
  Ref<Frame> frame(new Frame(heap, macro.frame,
                             static_cast<std::size_t>(p_.functions[static_cast<std::size_t>(info.function)].slots)));
  const auto slot = [&](std::int32_t s) -> Value& { return frame->slots[static_cast<std::size_t>(s)]; };

  auto keywords = args.keyword;
  const auto take = [&](std::string_view key) {
    heap.spend(1 + keywords.size());
    const auto it = std::ranges::find_if(keywords, [&](const auto& given) { return given.first == key; });
    if (it == keywords.end()) return Value();
    Value out = std::move(it->second);
    keywords.erase(it);
    return out;
  };
  const std::size_t count = info.parameters.size(), given = std::min(count, args.positional.size());
  bool found_caller = false;
  for (std::size_t k = 0; k < count; ++k) {
    const Parameter& p = info.parameters[k];
    slot(p.slot) = k < given ? args.positional[k] : take(p_.strings[p.name]);
    found_caller |= p.name == kCallerName;
  }
  if (info.uses_caller && !found_caller) {
    Value caller = take("caller");
    slot(info.caller_slot) = caller.missing() || caller.is(Kind::None) ? undefined("No caller defined") : caller;
  }
  if (info.kwargs_slot >= 0) {
    std::vector<std::pair<Value, Value>> items;
    items.reserve(keywords.size());
    for (auto& [key, value] : keywords) items.emplace_back(string(key), value);
    LOOM_TRY(slot(info.kwargs_slot), make_dict(heap, std::move(items)));
  } else if (!keywords.empty()) {
    return fail(Code::TemplateError, "macro '{}' takes no keyword argument '{}'", name, keywords[0].first);
  }
  if (info.varargs_slot >= 0) {
    LOOM_TRY(slot(info.varargs_slot),
             make_sequence(heap, Kind::Tuple,
                           {args.positional.begin() + static_cast<std::ptrdiff_t>(given), args.positional.end()}));
  } else if (args.positional.size() > count) {
    return fail(Code::TemplateError, "macro '{}' takes not more than {} argument(s)", name, count);
  }
  enter(n.scope, *frame);
  for (const Parameter& p : info.parameters) {
    if (!slot(p.slot).missing()) continue;
    if (p.fallback == kNoNode) {
      slot(p.slot) = undefined(fmt::format("parameter '{}' was not provided", p_.strings[p.name]));
    } else {
      LOOM_TRY(Value v, eval(p.fallback, *frame));
      slot(p.slot) = std::move(v);
    }
  }
  Capture capture(*this);
  LOOM_TRY_VOID(exec(n.body, *frame));
  LOOM_TRY(std::string text, caught(capture));
  return string(std::move(text));
}

}  // namespace loom::jinja
