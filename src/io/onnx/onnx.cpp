#include "io/onnx/onnx.h"

#include <algorithm>
#include <cstdint>
#include <array>
#include <charconv>
#include <optional>

#include "core/checked.h"
#include "core/file.h"
#include "core/nearest.h"
#include "io/onnx/wire.h"

namespace loom {
namespace {

using graph::Attribute;
using graph::Body;
using graph::InputInfo;
using graph::Model;
using graph::Node;
using graph::Type;
using graph::Value;

constexpr int kMostDepth = 16;  // of bodies inside of bodies
constexpr std::size_t kMostAxes = 16;

using Bytes = std::span<const std::byte>;

// Fields are numbered as in onnx.proto.
struct TensorParts {
  std::string name;
  graph::Dims dims;
  std::int64_t type = 0;
  std::vector<std::uint64_t> numbers;  // bits of float_data, int32_data, int64_data, double_data, uint64_data
  Bytes raw{};
  bool has_raw = false, external = false, has_texts = false;
  std::vector<std::pair<std::string, std::string>> places;
};

Result<std::pair<std::string, std::string>> entry_of(Bytes bytes) {
  std::pair<std::string, std::string> entry;
  for (WireReader reader(bytes); !reader.done();) {
    LOOM_TRY(const WireField field, reader.next());
    if (field.number != 1 && field.number != 2) continue;
    LOOM_TRY((field.number == 1 ? entry.first : entry.second), field.text());
  }
  return entry;
}

Result<void> tensor_field(const WireField& field, TensorParts& parts) {
  const auto number = [&](std::uint64_t bits) { parts.numbers.push_back(bits); };
  switch (field.number) {
    case 1: return each_number(field, 0, [&](std::uint64_t d) { parts.dims.push_back(static_cast<std::size_t>(d)); });
    case 2: {
      LOOM_TRY(parts.type, field.integer());
      return {};
    }
    case 4: return each_number(field, 5, number);
    case 5:
    case 7:
    case 11: return each_number(field, 0, number);
    case 10: return each_number(field, 1, number);
    case 6: parts.has_texts = true; return {};
    case 8: {
      LOOM_TRY(parts.name, field.text());
      return {};
    }
    case 9: {
      LOOM_TRY(parts.raw, field.message());
      parts.has_raw = true;
      return {};
    }
    case 13: {
      LOOM_TRY(const Bytes bytes, field.message());
      LOOM_TRY(auto entry, entry_of(bytes));
      parts.places.push_back(std::move(entry));
      return {};
    }
    case 14: {
      LOOM_TRY(const std::int64_t where, field.integer());
      parts.external = where != 0;
      return {};
    }
    default: return {};
  }
}

Result<std::uint64_t> whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fail(Code::CorruptData, "external data: \"{}\"", text.substr(0, 40));
  return value;
}

// The bytes of a tensor that is stored in another file: location, offset and length.
Result<Value> external_tensor(const TensorParts& parts, const OnnxOptions& options) {
  std::string location;
  std::uint64_t offset = 0, length = 0;
  bool has_length = false;
  for (const auto& [key, text] : parts.places) {
    if (key == "location") {
      location = text;
    } else if (key == "offset") {
      LOOM_TRY(offset, whole_number(text));
    } else if (key == "length") {
      LOOM_TRY(length, whole_number(text));
      has_length = true;
    } else if (key != "checksum") {  // of the file as a whole, which nobody compares
      return fail(Code::UnknownKey, "external data: \"{}\"; expected location, offset, length or checksum",
                  printable(key));
    }
  }
  if (options.folder.empty())
    return fail(Code::Unsupported, "external data \"{}\" of a model without a folder", location);
  LOOM_TRY(const std::string path, path_inside(options.folder, location));
  LOOM_TRY(const auto file, MappedFile::open(path));
  const Bytes bytes = file->bytes();
  if (offset > bytes.size() || (has_length && length > bytes.size() - offset))
    return fail(Code::CorruptData, "{}: {} bytes at {} of {}", location, length, offset, bytes.size());
  const Bytes rest = bytes.subspan(static_cast<std::size_t>(offset));
  return graph::value_from_bytes(static_cast<Type>(parts.type), parts.dims,
                                 has_length ? rest.first(static_cast<std::size_t>(length)) : rest);
}

// Numbers that stand one by one: small types share the words of int32_data with large ones.
Result<Value> numbered_tensor(const TensorParts& parts) {
  const Type type = static_cast<Type>(parts.type);
  std::size_t n = 1;
  for (const std::size_t d : parts.dims) {
    LOOM_TRY(n, checked_mul(n, d));
  }
  const bool packed = type == Type::u4 || type == Type::i4;
  if (n > SIZE_MAX / 16 || (packed ? (n + 1) / 2 : n) != parts.numbers.size())
    return fail(Code::CorruptData, "{} numbers for a tensor {}", parts.numbers.size(), graph::text_of(parts.dims));
  const std::size_t size = packed ? 1 : graph::stored_bytes(type, 1);
  std::vector<std::byte> bytes(parts.numbers.size() * size);
  for (std::size_t i = 0; i < parts.numbers.size(); ++i)
    for (std::size_t b = 0; b < size; ++b) bytes[i * size + b] = static_cast<std::byte>(parts.numbers[i] >> (8 * b));
  return graph::value_from_bytes(type, parts.dims, bytes);
}

Result<std::pair<std::string, Value>> tensor_of_parts(const TensorParts& parts, const OnnxOptions& options) {
  if (parts.dims.size() > kMostAxes) return fail(Code::Unsupported, "a tensor of {} axes", parts.dims.size());
  const bool known = parts.type > 0 && parts.type < 256 && graph::is_known(static_cast<Type>(parts.type));
  if (!known || parts.has_texts) return fail(Code::Unsupported, "\"{}\": a tensor of type {}", parts.name, parts.type);
  auto value = parts.external  ? external_tensor(parts, options)
               : parts.has_raw ? graph::value_from_bytes(static_cast<Type>(parts.type), parts.dims, parts.raw)
                               : numbered_tensor(parts);
  if (!value) return at(fmt::format("tensor \"{}\"", parts.name), std::move(value).error());
  value->constant = true;
  return std::pair{parts.name, std::move(*value)};
}

// Reads the messages of one file.
class OnnxReader {
 public:
  explicit OnnxReader(const OnnxOptions& options) : options_(options) {}

