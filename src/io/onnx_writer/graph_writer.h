#pragma once
// The bytes of an ONNX model: nodes, constant tensors, inputs and outputs in protobuf's wire format, written without a
// protobuf library. Field numbers are those of onnx.proto.

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::onnx_out {

// Protobuf's wire format: a message is a run of fields, each a tag and a value.
class WireWriter {
 public:
  void varint(std::uint64_t value);
  void number(std::uint32_t field, std::uint64_t value);
  void bytes(std::uint32_t field, std::string_view value);
  void real(std::uint32_t field, float value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// Element types by their numbers in onnx.proto.
enum class TensorType : std::uint8_t { Float = 1, Int64 = 7, Bool = 9 };

// One attribute of a node, as its message.
class NodeAttribute {
 public:
  NodeAttribute(std::string_view name, std::int64_t value);
  NodeAttribute(std::string_view name, float value);
  NodeAttribute(std::string_view name, std::string_view value);
  NodeAttribute(std::string_view name, const std::vector<std::int64_t>& values);
  NodeAttribute(std::string_view name, const std::vector<std::string>& values);
  // A graph that the node runs, as its message.
  static NodeAttribute graph(std::string_view name, std::string_view message);
  const std::string& message() const { return message_.text(); }

 private:
  NodeAttribute() = default;
  WireWriter message_;
};

using Attributes = std::vector<NodeAttribute>;

class GraphWriter {
 public:
  // Names of constants begin with `scope`: a graph inside another one must not repeat names of the outer one.
  explicit GraphWriter(std::string scope = "") : scope_(std::move(scope)) {}

  // Adds a node and returns the names of its outputs, which begin with `place`.
  std::vector<std::string> nodes(std::string_view place, std::string_view op, const std::vector<std::string>& inputs,
                                 const Attributes& attributes, std::size_t outputs);
  std::string node(std::string_view place, std::string_view op, const std::vector<std::string>& inputs,
                   const Attributes& attributes = {}) {
    return nodes(place, op, inputs, attributes, 1)[0];
  }
  // Constant tensors. A second one of the same name is not written.
  std::string floats(const std::string& name, std::span<const std::size_t> shape, std::span<const float> values);
  std::string scalar(float value);
  std::string ints(const std::vector<std::int64_t>& values);  // [n]
  bool has(const std::string& name) const { return constants_.contains(name); }

  // A dimension of -1 is the one that callers choose, named "batch".
  void input(std::string_view name, TensorType type, std::span<const std::int64_t> dims);
  void output(std::string_view name, TensorType type, std::span<const std::int64_t> dims);

  std::size_t num_nodes() const { return num_nodes_; }
  // The message GraphProto.
  std::string message(std::string_view name) const;
  // The file. LimitExceeded beyond the 2 GiB that readers of protobuf take.
  Result<std::string> model(std::string_view name, const std::vector<std::pair<std::string, std::string>>& facts) const;

 private:
  void tensor(const std::string& name, std::span<const std::size_t> shape, TensorType type, std::string_view raw);
  std::string fresh(std::string name);

  std::string scope_;
  WireWriter nodes_, tensors_, inputs_, outputs_;
  std::set<std::string> constants_, values_;
  std::map<std::string, std::size_t> repeats_;
  std::size_t num_nodes_ = 0;
};

}  // namespace loom::onnx_out
