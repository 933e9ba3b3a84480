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
  // A size that ends inside of a field, as no header has it, must not make half a pointer.
  std::memcpy(&out, given, std::min<std::size_t>(size - size % alignof(S), sizeof out));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof out && std::any_of(bytes + sizeof out, bytes + size, [](unsigned char b) { return b != 0; }))
    return fail(Code::Unsupported, "the caller sets fields that this version of the library does not know");
  return out;
}

// The size of a struct that takes a result; asked for before the call changes anything.
template <class S>
Result<std::uint32_t> room_in(const S* to) {
  if (to == nullptr) return fail(Code::InvalidArgument, "a result is NULL");
  std::uint32_t size = 0;
  std::memcpy(&size, to, sizeof size);
  if (size < sizeof size || size > 4096)
    return fail(Code::InvalidArgument, "struct_size is {}: set it to the size of the struct", size);
  return size;
}
// Writes what the caller's struct has room for; fields that this library does not know become 0.
template <class S>
void write_struct(S value, S* to, std::uint32_t room) {
  value.struct_size = room;
  std::memset(static_cast<void*>(to), 0, room);
  std::memcpy(static_cast<void*>(to), &value, std::min<std::size_t>(room, sizeof value));
}

template <class... T>
Result<void> need_results(T*... results) {
  if ((false || ... || (results == nullptr))) return fail(Code::InvalidArgument, "a result is NULL");
  return {};
}

inline Result<std::string_view> need_text(const char* text, const char* what) {
  if (text == nullptr) return fail(Code::InvalidArgument, "{} is NULL", what);
  return std::string_view(text);
}

// An array that came as a pointer and a count.
template <class T>
Result<std::span<const T>> need_array(const T* data, std::size_t count, std::string_view what) {
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
