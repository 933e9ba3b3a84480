#pragma once
// GGUF, the container of llama.cpp: typed metadata and tensors in one memory-mapped file, versions 2 and 3,
// little-endian. Layout: "GGUF", u32 version, u64 tensors, u64 keys, the keys with their values, the tensor table,
// padding, the data. Nothing is copied: keys, strings and tensors look into the file, and opening it allocates less
// than four times its size.

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.h"
#include "dtypes/dtype.h"

namespace loom {

// Numbers as in the file.
enum class GgufType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
std::string_view name(GgufType type);

struct GgufValue {
  std::string_view key;
  GgufType type = GgufType::U8;
  GgufType element = GgufType::U8;   // of an array
  std::uint64_t count = 1;           // elements of an array
  std::span<const std::byte> bytes;  // a string's text, a number's bytes, an array's elements as stored
};

// Typed reads: nullopt when the value has another type or does not fit.
std::optional<std::int64_t> as_int(const GgufValue& value);  // any integer width
std::optional<double> as_number(const GgufValue& value);     // floats and integers
std::optional<bool> as_bool(const GgufValue& value);
std::optional<std::string_view> as_string(const GgufValue& value);
std::optional<std::vector<std::string_view>> as_strings(const GgufValue& value);
std::optional<std::vector<std::int32_t>> as_ints(const GgufValue& value);  // integers or bools that fit
std::optional<std::vector<float>> as_floats(const GgufValue& value);       // f32, or f64 rounded

struct GgufTensor {
  std::string_view name;
  DType dtype = DType::float32;
  std::uint8_t rank = 0;
  std::array<std::size_t, 4> dims{};  // row-major: outermost first, the reverse of the file's order
  std::uint64_t offset = 0;           // from the start of the file
  std::size_t size = 0;               // bytes
  std::span<const std::byte> bytes;   // none where the source has them on demand

  std::span<const std::size_t> shape() const { return {dims.data(), rank}; }
};

class GgufFile {
 public:
  // NotFound, IoError; CorruptData with the offset; Unsupported for other versions, big-endian files and tensor types.
  static Result<GgufFile> open(const std::string& path);
  // Of a source on demand, all but the data of tensors is read.
  static Result<GgufFile> parse(std::shared_ptr<const ByteSource> source);
  // The caller keeps the bytes alive.
  static Result<GgufFile> parse(std::span<const std::byte> bytes);

  std::uint32_t version() const { return version_; }
  std::size_t alignment() const { return alignment_; }
  // Both are in file order, with unique names.
  std::span<const GgufValue> metadata() const { return metadata_; }
  std::span<const GgufTensor> tensors() const { return tensors_; }
  // Null when absent.
  const GgufValue* find(std::string_view key) const;
  const GgufTensor* tensor(std::string_view name) const;
  // For giving pages back after a repack; null when parsed from a span.
  const std::shared_ptr<const ByteSource>& source() const { return source_; }

 private:
  friend class GgufParser;
  std::shared_ptr<const ByteSource> source_;
  std::uint32_t version_ = 0;
  std::size_t alignment_ = 32;
  std::vector<GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
  std::vector<std::uint32_t> keys_by_name_;
  std::vector<std::uint32_t> tensors_by_name_;
};

// The number of a tensor type in the file, and back; nullopt for types that Loom or GGUF lacks.
std::optional<std::uint32_t> ggml_type(DType dtype);
std::optional<DType> dtype_from_ggml(std::uint32_t type);
// "IQ4_XS" for a type that the format knows and Loom does not read; "of no known name" for unassigned numbers.
std::string_view ggml_type_name(std::uint32_t type);

}  // namespace loom
