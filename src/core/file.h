#pragma once
// Files: read-only maps for models, whole reads for small texts, and saves that never leave half a file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace loom {

// A read-only view of a whole file. Shared by everything that points into it. A file that becomes shorter while it is
// mapped raises SIGBUS when its lost pages are read; a program says which file it was by mapped_file_at().
class MappedFile {
 public:
  // NotFound, IoError for anything but a regular file, found without waiting for a pipe's writer; an empty file is an
  // empty span.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Gives the pages that are wholly inside `part` back to the system; they are read again on the next touch.
  void release(std::span<const std::byte> part) const;

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  int slot_ = -1;  // in the table of maps
  std::string path_;
};

// LimitExceeded when the file is larger than `max_bytes`.
Result<std::string> read_text_file(const std::string& path, std::size_t max_bytes = std::size_t{256} << 20);
// All that comes from an open descriptor, a pipe or a terminal too; `name` stands in errors.
Result<std::string> read_stream(int fd, const std::string& name, std::size_t max_bytes);

// A file written piece by piece beside its target and put in place by commit(): a crash, an error or a full disk leaves
// the old file as it was. DiskFull, IoError.
// The file beside it is NAME.<16 hexadecimal digits>.part: new, our own, and locked while its writer lives, so that the
// next save of NAME removes what a killed one has left. A file that is replaced passes on its permissions; a new one
// has those that the umask leaves.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::string& path);
  AtomicFile(AtomicFile&& other) noexcept
      : path_(std::move(other.path_)),
        temporary_(std::move(other.temporary_)),
        fd_(std::exchange(other.fd_, -1)),
        slot_(std::exchange(other.slot_, -1)) {}
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();  // without a commit, nothing remains

  Result<void> write(std::span<const std::byte> bytes);
  // Replaces bytes that were written before; write() goes on at the end.
  Result<void> write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  // Flushes file and folder to disk and renames. Once.
  Result<void> commit();

 private:
  AtomicFile(std::string path, std::string temporary, int slot)
      : path_(std::move(path)), temporary_(std::move(temporary)), slot_(slot) {}
  Result<bool> open();
  std::string path_, temporary_;
  int fd_ = -1;
  int slot_ = -1;  // in the table of temporary files
};

// Writes a file whose bytes are all in memory.
Result<void> write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

// Flushes the folder that holds `path`, so that a new file or folder in it survives a loss of power. IoError, DiskFull.
Result<void> sync_folder_of(const std::string& path);

// For a program's signal handlers and for its last words when memory has run out: they allocate nothing, take no lock
// and may be called at any time. The library installs no handler itself.
// those of every AtomicFile; their saves fail from then on
void remove_temporary_files() noexcept;
// the path of the mapped file that holds the address, or null
const char* mapped_file_at(const void* address) noexcept;

bool is_directory(const std::string& path);
bool is_file(const std::string& path);

// folder/name, where `name` comes from a file: OutOfRange unless it stays inside the folder: no "..", no absolute path,
// no link that leads out. Parts "." are left out. The links of Hugging Face's cache, from snapshots/<revision> or a
// folder below it into blobs beside snapshots, count as inside.
Result<std::string> path_inside(const std::string& folder, std::string_view name);

}  // namespace loom
