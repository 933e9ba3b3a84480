#pragma once
// Structs of loom.h as they come and go. A caller that was compiled with an older header gives a smaller struct_size:
// the fields that it does not know are 0, which means their defaults.

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "core/error.h"

namespace loom::capi {

// The caller's struct with this library's size; null: all defaults. InvalidArgument for a size that is none,
// Unsupported for a newer caller that sets what this library does not know.
template <class S>
Result<S> read_struct(const S* given) {
  S out{};
  if (given == nullptr) return out;
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > 4096)
    return fail(Code::InvalidArgument, "struct_size is {}: set it to the size of the struct", size);
  std::memcpy(&out, given, std::min<std::size_t>(size, sizeof out));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof out && std::any_of(bytes + sizeof out, bytes + size, [](unsigned char b) { return b != 0; }))
    return fail(Code::Unsupported, "the caller sets fields that this version of the library does not know");
  return out;
}

// Writes what the caller's struct has room for.
template <class S>
Result<void> write_struct(S value, S* to) {
  if (to == nullptr) return fail(Code::InvalidArgument, "a result is NULL");
  std::uint32_t size = 0;
  std::memcpy(&size, to, sizeof size);
  if (size < sizeof size || size > 4096)
    return fail(Code::InvalidArgument, "struct_size is {}: set it to the size of the struct", size);
  value.struct_size = size;
  std::memcpy(to, &value, std::min<std::size_t>(size, sizeof value));
  return {};
}

template <class... T>
Result<void> need_results(T*... results) {
  if (((results == nullptr) || ...)) return fail(Code::InvalidArgument, "a result is NULL");
  return {};
}

inline Result<std::string_view> need_text(const char* text, const char* what) {
  if (text == nullptr) return fail(Code::InvalidArgument, "{} is NULL", what);
  return std::string_view(text);
}

// An array that came as a pointer and a count.
template <class T>
Result<std::span<const T>> need_array(const T* data, std::size_t count, const char* what) {
  if (data == nullptr && count > 0) return fail(Code::InvalidArgument, "{} is NULL, its count {}", what, count);
  if (count > static_cast<std::size_t>(-1) / sizeof(T) / 2)
    return fail(Code::SizeOverflow, "{}: a count of {}", what, count);
  return std::span<const T>(data, count);
}
inline Result<std::string_view> need_bytes(const void* data, std::size_t size, const char* what) {
  LOOM_TRY(const auto bytes, need_array(static_cast<const char*>(data), size, what));
  return std::string_view(bytes.data(), bytes.size());
}

}  // namespace loom::capi