  Result<Model> model(Bytes bytes) {
    Model model;
    model.opset = 0;
    bool has_graph = false;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 7) {
        LOOM_TRY(const Bytes part, field.message());
        LOOM_TRY(model.body, body(part, 0));
        has_graph = true;
      } else if (field.number == 8) {
        LOOM_TRY(const Bytes part, field.message());
        LOOM_TRY_VOID(opset(part, model));
      }
    }
    if (!has_graph) return fail(Code::CorruptData, "no graph: this is no ONNX model");
    if (model.opset < graph::kLeastOpset || model.opset > graph::kMostOpset)
      return fail(Code::Unsupported, "opset {}, {} to {} are read", model.opset, graph::kLeastOpset, graph::kMostOpset);
    return model;
  }

  Result<std::pair<std::string, Value>> tensor(Bytes bytes) const {
    TensorParts parts;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      LOOM_TRY_VOID(tensor_field(field, parts));
    }
    return tensor_of_parts(parts, options_);
  }

 private:
  static Result<void> opset(Bytes bytes, Model& model) {
    std::string domain;
    std::int64_t version = 0;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 1) {
        LOOM_TRY(domain, field.text());
      } else if (field.number == 2) {
        LOOM_TRY(version, field.integer());
      }
    }
    if (domain.empty() || domain == "ai.onnx")
      model.opset = static_cast<int>(std::clamp<std::int64_t>(version, 0, 1000));
    return {};
  }

  Result<Body> body(Bytes bytes, int depth) const {
    if (depth > kMostDepth) return fail(Code::NestingTooDeep, "bodies of operations {} deep", depth);
    Body body;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number != 1 && field.number != 5 && field.number != 11 && field.number != 12 && field.number != 15)
        continue;
      LOOM_TRY(const Bytes part, field.message());
      if (field.number == 1) {
        LOOM_TRY(Node fresh, node(part, depth));
        body.nodes.push_back(std::move(fresh));
      } else if (field.number == 5) {
        LOOM_TRY(auto constant, tensor(part));
        body.constants.push_back(std::move(constant));
      } else if (field.number == 11) {
        LOOM_TRY(InputInfo info, input(part));
        body.inputs.push_back(std::move(info));
      } else if (field.number == 12) {
        LOOM_TRY(InputInfo info, input(part));
        body.outputs.push_back(info.name);
        body.output_infos.push_back(std::move(info));
      } else {
        return fail(Code::Unsupported, "a sparse tensor");
      }
    }
    return body;
  }

  Result<Node> node(Bytes bytes, int depth) const {
    Node node;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 5) {
        LOOM_TRY(const Bytes part, field.message());
        auto read = attribute(part, depth);
        if (!read) return at(fmt::format("{} \"{}\"", node.op, node.name), std::move(read).error());
        node.attributes.push_back(std::move(*read));
        continue;
      }
      if (field.number > 7 || field.number == 6) continue;
      LOOM_TRY(std::string text, field.text());
      switch (field.number) {
        case 1: node.inputs.push_back(std::move(text)); break;
        case 2: node.outputs.push_back(std::move(text)); break;
        case 3: node.name = std::move(text); break;
        case 4: node.op = std::move(text); break;
        default: node.domain = std::move(text); break;
      }
    }
    return node;
  }

  Result<std::pair<std::string, Attribute>> attribute(Bytes bytes, int depth) const {
    std::string name;
    Attribute a;
    std::int64_t said = 0;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 1) {
        LOOM_TRY(name, field.text());
      } else if (field.number == 20) {
        LOOM_TRY(said, field.integer());
      } else {
        LOOM_TRY_VOID(attribute_field(field, depth, a));
      }
    }
    using Kind = Attribute::Kind;
    constexpr std::array kKinds{Kind::integer, Kind::number,  Kind::integer,  Kind::text, Kind::tensor,
                                Kind::body,    Kind::numbers, Kind::integers, Kind::texts};
    if (said > 0 && said < static_cast<std::int64_t>(kKinds.size())) a.kind = kKinds[static_cast<std::size_t>(said)];
    if (a.kind == Kind::tensor && !a.tensor.present())
      return fail(Code::CorruptData, "attribute \"{}\" has no tensor", name);
    if (a.kind == Kind::body && a.body == nullptr) return fail(Code::CorruptData, "attribute \"{}\" has no body", name);
    return std::pair{std::move(name), std::move(a)};
  }

  Result<void> attribute_field(const WireField& field, int depth, Attribute& a) const {
    using Kind = Attribute::Kind;
    switch (field.number) {
      case 2: {
        LOOM_TRY(const float number, field.number32());
        a.number = static_cast<double>(number), a.kind = Kind::number;
        return {};
      }
      case 3: {
        LOOM_TRY(a.integer, field.integer());
        a.kind = Kind::integer;
        return {};
      }
      case 4: {
        LOOM_TRY(a.text, field.text());
        a.kind = Kind::text;
        return {};
      }
      case 5: {
        LOOM_TRY(const Bytes part, field.message());
        LOOM_TRY(auto read, tensor(part));
        a.tensor = std::move(read.second), a.kind = Kind::tensor;
        return {};
      }
      case 6: {
        LOOM_TRY(const Bytes part, field.message());
        LOOM_TRY(Body inner, body(part, depth + 1));
        a.body = std::make_shared<const Body>(std::move(inner)), a.kind = Kind::body;
        return {};
      }
      case 7: {
        a.kind = Kind::numbers;
        return each_number(field, 5, [&](std::uint64_t bits) {
          a.numbers.push_back(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
        });
      }
      case 8: {
        a.kind = Kind::integers;
        return each_number(field, 0,
                           [&](std::uint64_t bits) { a.integers.push_back(static_cast<std::int64_t>(bits)); });
      }
      case 9: {
        LOOM_TRY(std::string text, field.text());
        a.texts.push_back(std::move(text));
        a.kind = Kind::texts;
        return {};
      }
      default: return {};
    }
  }

  static Result<InputInfo> input(Bytes bytes) {
    InputInfo info;
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 1) {
        LOOM_TRY(info.name, field.text());
      } else if (field.number == 2) {
        LOOM_TRY(const Bytes part, field.message());
        for (WireReader kinds(part); !kinds.done();) {
          LOOM_TRY(const WireField kind, kinds.next());
          if (kind.number != 1) continue;  // sequences and maps
          LOOM_TRY(const Bytes tensor_type, kind.message());
          LOOM_TRY_VOID(input_type(tensor_type, info));
        }
      }
    }
    return info;
  }

  static Result<void> input_type(Bytes bytes, InputInfo& info) {
    for (WireReader reader(bytes); !reader.done();) {
      LOOM_TRY(const WireField field, reader.next());
      if (field.number == 1) {
        LOOM_TRY(const std::int64_t type, field.integer());
        info.type = type > 0 && type < 256 ? static_cast<Type>(type) : Type::none;
      } else if (field.number == 2) {
        LOOM_TRY(const Bytes shape, field.message());
        info.has_shape = true;
        for (WireReader dims(shape); !dims.done();) {
          LOOM_TRY(const WireField dim, dims.next());
          if (dim.number != 1) continue;
          LOOM_TRY(const Bytes extent, dim.message());
          info.dims.push_back(-1);
          for (WireReader values(extent); !values.done();) {
            LOOM_TRY(const WireField value, values.next());
            if (value.number != 1) continue;
            LOOM_TRY(info.dims.back(), value.integer());
            if (info.dims.back() <= 0) info.dims.back() = -1;
          }
        }
      }
    }
    return {};
  }

  const OnnxOptions& options_;
};

}  // namespace

Result<Model> parse_onnx(Bytes file, const OnnxOptions& options) { return OnnxReader(options).model(file); }

Result<std::pair<std::string, Value>> parse_onnx_tensor(Bytes bytes, const OnnxOptions& options) {
  return OnnxReader(options).tensor(bytes);
}

}  // namespace loom
