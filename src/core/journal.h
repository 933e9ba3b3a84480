#pragma once
// The record of a run, one JSON object per line, that replay proves: what was trained on what, and the hash of the
// weights on the way.
//   {"event":"start", "numerics_version", "config", "folder", "data":[{source, sha256, samples}], "parameters", "hash"}
//   {"event":"steps", "step", "epoch", "loss", "learning_rate", "hash"}      every journal.hash_every steps
//   {"event":"epoch", "epoch", "step", "loss", "validation":{..}, "skipped", "hash"}   epochs count from 1
//   {"event":"end", "stop_reason", "step", "hash"}
// A fine-tuning (finetune/finetune.h) writes the same events:
//   {"event":"start", "task":"finetune", "numerics_version", "config", "sources":{model, text, from, dtype}, "data",
//     "base", "parameters", "hash"}
//   {"event":"validation", "step":0, "loss"}
//   {"event":"steps", "step", "epoch", "losses":[of each step since the last such line], "learning_rate", "hash"}
//   {"event":"end", "stop_reason", "step", "tokens", "losses":[of the steps since], "validation", "hash"}
// The start of a run on a device that is not exact says "precision":"fast", and nothing proves such a journal.
// Everything in any other one is a function of config and data; lines of an interrupted run that no checkpoint covers
// are cut off on resuming.

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/json.h"
#include "core/sha256.h"
#include "core/system.h"

namespace loom {

// A journal's first bytes: what a checkpoint counts on.
struct JournalMark {
  std::uint64_t bytes = 0;
  std::string sha256;  // in hexadecimal digits
};
Json to_json(const JournalMark& mark);
// CorruptData.
Result<JournalMark> journal_mark_from(const Json* json);

class Journal {
 public:
  // Begins a new file. IoError, DiskFull.
  static Result<Journal> create(const std::string& path);
  // Appends after the marked bytes and cuts off the bytes that follow them. CorruptData when the file is shorter or
  // begins with other bytes.
  static Result<Journal> resume(const std::string& path, const JournalMark& mark);
  // Resumes a record that no checkpoint counts on: appends after the lines whose step is at most `keep_to`, which
  // come first.
  static Result<Journal> resume(const std::string& path, std::uint64_t keep_to);
  Journal() = default;

  // Sees every line before it is written, also where there is no file; an error of its is that of write().
  void watch(std::function<Result<void>(const Json&)> f) { watch_ = std::move(f); }
  // One line, flushed. Without a file it is only seen.
  Result<void> write(const Json& line);
  // Brings every line to the disk, before the checkpoint that counts on them. IoError, DiskFull.
  Result<JournalMark> sync();
  bool is_open() const { return file_ != nullptr; }
  // Takes over the other's file and place; the watch stays, unless the other has one.
  Journal(Journal&& other) noexcept = default;
  Journal& operator=(Journal&& other) noexcept;

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;
  friend class JournalReader;
  Journal(File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  static Result<File> open(const std::string& path, os::Access access);
  static Result<Journal> cut(const std::string& path, std::uint64_t bytes, const Sha256& hash);
  File file_;
  std::string path_;
  std::uint64_t bytes_ = 0;
  Sha256 hash_;  // of them
  std::function<Result<void>(const Json&)> watch_;
};

// The lines of a journal of any length, one after the other; a last one without its end is left out.
class JournalReader {
 public:
  // NotFound, IoError.
  static Result<JournalReader> open(const std::string& path);
  // Nothing after the last line. CorruptData with the line; LimitExceeded for one that no reader of JSON takes.
  Result<std::optional<Json>> next();
  // The text of the next line, valid until the next call, for readers that parse few of many lines.
  Result<std::optional<std::string_view>> next_text();
  // Parses a text of next_text(). CorruptData with the line.
  Result<Json> parsed(std::string_view text) const;
  std::uint64_t lines() const { return lines_; }  // that were given
  std::uint64_t bytes() const { return bytes_; }  // of them
  const std::string& path() const { return path_; }

 private:
  JournalReader(Journal::File file, std::string path) : file_(std::move(file)), path_(std::move(path)) {}
  Journal::File file_;
  std::string path_, text_;
  std::size_t at_ = 0;  // of text_
  std::uint64_t lines_ = 0, bytes_ = 0;
};

// All lines.
Result<std::vector<Json>> read_journal(const std::string& path);
// The first line. CorruptData where it is no start of a run.
Result<Json> read_journal_start(const std::string& path);
// A number, or null for what is not finite: JSON has no other, and two journals must agree.
Json number_or_null(double value);

// Holds the lines of a journal against those of the same run done again.
class JournalProof {
 public:
  // CorruptData unless the first line is the start of a run; Unsupported for another numerics version, and for a run
  // that was not exact.
  static Result<JournalProof> open(const std::string& path);
  const Json& start() const { return start_; }
  // Compares the next line of the run, without its paths ("folder", "sources", "source" of data). CorruptData with the
  // first difference; Unsupported for a run that is not exact. Lines after the journal's last one are only counted.
  Result<void> compare(const Json& line);
  // Every line of the journal has been met: a journal of an unfinished run ends before the run does.
  bool complete() const { return !next_; }
  // CorruptData when the run and the journal do not end together.
  Result<void> finish() const;
  std::uint64_t compared() const { return compared_; }

 private:
  JournalProof(JournalReader reader, Json start)
      : reader_(std::move(reader)), start_(std::move(start)), next_(start_) {}
  JournalReader reader_;
  Json start_;
  std::optional<Json> next_;
  std::uint64_t compared_ = 0;
  bool beyond_ = false;
};

// The first place in which two JSON texts differ, as a pointer with both values; empty when they are equal.
std::string first_difference(const Json& a, const Json& b, const std::string& pointer = "");

}  // namespace loom
