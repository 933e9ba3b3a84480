#pragma once
// The recorder follows how a training turns its layers. It writes after every epoch each cell's distance (1 -
// similarity, evolution/dna) to the start and to the epoch before, and layers that became like others.
// dna.jsonl of a run's folder, one JSON object per line:
//   {"event":"start", "cells":[{"key", "kind", "weights"}]}
//   {"event":"epoch", "epoch", "step", "from_first":[..], "from_previous":[..], "since_first":[{"source", "target",
//     "overlap"}], "since_previous":[..]}
// Beside it are the networks that a resumed run goes on from: dna.first.entity, dna.even.entity and dna.odd.entity (the
// ends of the last two epochs). The file is a function of config and data, cut or not; losing it never ends a training.

#include "evolution/dna/dna.h"
#include "training/training_run.h"

namespace loom {

class DnaRecorder {
 public:
  // Empty: nothing is written, lines() has what would be.
  explicit DnaRecorder(std::string folder) : folder_(std::move(folder)) {}
  void observe(const TrainProgress& progress);
  const std::vector<Json>& lines() const { return lines_; }
  // Says why recording has ended; empty while it goes on.
  const std::string& warning() const { return warning_; }

 private:
  Result<void> begin(const TrainProgress& progress);
  Result<void> end_epoch(const TrainProgress& progress);
  Result<void> write(Json line);
  std::string file(std::string_view name) const { return folder_ + "/" + std::string(name); }
  std::string file_of_epoch(std::uint64_t epoch) const {
    return file(epoch % 2 == 0 ? "dna.even.entity" : "dna.odd.entity");
  }

  std::string folder_, warning_;
  Journal journal_;
  Dna first_, previous_;
  std::vector<Json> lines_;
};

// {"source", "target", "overlap"}
Json shift_json(const LogicShift& shift);
// dna.jsonl of a run: a folder, or a file in it. NotFound, CorruptData with the line.
Result<DriftRecord> read_drift(const std::string& run);
// The lines of a file against those of a replay, which may go further. CorruptData with the first that differs.
Result<void> check_dna_lines(const std::string& path, const std::vector<Json>& lines);

}  // namespace loom
