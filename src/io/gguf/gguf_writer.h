#pragma once
// Writes GGUF version 3, the tensors in the order they were added. Readable by llama.cpp and the gguf package.

#include <concepts>
#include <functional>
#include <map>
#include <set>

#include "core/little_endian.h"
#include "io/gguf/gguf.h"

namespace loom {

template <class T>
concept GgufNumber = std::same_as<T, std::uint8_t> || std::same_as<T, std::int8_t> || std::same_as<T, std::uint16_t> ||
                     std::same_as<T, std::int16_t> || std::same_as<T, std::uint32_t> || std::same_as<T, std::int32_t> ||
                     std::same_as<T, float> || std::same_as<T, bool> || std::same_as<T, std::uint64_t> ||
                     std::same_as<T, std::int64_t> || std::same_as<T, double>;

class GgufWriter {
 public:
  // Makes the bytes of one tensor when it is written, so that a large model is never in memory as a whole.
  using Producer = std::function<Result<std::vector<std::byte>>()>;

  // A power of two; files with another than 32 name it in general.alignment.
  explicit GgufWriter(std::uint32_t alignment = 32);

  // A key set again takes the new value in its old place. The type in the file is exactly that of the argument.
  template <GgufNumber T>
  void set(std::string_view key, T value) {
    put(key, type_of<T>(), bytes_of(value));
  }
  void set(std::string_view key, std::string_view value);
  void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }
  template <GgufNumber T>
  void set(std::string_view key, const std::vector<T>& values) {
    std::string bytes;
    for (const T v : values) bytes += bytes_of(v);
    put_array(key, type_of<T>(), values.size(), bytes);
  }
  void set(std::string_view key, const std::vector<std::string_view>& values);
  // As read from another file. general.alignment is left out: the writer has its own.
  void copy(const GgufValue& value);

  // Shape outermost first. Unsupported for types that GGUF lacks; InvalidArgument for a name that is empty, repeated or
  // longer than the 63 bytes that llama.cpp takes; ShapeMismatch when a row is no whole number of blocks or the bytes
  // do not fit. With a span the caller keeps the bytes alive until write().
  Result<void> add_tensor(std::string_view name, DType dtype, std::span<const std::size_t> shape,
                          std::span<const std::byte> bytes);
  Result<void> add_tensor(std::string_view name, DType dtype, std::span<const std::size_t> shape, Producer producer);

  // Atomic: the file is complete or does not exist.
  Result<void> write(const std::string& path) const;

 private:
  struct Entry {
    std::string key;
    std::string bytes;  // the type and what follows it
  };
  struct Pending {
    std::string name;
    DType dtype;
    std::vector<std::size_t> shape;
    std::size_t size;
    std::span<const std::byte> bytes;
    Producer producer;  // empty: bytes
  };

  template <class T>
  static std::string bytes_of(T value) {
    if constexpr (std::same_as<T, bool>) {
      return std::string(1, value ? '\1' : '\0');
    } else {
      std::byte raw[sizeof(T)];
      store_le(raw, value);
      return {reinterpret_cast<const char*>(raw), sizeof(T)};
    }
  }
  template <GgufNumber T>
  static constexpr GgufType type_of() {
    if constexpr (std::same_as<T, bool>) return GgufType::Bool;
    if constexpr (std::same_as<T, float>) return GgufType::F32;
    if constexpr (std::same_as<T, double>) return GgufType::F64;
    if constexpr (sizeof(T) == 8) return std::is_signed_v<T> ? GgufType::I64 : GgufType::U64;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? GgufType::I32 : GgufType::U32;
    if constexpr (sizeof(T) == 2) return std::is_signed_v<T> ? GgufType::I16 : GgufType::U16;
    return std::is_signed_v<T> ? GgufType::I8 : GgufType::U8;
  }
  static std::string text_bytes(std::string_view text);
  void put(std::string_view key, GgufType type, const std::string& bytes);
  void put_array(std::string_view key, GgufType element, std::size_t count, const std::string& bytes);

  std::uint32_t alignment_;
  std::vector<Entry> entries_;
  std::vector<Pending> tensors_;
  std::map<std::string, std::size_t, std::less<>> entries_by_key_;
  std::set<std::string, std::less<>> tensor_names_;
};

}  // namespace loom
