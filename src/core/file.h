#pragma once
// Files: read-only maps for models, whole reads for small texts, and saves that never leave half a file behind.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"

namespace loom {

// A read-only view of a whole file. Shared by everything that points into it.
class MappedFile {
 public:
  // NotFound, IoError; an empty file is an empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Gives the pages that lie wholly inside `part` back to the system; they are read again on the next touch.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  [[maybe_unused]] bool mapped_ = false;
  std::vector<std::byte> copy_;  // hosts without mmap
  std::string path_;
};

// LimitExceeded when the file is larger than `max_bytes`.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes = std::size_t{256} << 20);

// A file written piece by piece beside its target and put in place by commit(): after a crash, an error or a full disk the old
// file is still there. DiskFull, IoError.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // without a commit, nothing remains

  Result<void> write(std::span<const std::byte> bytes);
  // Replaces bytes that were written before; write() goes on at the end.
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Flushes file and folder to disk and renames. Once.
  Result<void> commit();

 private:
  AtomicFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string temporary() const { return path_ + ".part"; }
  std::string path_;
  int fd_ = -1;
};

// The same for bytes that are all there.
Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

bool is_directory(const std::string& path);
bool is_file(const std::string& path);

// folder/name, where `name` comes from a file: OutOfRange unless it stays inside the folder (no "..", no absolute path).
Result<std::string> path_inside(const std::string& folder, std::string_view name);

}  // namespace loom
