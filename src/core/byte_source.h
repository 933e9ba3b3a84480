#pragma once
// The bytes that a reader of a format looks into: a file, a part of a file, memory of the caller, or the bytes that a
// callback of the host gives.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "core/buffer.h"
#include "core/error.h"
#include "core/file.h"

namespace loom {

// Fills the front of `to`, which is not empty, with the bytes from `offset` on, and returns how many it has filled; 0
// means that there are no more.
using ReadAt = std::function<Result<std::size_t>(std::uint64_t offset, std::span<std::byte> to)>;

class ByteSource {
 public:
  static constexpr std::uint64_t kToTheEnd = ~std::uint64_t{0};

  // The file stays mapped for as long as something points into it. Errors of MappedFile::open().
  static Result<std::shared_ptr<const ByteSource>> file(const std::string& path);
  // `length` bytes of the file from `offset` on. OutOfRange when the file has fewer.
  static Result<std::shared_ptr<const ByteSource>> part_of_file(const std::string& path, std::uint64_t offset,
                                                                std::uint64_t length = kToTheEnd);
  // Memory of the caller, who keeps it alive and unchanged while something points into it. `name` stands in errors
  // where a file has its path.
  static std::shared_ptr<const ByteSource> memory(std::string name, std::span<const std::byte> bytes);
  // `size` bytes, which are read into memory of our own. OutOfMemory; IoError when the callback ends earlier,
  // InvalidArgument when it says that it filled more than it was asked for; its own errors.
  static Result<std::shared_ptr<const ByteSource>> read(std::string name, std::uint64_t size, const ReadAt& read);

  // `size` bytes, of which the callback is asked for those that are needed, on the thread that asks: bytes() are the
  // front that fill() has read so far. The callback lives as long as the source.
  static std::shared_ptr<const ByteSource> on_demand(std::string name, std::uint64_t size, ReadAt read);

  std::span<const std::byte> bytes() const { return bytes_; }
  // Bytes of the whole source, even if bytes() has only the first of them.
  std::uint64_t size() const { return size_; }
  bool is_whole() const { return bytes_.size() == size_; }
  bool is_file() const { return file_ != nullptr; }
  // Makes bytes() at least so many, size() at most; spans that were taken before end. Errors of read().
  Result<void> fill(std::uint64_t bytes) const;
  // Reads bytes from `offset` on, also past the front. Errors of read().
  Result<void> copy(std::uint64_t offset, std::span<std::byte> to) const;
  const std::string& name() const { return name_; }
  // Gives the pages of a file that are wholly inside `part` back to the system, which reads them again on the next
  // touch. Other memory stays.
  void release(std::span<const std::byte> part) const;

 private:
  ByteSource() = default;
  Result<void> ask(std::uint64_t offset, std::span<std::byte> to, const ReadAt& read) const;
  std::string name_;
  mutable std::span<const std::byte> bytes_;
  std::uint64_t size_ = 0;
  std::shared_ptr<const MappedFile> file_;  // null for memory
  mutable Buffer copy_;                     // what a callback gave
  ReadAt read_;                             // of a source on demand
};

}  // namespace loom
