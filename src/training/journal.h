#pragma once
// The record of a run, one JSON object per line, that replay proves: what was trained on what, and the hash of the weights on the way.
//   {"event":"start", "numerics_version", "config", "folder", "data":[{source, sha256, samples}], "parameters", "hash"}
//   {"event":"steps", "step", "epoch", "loss", "learning_rate", "hash"}      every journal.hash_every steps
//   {"event":"epoch", "epoch", "step", "loss", "validation":{..}, "skipped", "hash"}   epochs count from 1
//   {"event":"end", "stop_reason", "step", "hash"}
// Everything in it is a function of config and data; lines of an interrupted run that no checkpoint covers are cut off on resuming.

#include <cstdio>
#include <string>
#include <vector>

#include "core/json.h"

namespace loom {

class Journal {
 public:
  // Begins a new file, or goes on behind the lines of an old one whose step is at most `keep_to`. IoError, DiskFull.
  static Result<Journal> create(const std::string& path);
  static Result<Journal> resume(const std::string& path, std::uint64_t keep_to);
  Journal() = default;
  Journal(Journal&& other) noexcept : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)) {}
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // One line, flushed.
  Result<void> write(const Json& line);
  bool is_open() const { return file_ != nullptr; }

 private:
  Journal(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::FILE* file_ = nullptr;
  std::string path_;
};

// The lines of a journal; a last one without its end is left out. CorruptData with the line; NotFound.
Result<std::vector<Json>> read_journal(const std::string& path);

}  // namespace loom
