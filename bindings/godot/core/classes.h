// The table of classes, methods and signals. Both engines register what it lists.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "object.h"

namespace loom_godot {

struct Argument {
  std::string name;
  Kind kind;
};

struct Method {
  std::string name;
  Kind result;
  std::vector<Argument> arguments;
  std::vector<Value> defaults;  // of the last arguments
  std::function<Value(Object&, std::vector<Value>&)> call;
};

struct Class {
  std::string name;
  std::vector<Method> methods;
  std::function<std::unique_ptr<Object>()> create;
};

struct Signal {
  std::string name;
  std::vector<std::string> arguments;  // texts
};

const std::vector<Class>& classes();
// Every class has them.
const std::vector<Signal>& signals();

// Calls a method with the arguments of a script. Wrong ones are an error of the object, with the result's default.
Value invoke(const Class& of, const Method& method, Object& object, std::vector<Value> arguments);

}  // namespace loom_godot
