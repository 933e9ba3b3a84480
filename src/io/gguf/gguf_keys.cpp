#include "io/gguf/gguf_keys.h"

namespace loom {

Result<const GgufValue*> GgufKeys::array(std::string_view key, GgufType element, GgufType other) const {
  const GgufValue* value = get(key);
  if (value == nullptr || (value->type == GgufType::Array && (value->element == element || value->element == other)))
    return value;
  const bool is_array = value->type == GgufType::Array;
  return fail(Code::InvalidConfig, "{}{} is {} of type {}, expected an array of type {}", prefix_, key,
              is_array ? "an array" : "a value", name(is_array ? value->element : value->type), name(element));
}

Result<void> GgufKeys::texts(std::string_view key, std::vector<std::string>& to) const {
  LOOM_TRY(const GgufValue* const value, array(key, GgufType::String, GgufType::String));
  if (value == nullptr) return {};
  const auto list = as_strings(*value);
  to.assign(list->begin(), list->end());
  return {};
}

// llama.cpp reads u32 as i32 in these lists.
Result<void> GgufKeys::i32s(std::string_view key, std::vector<std::int32_t>& to) const {
  LOOM_TRY(const GgufValue* const value, array(key, GgufType::I32, GgufType::U32));
  if (value == nullptr) return {};
  auto list = as_ints(*value);
  if (!list) return fail(Code::InvalidConfig, "{}{} has values beyond i32", prefix_, key);
  to = *std::move(list);
  return {};
}

Result<void> GgufKeys::f32s(std::string_view key, std::vector<float>& to) const {
  LOOM_TRY(const GgufValue* const value, array(key, GgufType::F32, GgufType::F32));
  if (value != nullptr) to = *as_floats(*value);
  return {};
}

Result<void> GgufKeys::bytes(std::string_view key, std::string& to) const {
  LOOM_TRY(const GgufValue* const value, array(key, GgufType::I8, GgufType::U8));
  if (value != nullptr) to.assign(reinterpret_cast<const char*>(value->bytes.data()), value->bytes.size());
  return {};
}

}  // namespace loom
