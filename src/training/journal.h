#pragma once
// The record of a run, one JSON object per line, that replay proves: what was trained on what, and the hash of the weights on the way.
//   {"event":"start", "numerics_version", "config", "folder", "data":[{source, sha256, samples}], "parameters", "hash"}
//   {"event":"steps", "step", "epoch", "loss", "learning_rate", "hash"}      every journal.hash_every steps
//   {"event":"epoch", "epoch", "step", "loss", "validation":{..}, "skipped", "hash"}   epochs count from 1
//   {"event":"end", "stop_reason", "step", "hash"}
// A fine-tuning (finetune/finetune.h) writes the same events:
//   {"event":"start", "task":"finetune", "numerics_version", "config", "sources":{model, text, from, dtype}, "data", "base", "parameters", "hash"}
//   {"event":"validation", "step":0, "loss"}
//   {"event":"steps", "step", "epoch", "losses":[of each step since the last such line], "learning_rate", "hash"}
//   {"event":"end", "stop_reason", "step", "tokens", "losses":[of the steps since], "validation", "hash"}
// Everything in it is a function of config and data; lines of an interrupted run that no checkpoint covers are cut off on resuming.

#include <cstdio>
#include <functional>
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
  Journal(Journal&& other) noexcept : file_(std::exchange(other.file_, nullptr)), path_(std::move(other.path_)), watch_(std::move(other.watch_)) {}
  Journal& operator=(Journal&& other) noexcept;
  ~Journal();

  // Sees every line before it is written, also where there is no file; an error of its is that of write().
  void watch(std::function<Result<void>(const Json&)> f) { watch_ = std::move(f); }
  // One line, flushed. Without a file it is only seen.
  Result<void> write(const Json& line);
  bool is_open() const { return file_ != nullptr; }

 private:
  Journal(std::FILE* file, std::string path) : file_(file), path_(std::move(path)) {}
  std::FILE* file_ = nullptr;
  std::string path_;
  std::function<Result<void>(const Json&)> watch_;
};

// The lines of a journal; a last one without its end is left out. CorruptData with the line; NotFound.
Result<std::vector<Json>> read_journal(const std::string& path);
// A number, or null for what is not finite: JSON has no other, and two journals must agree.
Json number_or_null(double value);

// Holds the lines of a journal against those of the same run done again.
class JournalProof {
 public:
  // CorruptData unless the first line is the start of a run; Unsupported for another numerics version.
  static Result<JournalProof> open(const std::string& path);
  const Json& start() const { return lines_[0]; }
  // The next line of the run. Where things lie ("folder", "sources", "source" of data) is no part of what was computed. CorruptData with the
  // first difference. Lines beyond the journal's last are counted, no more.
  Result<void> compare(const Json& line);
  // Every line of the journal has been met: a journal of an unfinished run ends before the run does.
  bool complete() const { return compared_ >= lines_.size(); }
  // CorruptData when the run and the journal do not end together.
  Result<void> finish() const;
  std::uint64_t compared() const { return compared_; }

 private:
  JournalProof(std::string path, std::vector<Json> lines) : path_(std::move(path)), lines_(std::move(lines)) {}
  std::string path_;
  std::vector<Json> lines_;
  std::uint64_t compared_ = 0;
  bool beyond_ = false;
};

// The first place in which two JSON texts differ, as a pointer with both values; empty when they are equal.
std::string first_difference(const Json& a, const Json& b, const std::string& pointer = "");

}  // namespace loom
