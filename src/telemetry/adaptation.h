#pragma once
// Measures how fast the accuracy of a network that learns while it runs recovers after its task changes (engine E-43).
// Time comes from a clock that the caller gives, so results are exact in tests.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"

namespace loom {

struct AdaptationWindow {
  std::uint64_t outputs = 0, correct = 0;
  double accuracy = 0;         // percent
  double outputs_per_sec = 0;  // over the window's length
  std::string task;            // at its end
};

struct TaskChange {
  double at_ms = 0;  // since start
  std::string task;
  double accuracy_before = 0;  // mean of the last three full windows before it, fewer where there are fewer
  // from the change to the end of the first window that begins after it with at least 0.9 of that
  double recovery_ms = -1;
  std::int64_t recovery_outputs = -1;  // outputs from the change to that end; -1: never
};

// {"windows": [..], "changes": [..]}, each with the members above.
Json adaptation_json(const std::vector<AdaptationWindow>& windows, const std::vector<TaskChange>& changes);

class AdaptationTracker {
 public:
  // Milliseconds that never go back.
  using ClockMs = std::function<double()>;

  // Windows of `window_ms` over `total_ms`, at most 2^20 of them; what comes later is not counted. InvalidArgument.
  static Result<AdaptationTracker> create(double window_ms, double total_ms, ClockMs clock, std::string task = "");

  void record(bool correct);
  // Now, or `at_ms` after the start when that is not negative (not before the last record).
  void mark_task_change(std::string task, double at_ms = -1);
  // Closes the windows up to now.
  void finish() { advance(clock_() - start_); }

  const std::vector<AdaptationWindow>& windows() const { return windows_; }  // full ones
  std::vector<TaskChange> changes() const;
  std::uint64_t outputs() const { return outputs_; }
  double accuracy() const {
    return outputs_ == 0 ? 0 : 100.0 * static_cast<double>(correct_) / static_cast<double>(outputs_);
  }
  // Outputs per second over the full windows.
  double throughput() const;
  // Percent of the full windows that had an output.
  double availability() const;
  // throughput * availability * accuracy / 10000
  double score() const { return throughput() * availability() * accuracy() / 10000; }

 private:
  AdaptationTracker() = default;
  void advance(double now_ms);

  struct Change {
    TaskChange change;
    std::size_t first = 0;      // window that begins at the change or after it
    std::uint64_t outputs = 0;  // before it
  };
  double window_ms_ = 0, start_ = 0;
  std::size_t most_ = 0;
  ClockMs clock_;
  std::string task_;
  AdaptationWindow open_;
  std::vector<AdaptationWindow> windows_;
  std::vector<std::uint64_t> outputs_at_;  // outputs up to the end of each window
  std::vector<Change> changes_;
  std::uint64_t outputs_ = 0, correct_ = 0;
};

}  // namespace loom
