#include "classes.h"

#include <cmath>
#include <utility>

#include "language.h"
#include "networks.h"

namespace loom_godot {
namespace {

constexpr const char* kKindNames[] = {"nothing", "true or false", "a whole number", "a number",
                                      "a text",  "numbers",       "bytes",          "an object of Loom"};

template <class C, class R, class... A, std::size_t... I>
Value call_with(Object& object, R (C::*function)(A...), std::vector<Value>& values, std::index_sequence<I...>) {
  C& self = static_cast<C&>(object);
  if constexpr (std::is_void_v<R>) {
    (self.*function)(std::get<A>(std::move(values[I]))...);
    return {};
  } else {
    return Value(std::in_place_type<R>, (self.*function)(std::get<A>(std::move(values[I]))...));
  }
}

template <class C, class R, class... A>
Method method(const char* name, R (C::*function)(A...), std::vector<std::string> names = {},
              std::vector<Value> defaults = {}) {
  Method out{name, kind_of<R>(), {}, std::move(defaults), {}};
  const Kind kinds[] = {kind_of<A>()..., Kind::kNothing};
  for (std::size_t i = 0; i < names.size(); ++i) out.arguments.push_back({names[i], kinds[i]});
  out.call = [function](Object& object, std::vector<Value>& values) {
    return call_with(object, function, values, std::index_sequence_for<A...>());
  };
  return out;
}
template <class C, class R>
Method method(const char* name, R (C::*function)() const) {
  Method out{name, kind_of<R>(), {}, {}, {}};
  out.call = [function](Object& object, std::vector<Value>&) {
    return Value(std::in_place_type<R>, (static_cast<C&>(object).*function)());
  };
  return out;
}

template <class C>
Class make(const char* name, std::vector<Method> own) {
  Class out{name, std::move(own), [] { return std::unique_ptr<Object>(std::make_unique<C>()); }};
  out.methods.push_back(method("poll", &Object::poll));
  out.methods.push_back(method("cancel", &Object::cancel));
  out.methods.push_back(method("is_busy", &Object::is_busy));
  out.methods.push_back(method("error_code", &Object::error_code));
  out.methods.push_back(method("error_text", &Object::error_text));
  return out;
}

Value integer(std::int64_t value) { return Value(std::in_place_type<std::int64_t>, value); }

std::vector<Class> make_classes() {
  std::vector<Class> out;
  out.push_back(make<Model>(
      "LoomModel",
      {method("load_model", &Model::load_model, {"path"}),
       method("load_model_async", &Model::load_model_async, {"path"}), method("is_loaded", &Model::is_loaded),
       method("generate", &Model::generate, {"prompt", "max_tokens"}, {integer(128)}),
       method("stream", &Model::stream, {"prompt", "max_tokens"}, {integer(128)}),
       method("set_option", &Model::set_option, {"name", "value"}), method("info", &Model::info),
       method("text", &Model::text), method("hash", &Model::hash)}));
  out.push_back(make<Chat>(
      "LoomChat",
      {method("begin", &Chat::begin, {"model", "system"}, {std::string()}), method("ask", &Chat::ask, {"text"}),
       method("say", &Chat::say, {"text"}), method("messages", &Chat::messages),
       method("set_messages", &Chat::set_messages, {"json"}), method("rewind", &Chat::rewind, {"count"}),
       method("save_chat", &Chat::save_chat, {"path"}), method("load_chat", &Chat::load_chat, {"path"}),
       method("text", &Chat::text), method("hash", &Chat::hash)}));
  const std::vector<std::string> batch = {"inputs", "targets", "samples", "steps", "config"};
  out.push_back(make<Network>(
      "LoomNetwork",
      {method("load_network", &Network::load_network, {"path_or_spec"}),
       method("save_network", &Network::save_network, {"path"}), method("is_loaded", &Network::is_loaded),
       method("forward", &Network::forward, {"input", "shape"}, {Floats()}),
       method("output_shape", &Network::output_shape),
       method("train", &Network::train, batch, {integer(1), std::string()}),
       method("train_async", &Network::train_async, batch, {integer(1), std::string()}),
       method("teach", &Network::teach, {"inputs", "targets", "samples", "rate"}, {0.05}),
       method("hash", &Network::hash), method("info", &Network::info), method("morph", &Network::morph, {"dtype"})}));
  out.push_back(make<Mesh>(
      "LoomMesh",
      {method("open", &Mesh::open, {"network", "states", "inputs"}), method("count", &Mesh::count),
       method("set_input", &Mesh::set_input, {"state", "values"}), method("set_inputs", &Mesh::set_inputs, {"values"}),
       method("step", &Mesh::step, {"ticks"}, {integer(1)}), method("output", &Mesh::output, {"state"}),
       method("outputs", &Mesh::outputs), method("teach", &Mesh::teach, {"targets", "rate"}, {0.05}),
       method("hash", &Mesh::hash, {"state"}), method("ticks", &Mesh::ticks),
       method("snapshot", &Mesh::snapshot, {"state"}), method("restore", &Mesh::restore, {"state", "bytes"}),
       method("reset", &Mesh::reset, {"state"})}));
  return out;
}

// The value of a kind that stands for none.
Value none_of(Kind kind) {
  switch (kind) {
    case Kind::kBool: return false;
    case Kind::kInteger: return integer(0);
    case Kind::kNumber: return 0.0;
    case Kind::kText: return std::string();
    case Kind::kFloats: return Floats();
    case Kind::kBytes: return Bytes();
    case Kind::kObject: return static_cast<Object*>(nullptr);
    default: return {};
  }
}

// Gives a value the kind of an argument, where nothing is lost.
bool convert(Value& value, Kind kind) {
  const Kind from = static_cast<Kind>(value.index());
  if (from == kind) return true;
  if (kind == Kind::kNumber && from == Kind::kInteger) {
    value = static_cast<double>(std::get<std::int64_t>(value));
    return true;
  }
  if (kind == Kind::kInteger && from == Kind::kNumber) {
    const double number = std::get<double>(value);
    if (!(std::abs(number) < 9.0e15) || number != std::floor(number)) return false;
    value = integer(static_cast<std::int64_t>(number));
    return true;
  }
  if (kind == Kind::kObject && from == Kind::kNothing) {
    value = static_cast<Object*>(nullptr);
    return true;
  }
  return false;
}

}  // namespace

const std::vector<Class>& classes() {
  static const std::vector<Class> all = make_classes();
  return all;
}

const std::vector<Signal>& signals() {
  static const std::vector<Signal> all = {
      {"token", {"text"}}, {"finished", {"text"}}, {"failed", {"code", "text"}}, {"loaded", {}}};
  return all;
}

Value invoke(const Class& of, const Method& method, Object& object, std::vector<Value> arguments) {
  const std::string place = of.name + "." + method.name + ": ";
  const std::size_t most = method.arguments.size(), least = most - method.defaults.size();
  if (arguments.size() < least || arguments.size() > most) {
    object.fail("InvalidArgument", place + "expected " + std::to_string(least) +
                                       (least == most ? "" : " to " + std::to_string(most)) + " arguments, got " +
                                       std::to_string(arguments.size()));
    return none_of(method.result);
  }
  while (arguments.size() < most) arguments.push_back(method.defaults[arguments.size() - least]);
  for (std::size_t i = 0; i < most; ++i) {
    const Argument& argument = method.arguments[i];
    const char* came = kKindNames[arguments[i].index()];
    if (convert(arguments[i], argument.kind)) continue;
    object.fail("InvalidArgument", place + argument.name + ": expected " +
                                       kKindNames[static_cast<std::size_t>(argument.kind)] + ", got " + came);
    return none_of(method.result);
  }
  return method.call(object, arguments);
}

}  // namespace loom_godot
