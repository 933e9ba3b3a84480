#pragma once
// Sequences that had to leave memory, as files of a folder: snapshots of lm/session.h, found again by the tokens with
// which a prompt begins. The files belong to this process: they are locked while it lives, it removes them when it
// ends, and those that a killed one has left are removed by the next store in the folder.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"

namespace loom::server {

class SequenceStore {
 public:
  // Makes the folder where it is missing. IoError, NotFound where no file can be written in it.
  static Result<std::unique_ptr<SequenceStore>> open(const std::string& folder, std::uint64_t most_bytes);
  ~SequenceStore();
  SequenceStore(const SequenceStore&) = delete;
  SequenceStore& operator=(const SequenceStore&) = delete;

  struct Match {
    std::size_t entry = 0, count = 0;
  };
  // The sequence that has most tokens in common with the beginning of a prompt, and how many; 0: none has any.
  Match longest(std::span<const std::int32_t> prompt) const;
  std::size_t length(std::size_t entry) const { return entries_[entry].tokens.size(); }
  // Returns whether a sequence begins with all of these tokens.
  bool holds(std::span<const std::int32_t> tokens) const;
  // Writes a sequence. The least recently used ones leave where the folder is full; one that alone is too large is left
  // out. DiskFull, IoError, after which the store is without it.
  Result<void> put(std::span<const std::int32_t> tokens, std::span<const std::byte> snapshot);
  // Reads a sequence. IoError; the bytes are checked by Session::restore().
  Result<std::vector<std::byte>> read(std::size_t entry);
  void drop(std::size_t entry);

  std::uint64_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::vector<std::int32_t> tokens;
    std::string path;
    std::uint64_t bytes = 0, last_used = 0;
    int file = -1;  // open for its lock
  };

  SequenceStore(std::string folder, std::uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}
  Result<Entry> create();
  static void remove(const Entry& entry);

  const std::string folder_;
  const std::uint64_t most_bytes_;
  std::vector<Entry> entries_;
  std::uint64_t bytes_ = 0, clock_ = 0;
};

}  // namespace loom::server
