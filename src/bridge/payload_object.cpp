#include "bridge/payload_object.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base64.h"
#include "core/checked.h"
#include "core/nearest.h"
#include "dtypes/decode.h"

namespace loom {
namespace {

Result<std::vector<float>> floats_of_bytes(const std::string& text, DType dtype) {
  LOOM_TRY(const std::vector<std::byte> bytes, base64_decode(text));
  const std::size_t width = info(dtype).block_bytes;
  if (bytes.size() % width != 0)
    return fail(Code::ShapeMismatch, "{} bytes are no whole number of {}", bytes.size(), name(dtype));
  std::vector<float> values(bytes.size() / width);
  decode_to_float(dtype, bytes.data(), values.data(), values.size());
  return values;
}

Result<std::vector<float>> floats_of_list(const Json& list) {
  std::vector<float> values;
  values.reserve(list.size());
  for (const Json& item : list) {
    const auto number = as_number(item);
    if (!number) return fail(Code::InvalidConfig, "number {} is no number", values.size());
    // A number that f32 cannot hold becomes an infinity and is reported below.
    const bool fits = std::abs(*number) <= static_cast<double>(std::numeric_limits<float>::max());
    values.push_back(fits ? static_cast<float>(*number) : std::numeric_limits<float>::infinity());
  }
  return values;
}

std::string product_text(const std::vector<WeightPiece>& pieces) {
  std::string text;
  for (const WeightPiece& piece : pieces) {
    if (!text.empty()) text += " + ";
    for (std::size_t a = 0; a < piece.extents.size(); ++a)
      text += (a == 0 ? "" : " x ") + std::to_string(piece.extents[a]);
  }
  return text;
}

}  // namespace

Result<std::vector<float>> float_values(const Json& value) {
  Result<std::vector<float>> values = std::vector<float>();
  if (value.is_array()) {
    values = floats_of_list(value);
  } else if (const std::string* text = as_string(value)) {
    values = floats_of_bytes(*text, DType::float32);
  } else {
    const Json *dtype = find(value, "dtype"), *base64 = find(value, "base64");
    const std::string* code = base64 == nullptr ? nullptr : as_string(*base64);
    if (code == nullptr) return fail(Code::InvalidConfig, "expected a list of numbers or their bytes in Base64");
    const std::string* type_name = dtype == nullptr ? nullptr : as_string(*dtype);
    LOOM_TRY(const DType type, dtype_from_name(type_name == nullptr ? "float32" : *type_name));
    if (type != DType::float64 && type != DType::float32 && type != DType::float16 && type != DType::bfloat16)
      return fail(Code::Unsupported, "bytes of {}; float64, float32, float16 or bfloat16 are expected", name(type));
    values = floats_of_bytes(*code, type);
  }
  if (!values) return values;
  const auto bad = std::ranges::find_if(*values, [](float v) { return !std::isfinite(v); });
  if (bad != values->end()) return fail(Code::NonFinite, "number {} is not finite as float32", bad - values->begin());
  return values;
}

tl::unexpected<Error> PayloadObject::wrong(std::string_view key, Code code, const std::string& message) const {
  Steps steps = place_;
  if (!key.empty()) steps.emplace_back(key);
  return fail_at(std::move(steps), code, "{}: {}", what_, message);
}

const Json* PayloadObject::get(std::string_view key) {
  read_.emplace(key);
  const Json* value = find(object_, key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<std::size_t> PayloadObject::size(std::string_view key, std::size_t least, std::size_t most, std::size_t absent) {
  const Json* value = get(key);
  const auto given = value == nullptr ? static_cast<std::int64_t>(absent) : as_int(*value).value_or(-1);
  if (value == nullptr && (absent < least || absent > most))
    return wrong(key, Code::InvalidConfig, fmt::format("{} is missing", key));
  if (given < 0 || static_cast<std::size_t>(given) < least || static_cast<std::size_t>(given) > most)
    return wrong(key, Code::InvalidConfig,
                 fmt::format("expected a whole number from {} to {}, got {}", least, most,
                             value == nullptr ? "none" : printable(dump_json(*value))));
  return static_cast<std::size_t>(given);
}

Result<std::size_t> PayloadObject::size_of(std::string_view key, std::string_view other) {
  constexpr std::size_t kMost = 65536;
  const Json* second = get(other);
  return size(get(key) == nullptr && second != nullptr ? other : key, 1, kMost, 0);
}

Result<double> PayloadObject::number(std::string_view key, double absent) {
  const Json* value = get(key);
  if (value == nullptr) return absent;
  if (const auto given = as_number(*value)) return *given;
  return wrong(key, Code::InvalidConfig, fmt::format("expected a number, got {}", printable(dump_json(*value))));
}

Result<std::string> PayloadObject::text(std::string_view key, std::string_view absent) {
  const Json* value = get(key);
  if (value == nullptr) return std::string(absent);
  if (const std::string* given = as_string(*value)) return *given;
  return wrong(key, Code::InvalidConfig, fmt::format("expected a text, got {}", printable(dump_json(*value))));
}

Result<std::vector<std::size_t>> PayloadObject::sizes(std::string_view key, std::size_t least) {
  const Json* value = get(key);
  std::vector<std::size_t> out;
  if (value == nullptr) return out;
  const Json one = value->is_array() ? Json() : Json::array({*value});
  for (const Json& item : value->is_array() ? *value : one) {
    const auto given = as_int(item);
    constexpr std::int64_t kMost = 65536;
    if (!given || *given < static_cast<std::int64_t>(least) || *given > kMost || out.size() == Shape::kMaxRank)
      return wrong(key, Code::InvalidConfig,
                   fmt::format("expected up to {} whole numbers from {} to {}", Shape::kMaxRank, least, kMost));
    out.push_back(static_cast<std::size_t>(*given));
  }
  return out;
}

Result<std::vector<NamedValues>> PayloadObject::weights(std::string_view key, std::vector<WeightPiece> pieces) {
  const Json* value = get(key);
  if (value == nullptr) return wrong(key, Code::InvalidConfig, fmt::format("{} is missing", key));
  std::size_t expected = 0;
  std::vector<std::size_t> counts;
  for (const WeightPiece& piece : pieces) {
    std::size_t count = 1;
    for (const std::size_t extent : piece.extents) {
      LOOM_TRY(count, checked_mul(count, extent));
    }
    counts.push_back(count);
    LOOM_TRY(expected, checked_add(expected, count));
  }
  auto all = float_values(*value);
  if (!all) return wrong(key, all.error().code, all.error().message);
  if (all->size() != expected)
    return wrong(key, Code::ShapeMismatch,
                 fmt::format("{} numbers, expected {} ({})", all->size(), expected, product_text(pieces)));
  std::vector<NamedValues> out;
  auto from = all->begin();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const auto end = from + static_cast<std::ptrdiff_t>(counts[i]);
    out.push_back({std::move(pieces[i].name), {from, end}});
    from = end;
  }
  return out;
}

Result<void> PayloadObject::finish() const {
  if (!object_.is_object()) return wrong("", Code::InvalidConfig, "expected an object");
  for (const auto& [key, value] : object_.items()) {
    if (read_.contains(key)) continue;
    const std::vector<std::string_view> known(read_.begin(), read_.end());
    return wrong(key, Code::UnknownKey, fmt::format("unknown key; nearest: {}", nearest_names(key, known)));
  }
  return {};
}

}  // namespace loom
