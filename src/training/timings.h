#pragma once
// Times and progress of a run, for people: replay proves none of it, and only the report reads it.
// timings.jsonl, one JSON object per line:
//   {"event":"begin", "step", "time", "threads", "samples", "batch", "machine":{..}}          once per start or resume
//   {"event":"steps", "step", "count", "loss", "low", "high", "learning_rate", "samples", "seconds"}   of the last
//     `count` steps
//   {"event":"epoch", "epoch", "step", "seconds", "validation_seconds"}
//   {"event":"warning", "step", "text"}
//   {"event":"end", "step", "stop_reason", "seconds"}                                         of this start

#include <chrono>
#include <string>
#include <string_view>

#include "core/journal.h"

namespace loom {

struct TrainProgress;

// Detects a diverging loss: its running mean is ten times the least one so far and at least a tenth of the first one
// (noise around a loss near 0 is no reason to warn).
class LossWatch {
 public:
  // Takes the loss of one step that counted. Returns a warning the first time; again only after the loss came back.
  std::string observe(double loss, double learning_rate);
  double mean() const { return mean_; }

 private:
  std::uint64_t seen_ = 0;
  double mean_ = 0, first_ = 0, least_ = 0;
  bool warned_ = false;
};

// Losing this file must not end a training: after the first error nothing more is written, and error() returns it.
class Timings {
 public:
  Timings() = default;
  // Opens the log at `path`; cuts off lines after `step` when the run is resumed from that step. `begin` is the first
  // line without event and time.
  void open(const std::string& path, bool resumed, std::uint64_t step, std::uint64_t all_steps, const Json& begin);
  void observe(const TrainProgress& progress);
  void warn(std::uint64_t step, const std::string& text);
  void end(std::uint64_t step, std::string_view stop_reason);
  const std::string& error() const { return error_; }

 private:
  using Clock = std::chrono::steady_clock;
  void write(const Json& line);
  void flush(std::uint64_t step);

  Journal file_;
  std::string error_;
  std::uint64_t per_line_ = 1, count_ = 0, counted_ = 0, samples_ = 0;
  double sum_ = 0, low_ = 0, high_ = 0, rate_ = 0, validation_ = 0;
  Clock::time_point start_{}, line_start_{}, epoch_start_{}, last_{};
};

}  // namespace loom
