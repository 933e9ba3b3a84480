#pragma once
// JSON from untrusted text. The parse is strict RFC 8259 (UTF-8, no comments, no duplicate keys, nothing after the
// value) and every error names a byte offset. Values are read with the getters below: nlohmann's own get<T>() aborts
// without exceptions when the type is wrong.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/json_fwd.h"

namespace loom {

struct JsonLimits {
  std::size_t max_bytes = std::size_t{256} << 20;
  std::size_t max_depth = 256;
};

// CorruptData with the byte offset, LimitExceeded beyond the limits.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

// Member `key` of an object, or null when `object` is no object or has no such key.
const Json* find(const Json& object, std::string_view key);

// Typed reads: nullopt when the value has another type or does not fit.
std::optional<std::int64_t> as_int(const Json& value);
std::optional<double> as_number(const Json& value);
std::optional<bool> as_bool(const Json& value);
const std::string* as_string(const Json& value);

// Valid UTF-8 JSON text whatever the strings hold (bytes that are not UTF-8 become U+FFFD).
std::string dump_json(const Json& value, int indent = -1);

// The one text of a value (engine F-03): no spaces, members in byte order of their keys, each number as the shortest
// text that reads back as the same double (whole ones without point, -0.0 with it), only the escapes that JSON demands.
// NonFinite; InvalidArgument for strings that are no UTF-8 and for binary values.
Result<std::string> dump_canonical(const Json& value);

bool is_utf8(std::string_view text);

}  // namespace loom
