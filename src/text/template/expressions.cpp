// Expressions: names, operators, attributes, calls.

#include <algorithm>
#include <unordered_set>

#include "text/template/interpreter.h"

namespace loom::jinja {
Result<Value> Machine::eval(NodeId id, Frame& frame) {
  const Node& n = at(id);
  if (n.kind == NodeKind::Name) return eval_name(n, frame);
  if (n.kind == NodeKind::Constant) return eval_constant(n);
  const Deeper deep(depth_);
  LOOM_TRY_VOID(deeper());
  return eval_node(n, frame);
}

Result<Value> Machine::eval_node(const Node& n, Frame& frame) {
  switch (n.kind) {
    case NodeKind::List: return eval_sequence(n, Kind::List, frame);
    case NodeKind::Tuple: return eval_sequence(n, Kind::Tuple, frame);
    case NodeKind::Dict: return eval_dict(n, frame);
    case NodeKind::Concat: return eval_concat(n, frame);
    case NodeKind::Chain: return eval_chain(n, frame);
    case NodeKind::Compare: return eval_compare(n, frame);
    case NodeKind::And:
    case NodeKind::Or: return eval_logic(n, frame);
    case NodeKind::Not: {
      LOOM_TRY(const Value v, eval(n.a, frame));
      return Value::boolean(!truthy(v));
    }
    case NodeKind::Negative:
    case NodeKind::Positive: return eval_sign(n, frame);
    case NodeKind::If: return eval_if(n, frame);
    case NodeKind::Attribute: {
      LOOM_TRY(const Value object, eval(n.a, frame));
      line_ = n.line;
      return attribute(object, p_.strings[n.text]);
    }
    case NodeKind::Item: return eval_item(n, frame);
    case NodeKind::Call: return eval_call(n, frame, nullptr);
    case NodeKind::Filter: return eval_filter(n, frame, nullptr);
    case NodeKind::Test: return eval_test(n, frame);
    default: return fail(Code::TemplateError, "this cannot stand in an expression");
  }
}

Result<Value> Machine::eval_name(const Node& n, Frame& frame) {
  LOOM_TRY_VOID(heap.tick());
  const Value& v = variable(n, frame);
  if (v.missing()) return undefined(fmt::format("'{}' is undefined", p_.strings[n.text]));
  return v;
}

Result<Value> Machine::eval_constant(const Node& n) {
  LOOM_TRY_VOID(heap.tick());
  const Constant& c = p_.constants[n.text];
  switch (c.type) {
    case Constant::Type::None: return Value::none();
    case Constant::Type::False: return Value::boolean(false);
    case Constant::Type::True: return Value::boolean(true);
    case Constant::Type::Int: return Value::integer(c.integer);
    case Constant::Type::Float: return Value::number(c.real);
    case Constant::Type::String: break;
  }
  Value& cached = constants_[n.text];
  if (cached.missing()) cached = string(p_.strings[c.text]);
  return cached;
}

Result<Value> Machine::eval_sequence(const Node& n, Kind kind, Frame& frame) {
  std::vector<Value> items;
  items.reserve(n.count);
  for (std::uint32_t k = 0; k < n.count; ++k) {
    LOOM_TRY(Value v, eval(child(n, k), frame));
    items.push_back(std::move(v));
  }
  return make_sequence(heap, kind, std::move(items));
}

Result<Value> Machine::eval_dict(const Node& n, Frame& frame) {
  std::vector<std::pair<Value, Value>> items;
  items.reserve(n.count / 2);
  for (std::uint32_t k = 0; k + 1 < n.count; k += 2) {
    LOOM_TRY(Value key, eval(child(n, k), frame));
    LOOM_TRY(Value value, eval(child(n, k + 1), frame));
    items.emplace_back(std::move(key), std::move(value));
  }
  return make_dict(heap, std::move(items));
}

Result<Value> Machine::eval_concat(const Node& n, Frame& frame) {
  TextBuilder text(heap);
  for (std::uint32_t k = 0; k < n.count; ++k) {
    LOOM_TRY(const Value v, eval(child(n, k), frame));
    if (v.is(Kind::String)) {
      text.add(v.s());
    } else {
      LOOM_TRY(const std::string s, to_str(heap, v));
      text.add(s);
    }
  }
  LOOM_TRY(std::string all, text.finish());
  return string(std::move(all));
}

Result<Value> Machine::eval_chain(const Node& n, Frame& frame) {
  LOOM_TRY(Value left, eval(n.a, frame));
  for (std::uint32_t k = 0; k < n.count; ++k) {
    const Node& operand = at(child(n, k));
    LOOM_TRY(const Value right, eval(operand.a, frame));
    line_ = operand.line;
    LOOM_TRY(left, arithmetic(*this, operand.op, left, right));
  }
  return left;
}

Result<Value> Machine::eval_compare(const Node& n, Frame& frame) {
  LOOM_TRY(Value left, eval(n.a, frame));
  for (std::uint32_t k = 0; k < n.count; ++k) {
    const Node& operand = at(child(n, k));
    LOOM_TRY(Value right, eval(operand.a, frame));
    line_ = operand.line;
    LOOM_TRY(const bool holds, compare(*this, operand.op, left, right));
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Result<Value> Machine::eval_logic(const Node& n, Frame& frame) {
  Value v;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    LOOM_TRY(v, eval(child(n, k), frame));
    if (truthy(v) == (n.kind == NodeKind::Or)) break;
  }
  return v;
}

Result<Value> Machine::eval_sign(const Node& n, Frame& frame) {
  LOOM_TRY(const Value v, eval(n.a, frame));
  if (v.undefined()) return undefined_error(v);
  const bool minus = n.kind == NodeKind::Negative;
  if (v.is(Kind::Float)) return Value::number(minus ? -v.f() : v.f());
  if (!v.integral())
    return fail(Code::TemplateError, "bad operand type for unary {}: '{}'", minus ? '-' : '+', type_name(v));
  if (!minus) return Value::integer(v.i());
  return arithmetic(*this, Op::Sub, Value::integer(0), v);
}

Result<Value> Machine::eval_if(const Node& n, Frame& frame) {
  LOOM_TRY(const Value test, eval(n.b, frame));
  if (truthy(test)) return eval(n.a, frame);
  if (n.c != kNoNode) return eval(n.c, frame);
  return undefined(
      fmt::format("the inline if-expression on line {} evaluated to false and no else section was defined.", n.line));
}

// ---- attributes and items

namespace {
constexpr std::string_view kDunders[] = {"__class__",        "__doc__",
                                         "__dir__",          "__eq__",
                                         "__ge__",           "__gt__",
                                         "__le__",           "__lt__",
                                         "__ne__",           "__hash__",
                                         "__init__",         "__new__",
                                         "__reduce__",       "__reduce_ex__",
                                         "__repr__",         "__setattr__",
                                         "__delattr__",      "__getattribute__",
                                         "__sizeof__",       "__str__",
                                         "__subclasshook__", "__init_subclass__",
                                         "__format__",       "__getstate__"};

std::string object_repr(const Value& v) {
  if (v.is(Kind::None)) return "None";
  return fmt::format("{} object", v.is(Kind::Namespace) ? "jinja2.utils.Namespace"
                                  : v.is(Kind::Macro)   ? "jinja2.runtime.Macro"
                                  : v.is(Kind::Loop)    ? "jinja2.runtime.LoopContext"
                                                        : type_name(v));
}
}  // namespace

Result<Value> Machine::refused(const Value& object, std::string_view name) {
  return undefined(
      fmt::format("access to attribute {} of '{}' object is unsafe.", repr_string(shortened(name)), type_name(object)));
}

Result<Value> Machine::loop_attribute(const Value& value, std::string_view name) {
  auto& loop = value.as<LoopObject>();
  const std::int64_t index = loop.index0 + 1;
  if (name == "index") return Value::integer(index);
  if (name == "index0") return Value::integer(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "depth") return Value::integer(loop.depth0 + 1);
  if (name == "depth0") return Value::integer(loop.depth0);
  if (name == "previtem") return loop.index0 == 0 ? undefined("there is no previous item") : loop.before;
  if (name == "last" || name == "nextitem") {
    LOOM_TRY(Value next, loop_peek(loop));
    if (name == "last") return Value::boolean(next.missing());
    return next.missing() ? undefined("there is no next item") : next;
  }
  if (name == "length" || name == "revindex" || name == "revindex0") {
    LOOM_TRY(Value length, loop_length(loop));
    if (name == "length") return length;
    return Value::integer(length.i() - (name == "revindex" ? loop.index0 : index));
  }
  return Value();
}

// getattr(object, name): Missing when there is no such attribute.
Result<Value> Machine::plain_attribute(const Value& object, std::string_view name, bool& found) {
  found = true;
  if (object.is(Kind::Namespace)) {
    if (const Value* v = object.as<NamespaceObject>().find(name)) return *v;
    found = name == "__class__";
    return refused(object, name);
  }
  if (object.is(Kind::Loop)) {
    LOOM_TRY(Value v, loop_attribute(object, name));
    if (!v.missing()) return v;
  }
  if (const MethodEntry* method = find_method(object, name)) {
    if (!method->run) return refused(object, name);
    return Value::of(Kind::Method, new MethodObject(heap, object, method));
  }
  if (object.is(Kind::Tuple) && object.as<SequenceObject>().named) {
    if (name == "grouper") return object.items()[0];
    if (name == "list") return object.items()[1];
  }
  if (object.is(Kind::Cycler) && name == "current")
    return object.as<CyclerObject>().items[object.as<CyclerObject>().position];
  if (object.is(Kind::Macro) && name == "arguments") {
    std::vector<Value> names;
    for (const Parameter& p : macro_info(object).parameters) names.push_back(string(p_.strings[p.name]));
    return make_sequence(heap, Kind::Tuple, std::move(names));
  }
  if (object.is(Kind::Macro) && name == "catch_kwargs") return Value::boolean(macro_info(object).kwargs_slot >= 0);
  if (object.is(Kind::Macro) && name == "catch_varargs") return Value::boolean(macro_info(object).varargs_slot >= 0);
  if (object.is(Kind::Macro) && name == "caller") return Value::boolean(macro_info(object).uses_caller);
  if (object.is(Kind::Macro) && name == "name") return string(p_.strings[at(object.as<MacroObject>().node).text]);
  if ((object.integral() || object.is(Kind::Float)) && name == "real")
    return object.is(Kind::Bool) ? Value::integer(object.i()) : object;
  if (object.integral() && name == "numerator") return Value::integer(object.i());
  if (object.integral() && name == "denominator") return Value::integer(1);
  if (object.integral() && name == "imag") return Value::integer(0);
  if (object.is(Kind::Float) && name == "imag") return Value::number(0);
  if (name.substr(0, 2) == "__" && std::find(std::begin(kDunders), std::end(kDunders), name) != std::end(kDunders))
    return refused(object, name);
  found = false;
  return Value();
}

// object[key] as Python has it: Missing where Python raises TypeError or LookupError.
Result<Value> Machine::subscript(const Value& object, const Value& key) {
  switch (object.kind()) {
    case Kind::Undefined: return undefined_error(object);
    case Kind::Dict: {
      const Value* v = object.dict().find(key);
      return v ? *v : Value();
    }
    case Kind::String:
    case Kind::List:
    case Kind::Tuple:
    case Kind::Range: {
      if (!key.integral()) return Value();
      LOOM_TRY(const std::int64_t length, length_of(object));
      const std::int64_t k = key.i() < 0 ? key.i() + length : key.i();
      if (k < 0 || k >= length) return Value();
      if (object.sequence()) return object.items()[static_cast<std::size_t>(k)];
      if (object.is(Kind::Range))
        return Value::integer(object.as<RangeObject>().start + k * object.as<RangeObject>().step);
      return slice(*this, object, Value::integer(k), Value::integer(k + 1), Value::integer(1));
    }
    default: return Value();
  }
}

Result<Value> Machine::attribute(const Value& object, std::string_view name) {
  LOOM_TRY_VOID(heap.scan(name.size()));
  if (object.undefined()) {
    if (name.size() < 4 || name.substr(0, 2) != "__" || name.substr(name.size() - 2) != "__")
      return undefined_error(object);
  }
  bool found = false;
  LOOM_TRY(Value v, plain_attribute(object, name, found));
  if (found) {
    if (name[0] == '_' && !v.undefined()) return refused(object, name);
    return v;
  }
  if (object.is(Kind::Dict)) {
    if (const Value* item = object.dict().find(name)) return *item;
  } else if (object.undefined()) {
    return undefined_error(object);
  }
  return undefined(
      fmt::format("{} has no attribute {}", repr_string(object_repr(object)), repr_string(shortened(name))));
}

Result<Value> Machine::item(const Value& object, const Value& key) {
  LOOM_TRY(Value v, subscript(object, key));
  if (!v.missing()) return v;
  if (!key.is(Kind::String)) {
    LOOM_TRY(const std::string shown, to_repr(heap, key));
    return undefined(fmt::format("{} has no element {}", object_repr(object), shown));
  }
  bool found = false;
  LOOM_TRY(v, plain_attribute(object, key.s(), found));
  if (found) return key.s()[0] == '_' && !v.undefined() ? refused(object, key.s()) : v;
  return undefined(
      fmt::format("{} has no attribute {}", repr_string(object_repr(object)), repr_string(shortened(key.s()))));
}

Result<Value> Machine::eval_item(const Node& n, Frame& frame) {
  LOOM_TRY(const Value object, eval(n.a, frame));
  const Node& key = at(n.b);
  if (key.kind != NodeKind::Slice) {
    LOOM_TRY(const Value k, eval(n.b, frame));
    line_ = n.line;
    return item(object, k);
  }
  Value part[3];
  const NodeId ids[3] = {key.a, key.b, key.c};
  for (int k = 0; k < 3; ++k) {
    part[k] = Value::none();
    if (ids[k] != kNoNode) {
      LOOM_TRY(part[k], eval(ids[k], frame));
    }
  }
  line_ = n.line;
  return slice(*this, object, part[0], part[1], part[2]);
}

// ---- calls

Result<Arguments> Machine::arguments(const Node& n, Frame& frame) {
  Arguments out;
  for (std::uint32_t k = 0; k < n.count; ++k) {
    const Node& argument = at(child(n, k));
    LOOM_TRY(Value v, eval(argument.a, frame));
    if (argument.op == Op::Positional) {
      out.positional.push_back(std::move(v));
    } else if (argument.op == Op::Keyword) {
      out.keyword.emplace_back(p_.strings[argument.text], std::move(v));
    } else if (argument.op == Op::Star) {
      LOOM_TRY(auto items, to_list(heap, v));
      out.positional.insert(out.positional.end(), items.begin(), items.end());
    } else {
      if (v.undefined()) continue;
      if (!v.is(Kind::Dict))
        return fail(Code::TemplateError, "argument after ** must be a mapping, not {}", type_name(v));
      std::unordered_set<std::string_view> names;  // views of the program's strings and of the mapping's keys
      for (std::uint32_t other = 0; other < k; ++other) {
        const Node& named = at(child(n, other));
        if (named.op == Op::Keyword) names.insert(p_.strings[named.text]);
      }
      for (const auto& [key, value] : v.dict().items) {
        if (!key.is(Kind::String)) return fail(Code::TemplateError, "keywords must be strings");
        LOOM_TRY_VOID(heap.tick(1 + key.s().size() / 64));
        if (!names.insert(key.s()).second)
          return fail(Code::TemplateError, "got multiple values for keyword argument '{}'", key.s());
        out.keyword.emplace_back(std::string(key.s()), value);
      }
    }
  }
  return out;
}

Result<Value> Machine::eval_call(const Node& n, Frame& frame, const Value* caller) {
  LOOM_TRY(const Value callee, eval(n.a, frame));
  LOOM_TRY(Arguments args, arguments(n, frame));
  if (caller) {
    for (const auto& other : args.keyword)
      if (other.first == "caller")
        return fail(Code::TemplateError, "got multiple values for keyword argument 'caller'");
    args.keyword.emplace_back("caller", *caller);
  }
  line_ = n.line;
  return call(callee, args);
}

Result<Value> Machine::call(const Value& callee, const Arguments& args) {
  switch (callee.kind()) {
    case Kind::Undefined: return undefined_error(callee);
    case Kind::Macro: {
      const Value keep = callee;  // the macro may replace the variable that holds it
      return call_macro(keep.as<MacroObject>(), args);
    }
    case Kind::Function:
    case Kind::Method: {
      const Value keep = callee;
      const auto& method = keep.as<MethodObject>();
      return method.entry->run(*this, method.self, args);
    }
    case Kind::Loop: {
      const Value keep = callee;
      LOOM_TRY(auto a, args.bind("loop()", {"iterable"}, 1));
      return recurse(keep.as<LoopObject>(), a[0]);
    }
    case Kind::Joiner: {
      auto& joiner = callee.as<CyclerObject>();
      LOOM_TRY_VOID(args.none("joiner()"));
      return joiner.position++ == 0 ? string("") : joiner.items[0];
    }
    default: return fail(Code::TemplateError, "'{}' object is not callable", type_name(callee));
  }
}

Result<Value> Machine::eval_filter(const Node& n, Frame& frame, const Value* subject) {
  LOOM_TRY_VOID(stack_room());
  Value v;
  if (n.a != kNoNode) {
    const Node& inner = at(n.a);
    // In a filter block the innermost filter of a chain has no subject of its own.
    if (subject && inner.kind == NodeKind::Filter) {
      LOOM_TRY(v, eval_filter(inner, frame, subject));
    } else {
      LOOM_TRY(v, eval(n.a, frame));
    }
  } else if (subject) {
    v = *subject;
  }
  LOOM_TRY(const Arguments args, arguments(n, frame));
  line_ = n.line;
  if (n.index < 0) return fail(Code::TemplateError, "No filter named {} found.", repr_string(p_.strings[n.text]));
  return filter_entry(n.index).run(*this, v, args);
}

Result<Value> Machine::eval_test(const Node& n, Frame& frame) {
  LOOM_TRY(const Value v, eval(n.a, frame));
  LOOM_TRY(const Arguments args, arguments(n, frame));
  line_ = n.line;
  if (n.index < 0) return fail(Code::TemplateError, "No test named {} found.", repr_string(p_.strings[n.text]));
  LOOM_TRY(const bool holds, test_entry(n.index).run(*this, v, args));
  return Value::boolean(holds != n.flag);
}

}  // namespace loom::jinja
