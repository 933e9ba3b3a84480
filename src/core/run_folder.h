#pragma once
// The folder that a run (train, finetune, evolve) writes: one process at a time, never over another run unasked, and gone on with only where
// its checkpoint stands.

#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace loom {

// The right to write into a folder. Its holder's death releases it, however that comes.
class FolderLock {
 public:
  // Makes the file `lock` in a folder that is there. InvalidState when somebody else has it, this process too; IoError.
  static Result<FolderLock> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_ = -1;
};

enum class RunStart : std::uint8_t { fresh, resume, overwrite };

// Whether a run goes on from its checkpoint (true) or begins (false), by the files of its folder. InvalidArgument for a fresh run where there is
// one. To be resumed without a checkpoint, a journal may have no more than the `first_lines` that come before the first one: CorruptData, for
// beginning anew would lose the others.
Result<bool> goes_on(const std::string& folder, RunStart start, std::string_view journal, std::string_view checkpoint, std::uint64_t first_lines);

// Takes away what an older run left under these names. IoError.
Result<void> remove_files(const std::string& folder, std::initializer_list<std::string_view> names);

}  // namespace loom
