// Typed reads of metadata. The parser has walked every value, so these reads cannot leave the file.

#include <limits>

#include "core/little_endian.h"
#include "io/byte_reader.h"
#include "io/gguf/gguf.h"

namespace loom {
namespace {

std::optional<std::int64_t> read_int(GgufType type, const std::byte* p) {
  switch (type) {
    case GgufType::U8: return load_le<std::uint8_t>(p);
    case GgufType::I8: return load_le<std::int8_t>(p);
    case GgufType::U16: return load_le<std::uint16_t>(p);
    case GgufType::I16: return load_le<std::int16_t>(p);
    case GgufType::U32: return load_le<std::uint32_t>(p);
    case GgufType::I32: return load_le<std::int32_t>(p);
    case GgufType::I64: return load_le<std::int64_t>(p);
    case GgufType::U64: {
      const auto v = load_le<std::uint64_t>(p);
      if (v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
      return static_cast<std::int64_t>(v);
    }
    default: return std::nullopt;
  }
}

std::size_t element_bytes(const GgufValue& array) { return array.bytes.size() / static_cast<std::size_t>(array.count); }

}  // namespace

std::optional<std::int64_t> as_int(const GgufValue& value) { return read_int(value.type, value.bytes.data()); }

std::optional<double> as_number(const GgufValue& value) {
  if (value.type == GgufType::F32) return static_cast<double>(load_le<float>(value.bytes.data()));
  if (value.type == GgufType::F64) return load_le<double>(value.bytes.data());
  if (value.type == GgufType::U64) return static_cast<double>(load_le<std::uint64_t>(value.bytes.data()));
  if (const auto i = as_int(value)) return static_cast<double>(*i);
  return std::nullopt;
}

std::optional<bool> as_bool(const GgufValue& value) {
  if (value.type != GgufType::Bool) return std::nullopt;
  return value.bytes[0] != std::byte{0};
}

std::optional<std::string_view> as_string(const GgufValue& value) {
  if (value.type != GgufType::String) return std::nullopt;
  return as_text(value.bytes);
}

std::optional<std::vector<std::string_view>> as_strings(const GgufValue& value) {
  if (value.type != GgufType::Array || value.element != GgufType::String) return std::nullopt;
  std::vector<std::string_view> out;
  out.reserve(static_cast<std::size_t>(value.count));
  for (auto rest = value.bytes; !rest.empty();) {
    const auto n = static_cast<std::size_t>(load_le<std::uint64_t>(rest.data()));
    out.push_back(as_text(rest.subspan(8, n)));
    rest = rest.subspan(8 + n);
  }
  return out;
}

std::optional<std::vector<std::int32_t>> as_ints(const GgufValue& value) {
  if (value.type != GgufType::Array) return std::nullopt;
  std::vector<std::int32_t> out;
  if (value.count == 0) return out;
  const GgufType type = value.element == GgufType::Bool ? GgufType::U8 : value.element;
  if (!read_int(type, value.bytes.data())) return std::nullopt;
  out.reserve(static_cast<std::size_t>(value.count));
  for (std::size_t at = 0, step = element_bytes(value); at < value.bytes.size(); at += step) {
    const auto v = read_int(type, value.bytes.data() + at);
    if (!v || *v < std::numeric_limits<std::int32_t>::min() || *v > std::numeric_limits<std::int32_t>::max())
      return std::nullopt;
    out.push_back(static_cast<std::int32_t>(*v));
  }
  return out;
}

std::optional<std::vector<float>> as_floats(const GgufValue& value) {
  if (value.type != GgufType::Array) return std::nullopt;
  if (value.element != GgufType::F32 && value.element != GgufType::F64) return std::nullopt;
  std::vector<float> out;
  out.reserve(static_cast<std::size_t>(value.count));
  const std::size_t step = value.element == GgufType::F32 ? 4 : 8;
  for (std::size_t at = 0; at < value.bytes.size(); at += step) {
    const std::byte* p = value.bytes.data() + at;
    out.push_back(step == 4 ? load_le<float>(p) : static_cast<float>(load_le<double>(p)));
  }
  return out;
}

}  // namespace loom
