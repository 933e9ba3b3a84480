#pragma once
// safetensors: u64 length of a JSON header, the header {"name": {"dtype", "shape", "data_offsets"}, "__metadata__":
// {..}}, the data. Files are memory-mapped; tensors look into the map. Sharded models are read through their index
// file.

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/byte_source.h"
#include "core/file_set.h"
#include "dtypes/dtype.h"

namespace loom {

struct SafeTensor {
  std::string name;
  DType dtype = DType::float32;  // of F64 F32 F16 BF16 F8_E4M3 F8_E5M2 I8..I64 U8..U64; BOOL is uint8 with is_bool
  bool is_bool = false;
  std::vector<std::size_t> shape;  // row-major; empty for a scalar; an extent may be 0
  std::size_t offset = 0;          // from the start of the file
  std::span<const std::byte> bytes;
};

class SafetensorsFile {
 public:
  // NotFound, IoError; CorruptData with the place; Unsupported for other element types; LimitExceeded beyond a header
  // of 100 MiB.
  static Result<SafetensorsFile> open(const std::string& path);
  static Result<SafetensorsFile> parse(std::shared_ptr<const ByteSource> source);
  // The caller keeps the bytes alive.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes);

  // The tensors are in the order of their names.
  std::span<const SafeTensor> tensors() const { return tensors_; }
  const SafeTensor* tensor(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  const std::shared_ptr<const ByteSource>& source() const { return source_; }

 private:
  friend class SafetensorsParser;
  std::shared_ptr<const ByteSource> source_;
  std::vector<SafeTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Whether a file is meant to be of this format: it begins with the length of a header and "{", or bears the name
// *.safetensors and begins like no other format that Loom reads. A damaged file counts too: open() says what is wrong.
bool looks_like_safetensors(std::span<const std::byte> bytes, std::string_view name);

// One model in one or more files.
class SafetensorsModel {
 public:
  // A .safetensors file, an .index.json file, or a folder that holds model.safetensors or model.safetensors.index.json.
  // Shards are named by the index and stay inside its folder.
  static Result<SafetensorsModel> open(const std::string& path);
  static Result<SafetensorsModel> open(const FileSet& files);
  static Result<SafetensorsModel> open(std::shared_ptr<const ByteSource> source);  // of a file
  SafetensorsModel(SafetensorsModel&&) = default;  // a copy's pointers would look into the original
  SafetensorsModel& operator=(SafetensorsModel&&) = default;

  std::vector<const SafeTensor*> tensors() const;  // in name order
  const SafeTensor* tensor(std::string_view name) const;
  std::span<const SafetensorsFile> files() const { return files_; }

 private:
  SafetensorsModel() = default;
  static SafetensorsModel of_file(SafetensorsFile file);
  static Result<SafetensorsModel> by_index(const FileSet& files, std::string_view name_of_index);
  std::vector<SafetensorsFile> files_;
  std::map<std::string, const SafeTensor*, std::less<>> by_name_;
};

// Collects tensors, then writes them in name order (header and data alike), so equal contents give equal files.
class SafetensorsWriter {
 public:
  // The caller keeps the bytes alive until write(). InvalidArgument for an empty, repeated or reserved name or one that
  // is no UTF-8; Unsupported for types the format lacks; ShapeMismatch when the bytes do not fit the shape.
  Result<void> add(std::string name, DType dtype, std::vector<std::size_t> shape, std::span<const std::byte> bytes,
                   bool is_bool = false);
  void set_metadata(std::string key, std::string value) { metadata_[std::move(key)] = std::move(value); }
  // Atomic: the file is complete or does not exist. LimitExceeded for a header that readers would refuse.
  Result<void> write(const std::string& path) const;
  Result<std::vector<std::byte>> to_bytes() const;

 private:
  using Sink = std::function<Result<void>(std::span<const std::byte>)>;
  Result<void> give(const Sink& out) const;

  std::map<std::string, SafeTensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace loom
