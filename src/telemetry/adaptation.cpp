#include "telemetry/adaptation.h"

#include <algorithm>

#include "core/json.h"

namespace loom {

Json adaptation_json(const std::vector<AdaptationWindow>& windows, const std::vector<TaskChange>& changes) {
  Json out{{"windows", Json::array()}, {"changes", Json::array()}};
  for (const AdaptationWindow& w : windows)
    out["windows"].push_back({{"outputs", w.outputs},
                              {"correct", w.correct},
                              {"accuracy", w.accuracy},
                              {"outputs_per_sec", w.outputs_per_sec},
                              {"task", w.task}});
  for (const TaskChange& c : changes)
    out["changes"].push_back({{"at_ms", c.at_ms},
                              {"task", c.task},
                              {"accuracy_before", c.accuracy_before},
                              {"recovery_ms", c.recovery_ms},
                              {"recovery_outputs", c.recovery_outputs}});
  return out;
}

Result<AdaptationTracker> AdaptationTracker::create(double window_ms, double total_ms, ClockMs clock,
                                                    std::string task) {
  constexpr double kMostWindows = 1 << 20;
  if (!(window_ms > 0) || !(total_ms >= window_ms) || !(total_ms / window_ms <= kMostWindows))
    return fail(Code::InvalidArgument, "windows of {} ms over {} ms: a positive length and 1 to 2^20 windows expected",
                window_ms, total_ms);
  if (!clock) return fail(Code::InvalidArgument, "a clock is needed");
  AdaptationTracker t;
  t.window_ms_ = window_ms, t.clock_ = std::move(clock), t.task_ = std::move(task);
  t.most_ = static_cast<std::size_t>(total_ms / window_ms);
  t.start_ = t.clock_();
  return t;
}

void AdaptationTracker::advance(double now_ms) {
  while (windows_.size() < most_ && now_ms >= static_cast<double>(windows_.size() + 1) * window_ms_) {
    open_.accuracy =
        open_.outputs == 0 ? 0 : 100.0 * static_cast<double>(open_.correct) / static_cast<double>(open_.outputs);
    open_.outputs_per_sec = static_cast<double>(open_.outputs) * 1000 / window_ms_;
    open_.task = task_;
    windows_.push_back(std::move(open_));
    outputs_at_.push_back(outputs_);
    open_ = {};
  }
}

void AdaptationTracker::record(bool correct) {
  advance(clock_() - start_);
  if (windows_.size() == most_) return;
  ++open_.outputs, ++outputs_;
  open_.correct += correct, correct_ += correct;
}

void AdaptationTracker::mark_task_change(std::string task, double at_ms) {
  const double now = at_ms >= 0 ? at_ms : clock_() - start_;
  advance(now);
  Change c;
  c.change.at_ms = now, c.change.task = task;
  c.outputs = outputs_;
  const std::size_t full = windows_.size(), last = std::min<std::size_t>(3, full);
  for (std::size_t i = full - last; i < full; ++i)
    c.change.accuracy_before += windows_[i].accuracy / static_cast<double>(last);
  // The open window holds outputs of the old task, unless the change comes at its very beginning.
  c.first = full + (static_cast<double>(full) * window_ms_ < now ? 1 : 0);
  task_ = std::move(task);
  changes_.push_back(std::move(c));
}

std::vector<TaskChange> AdaptationTracker::changes() const {
  std::vector<TaskChange> all;
  for (std::size_t k = 0; k < changes_.size(); ++k) {
    const Change& c = changes_[k];
    TaskChange change = c.change;
    for (std::size_t w = c.first; w < windows_.size(); ++w) {
      if (windows_[w].outputs == 0 || windows_[w].accuracy < 0.9 * change.accuracy_before) continue;
      change.recovery_ms = static_cast<double>(w + 1) * window_ms_ - change.at_ms;
      change.recovery_outputs = static_cast<std::int64_t>(outputs_at_[w] - c.outputs);
      break;
    }
    all.push_back(std::move(change));
  }
  return all;
}

double AdaptationTracker::throughput() const {
  if (windows_.empty()) return 0;
  return static_cast<double>(outputs_at_.back()) * 1000 / (static_cast<double>(windows_.size()) * window_ms_);
}

double AdaptationTracker::availability() const {
  if (windows_.empty()) return 0;
  const auto used = std::ranges::count_if(windows_, [](const AdaptationWindow& w) { return w.outputs > 0; });
  return 100.0 * static_cast<double>(used) / static_cast<double>(windows_.size());
}

}  // namespace loom
