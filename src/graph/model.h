#pragma once
// A graph of operations over named values: what an ONNX file says, without its bytes.

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/value.h"

namespace loom::graph {

struct Body;

struct Attribute {
  enum class Kind : std::uint8_t { integer, number, text, integers, numbers, texts, tensor, body } kind = Kind::integer;
  std::int64_t integer = 0;
  double number = 0;
  std::string text;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::vector<std::string> texts;
  Value tensor;
  std::shared_ptr<const Body> body;
};

struct Node {
  std::string op, domain, name;              // domain "": ONNX's own operations
  std::vector<std::string> inputs, outputs;  // an empty name: left out
  std::vector<std::pair<std::string, Attribute>> attributes;

  const Attribute* find(std::string_view key) const {
    for (const auto& [name_of_it, value] : attributes)
      if (name_of_it == key) return &value;
    return nullptr;
  }
};

// The description of an input or an output in a file.
struct InputInfo {
  std::string name;
  Type type = Type::none;  // none: not said
  bool has_shape = false;
  std::vector<std::int64_t> dims{};  // -1: any
};

struct Body {
  std::vector<InputInfo> inputs;
  std::vector<std::string> outputs;
  std::vector<InputInfo> output_infos;  // one each, where the file has them
  std::vector<Node> nodes;
  std::vector<std::pair<std::string, Value>> constants;
};

// An attribute that an operation knows: its kind as a spec has it ("i", "ints"), and the choices of a text, if any.
struct KnownAttribute {
  std::string name, kind;
  std::vector<std::string> choices;
  int below = 0;  // known in opsets below this one alone, since an input has taken its place; 0: in all
};
// Returns the attributes of an operation by its full name.
std::vector<KnownAttribute> known_attributes(std::string_view op);
std::vector<std::string> operations_with_attributes();

inline constexpr int kLeastOpset = 7, kMostOpset = 28;

struct Model {
  int opset = 17;
  Body body;
};

// Unsupported, with every operation that Loom lacks; UnknownKey or InvalidConfig for an attribute that its operation
// does not know or that holds another type; CorruptData for a name that two nodes, an input or a constant give.
Result<void> check_model(const Model& model);

}  // namespace loom::graph
