#pragma once
// Typed reads of a GGUF's metadata with errors that name the key. A value must have the type that llama.cpp writes and
// asks for: an integer under a key of floats would be another number.

#include <string>

#include "io/gguf/gguf.h"

namespace loom {

class GgufKeys {
 public:
  // Keys are given without the prefix: "llama." and "block_count".
  explicit GgufKeys(const GgufFile& file, std::string prefix = "") : file_(file), prefix_(std::move(prefix)) {}

  const GgufValue* get(std::string_view key) const { return file_.find(prefix_ + std::string(key)); }

  // InvalidConfig for another type, and for a missing key that is required; otherwise a missing key leaves `to` as it
  // is.
  Result<void> u16(std::string_view key, std::int64_t& to) const { return integer(key, GgufType::U16, to, false); }
  Result<void> u32(std::string_view key, std::int64_t& to, bool required = false) const {
    return integer(key, GgufType::U32, to, required);
  }
  Result<void> f32(std::string_view key, double& to, bool required = false) const {
    return read(key, GgufType::F32, to, required, [](const GgufValue& v) { return as_number(v); });
  }
  Result<void> text(std::string_view key, std::string& to, bool required = false) const {
    return read(key, GgufType::String, to, required, [](const GgufValue& v) { return as_string(v); });
  }
  Result<void> boolean(std::string_view key, bool& to) const {
    return read(key, GgufType::Bool, to, false, [](const GgufValue& v) { return as_bool(v); });
  }
  Result<void> boolean(std::string_view key, std::optional<bool>& to) const {
    if (get(key) == nullptr) return {};
    bool value = false;
    LOOM_TRY_VOID(boolean(key, value));
    to = value;
    return {};
  }
  Result<void> texts(std::string_view key, std::vector<std::string>& to) const;
  Result<void> i32s(std::string_view key, std::vector<std::int32_t>& to) const;
  Result<void> f32s(std::string_view key, std::vector<float>& to) const;
  Result<void> bytes(std::string_view key, std::string& to) const;  // an array of i8 or u8

 private:
  template <class T, class As>
  Result<void> read(std::string_view key, GgufType type, T& to, bool required, As as) const {
    const GgufValue* value = get(key);
    if (!value && !required) return {};
    if (!value) return fail(Code::InvalidConfig, "{}{} is missing, expected {}", prefix_, key, name(type));
    const auto found = value->type == type ? as(*value) : decltype(as(*value)){};
    if (!found)
      return fail(Code::InvalidConfig, "{}{} is of type {}, expected {}", prefix_, key, name(value->type), name(type));
    to = *found;
    return {};
  }
  Result<void> integer(std::string_view key, GgufType type, std::int64_t& to, bool required) const {
    return read(key, type, to, required, [](const GgufValue& v) { return as_int(v); });
  }
  // The value of an array of one of these element types; null when the key is missing.
  Result<const GgufValue*> array(std::string_view key, GgufType element, GgufType other) const;

  const GgufFile& file_;
  std::string prefix_;
};

}  // namespace loom
