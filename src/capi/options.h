#pragma once
// Structs of loom.h as they come and go. A caller that was compiled with an older header gives a smaller struct_size:
// the fields that it does not know are 0, which means their defaults.

#include <loom/loom.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "core/error.h"

namespace loom::capi {

// The caller's struct with this library's size; null: all defaults. InvalidArgument for a size that is none,
// "loom_tensor", the name of a struct of loom.h.
template <class S>
constexpr std::string_view struct_name() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;  // ".. [with S = loom_tensor; ..]", ".. [S = loom_tensor]"
  constexpr std::size_t kBegin = kText.find("S = ") + 4;
  return kText.substr(kBegin, kText.find_first_of(";]", kBegin) - kBegin);
}
static_assert(struct_name<loom_tensor>() == "loom_tensor");

template <class S>
tl::unexpected<Error> wrong_size(std::uint32_t size) {
  return fail(Code::InvalidArgument, "{}: struct_size is {}: set it to sizeof({})", struct_name<S>(), size,
              struct_name<S>());
}

// Unsupported for a newer caller that sets what this library does not know.
template <class S>
Result<S> read_struct(const S* given) {
  S out{};
  if (given == nullptr) return out;
  std::uint32_t size = 0;
  std::memcpy(&size, given, sizeof size);
  if (size < sizeof size || size > 4096) return wrong_size<S>(size);
  // A size that ends inside of a field, as no header has it, must not make half a pointer.
  std::memcpy(&out, given, std::min<std::size_t>(size - size % alignof(S), sizeof out));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(given);
  if (size > sizeof out && std::any_of(bytes + sizeof out, bytes + size, [](unsigned char b) { return b != 0; }))
    return fail(Code::Unsupported, "{}: the caller sets fields that this version of the library does not know",
                struct_name<S>());
  return out;
}

// The size of a struct that takes a result; asked for before the call changes anything.
template <class S>
Result<std::uint32_t> room_in(const S* to) {
  if (to == nullptr) return fail(Code::InvalidArgument, "a result is NULL");
  std::uint32_t size = 0;
  std::memcpy(&size, to, sizeof size);
  if (size < sizeof size || size > 4096) return wrong_size<S>(size);
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

// InvalidArgument with the path where both name one file: what is read is not replaced.
Result<void> need_other_file(std::string_view from, std::string_view to);

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
