#include "io/onnx_writer/graph_writer.h"

#include <fmt/format.h>

#include "core/little_endian.h"

namespace loom::onnx_out {
namespace {

constexpr std::int64_t kIrVersion = 8, kOpset = 17;

// Types of attributes by their numbers in onnx.proto.
constexpr std::uint64_t kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kInts = 7, kStrings = 8;

template <class T>
std::string raw_bytes(std::span<const T> values) {
  std::string raw(values.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < values.size(); ++i)
    store_le(reinterpret_cast<std::byte*>(raw.data()) + i * sizeof(T), values[i]);
  return raw;
}

std::string value_info(std::string_view name, TensorType type, std::span<const std::int64_t> dims) {
  WireWriter shape, tensor, wrapped, info;
  for (const std::int64_t d : dims) {
    WireWriter dim;
    d < 0 ? dim.bytes(2, "batch") : dim.number(1, static_cast<std::uint64_t>(d));
    shape.bytes(1, dim.text());
  }
  tensor.number(1, static_cast<std::uint64_t>(type));
  tensor.bytes(2, shape.text());
  wrapped.bytes(1, tensor.text());
  info.bytes(1, name);
  info.bytes(2, wrapped.text());
  return info.text();
}

}  // namespace

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
  text_ += static_cast<char>(value);
}

void WireWriter::number(std::uint32_t field, std::uint64_t value) {
  varint(field << 3);
  varint(value);
}

void WireWriter::bytes(std::uint32_t field, std::string_view value) {
  varint(field << 3 | 2);
  varint(value.size());
  text_ += value;
}

void WireWriter::real(std::uint32_t field, float value) {
  varint(field << 3 | 5);
  text_ += raw_bytes(std::span<const float>(&value, 1));
}

NodeAttribute::NodeAttribute(std::string_view name, std::int64_t value) {
  message_.bytes(1, name);
  message_.number(3, static_cast<std::uint64_t>(value));
  message_.number(20, kInt);
}

NodeAttribute::NodeAttribute(std::string_view name, float value) {
  message_.bytes(1, name);
  message_.real(2, value);
  message_.number(20, kFloat);
}

NodeAttribute::NodeAttribute(std::string_view name, std::string_view value) {
  message_.bytes(1, name);
  message_.bytes(4, value);
  message_.number(20, kString);
}

NodeAttribute::NodeAttribute(std::string_view name, const std::vector<std::int64_t>& values) {
  message_.bytes(1, name);
  for (const std::int64_t v : values) message_.number(8, static_cast<std::uint64_t>(v));
  message_.number(20, kInts);
}

NodeAttribute::NodeAttribute(std::string_view name, const std::vector<std::string>& values) {
  message_.bytes(1, name);
  for (const std::string& v : values) message_.bytes(9, v);
  message_.number(20, kStrings);
}

NodeAttribute NodeAttribute::graph(std::string_view name, std::string_view message) {
  NodeAttribute out;
  out.message_.bytes(1, name);
  out.message_.bytes(6, message);
  out.message_.number(20, kGraph);
  return out;
}

std::string GraphWriter::fresh(std::string name) {
  if (values_.insert(name).second) return name;
  std::string numbered;
  do numbered = fmt::format("{}_{}", name, ++repeats_[name] + 1);
  while (!values_.insert(numbered).second);
  return numbered;
}

std::vector<std::string> GraphWriter::nodes(std::string_view place, std::string_view op,
                                            const std::vector<std::string>& inputs, const Attributes& attributes,
                                            std::size_t outputs) {
  WireWriter node;
  std::vector<std::string> names;
  names.reserve(outputs);
  const std::string name = fresh(fmt::format("{}/{}", place, op));
  for (std::size_t i = 0; i < outputs; ++i) names.push_back(i == 0 ? name : fresh(fmt::format("{}:{}", name, i)));
  for (const std::string& input : inputs) node.bytes(1, input);
  for (const std::string& output : names) node.bytes(2, output);
  node.bytes(3, name);
  node.bytes(4, op);
  for (const NodeAttribute& a : attributes) node.bytes(5, a.message());
  nodes_.bytes(1, node.text());
  ++num_nodes_;
  return names;
}

void GraphWriter::tensor(const std::string& name, std::span<const std::size_t> shape, TensorType type,
                         std::string_view raw) {
  if (!constants_.insert(name).second) return;
  values_.insert(name);
  WireWriter out;
  for (const std::size_t d : shape) out.number(1, d);
  out.number(2, static_cast<std::uint64_t>(type));
  out.bytes(8, name);
  out.bytes(9, raw);
  tensors_.bytes(5, out.text());
}

std::string GraphWriter::floats(const std::string& name, std::span<const std::size_t> shape,
                                std::span<const float> values) {
  if (!has(name)) tensor(name, shape, TensorType::Float, raw_bytes(values));
  return name;
}

std::string GraphWriter::scalar(float value) {
  return floats(fmt::format("{}constant/{:08x}", scope_, std::bit_cast<std::uint32_t>(value)), {}, {&value, 1});
}

std::string GraphWriter::ints(const std::vector<std::int64_t>& values) {
  const std::string name = fmt::format("{}constant/[{}]", scope_, fmt::join(values, ","));
  const std::size_t count = values.size();
  if (!has(name)) tensor(name, {&count, 1}, TensorType::Int64, raw_bytes(std::span<const std::int64_t>(values)));
  return name;
}

void GraphWriter::input(std::string_view name, TensorType type, std::span<const std::int64_t> dims) {
  values_.insert(std::string(name));
  inputs_.bytes(11, value_info(name, type, dims));
}

void GraphWriter::output(std::string_view name, TensorType type, std::span<const std::int64_t> dims) {
  outputs_.bytes(12, value_info(name, type, dims));
}

std::string GraphWriter::message(std::string_view name) const {
  WireWriter title;
  title.bytes(2, name);
  std::string text;
  text.reserve(nodes_.text().size() + tensors_.text().size() + inputs_.text().size() + outputs_.text().size() + 256);
  for (const WireWriter* part : {&nodes_, static_cast<const WireWriter*>(&title), &tensors_, &inputs_, &outputs_})
    text += part->text();
  return text;
}

Result<std::string> GraphWriter::model(std::string_view name,
                                       const std::vector<std::pair<std::string, std::string>>& facts) const {
  WireWriter opset, out;
  opset.bytes(1, "");
  opset.number(2, kOpset);
  out.number(1, kIrVersion);
  out.bytes(2, "loom");
  out.bytes(7, message(name));
  out.bytes(8, opset.text());
  for (const auto& [key, value] : facts) {
    WireWriter entry;
    entry.bytes(1, key);
    entry.bytes(2, value);
    out.bytes(14, entry.text());
  }
  constexpr std::size_t kMostBytes = 0x7fffffff;
  if (out.text().size() > kMostBytes)
    return fail(Code::LimitExceeded, "the ONNX file would have {} bytes; readers of protobuf take 2 GiB",
                out.text().size());
  return out.text();
}

}  // namespace loom::onnx_out
