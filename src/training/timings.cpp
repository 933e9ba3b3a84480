#include "training/timings.h"

#include <cmath>

#include "core/checked.h"
#include "core/clock.h"
#include "core/file.h"
#include "training/training_run.h"

namespace loom {
namespace {

constexpr std::uint64_t kLines = 1000;  // about as many "steps" lines, however long the run
constexpr std::uint64_t kSpan = 20;     // steps of the running mean

double seconds(std::chrono::steady_clock::duration d) { return std::chrono::duration<double>(d).count(); }

// Rounded to what is worth reading.
double milliseconds(std::chrono::steady_clock::duration d) { return std::round(seconds(d) * 1e5) / 1e5; }

}  // namespace

std::string LossWatch::observe(double loss, double learning_rate) {
  if (!std::isfinite(loss)) return {};
  ++seen_;
  mean_ += (loss - mean_) / static_cast<double>(std::min(seen_, kSpan));
  if (seen_ == 1) first_ = least_ = mean_;
  least_ = std::min(least_, mean_);
  if (least_ <= 0) return {};  // of losses that may be negative ten times says nothing
  if (mean_ < 2 * least_) warned_ = false;
  if (warned_ || mean_ < 10 * least_ || mean_ < first_ / 10) return {};
  warned_ = true;
  return fmt::format("the loss rose to {:.4g}, its best was {:.4g}: the learning rate ({:.4g}) may be too high", mean_,
                     least_, learning_rate);
}

void Timings::open(const std::string& path, bool resumed, std::uint64_t step, std::uint64_t all_steps,
                   const Json& begin) {
  auto file = resumed && is_file(path) ? Journal::resume(path, step) : Journal::create(path);
  if (!file) {
    error_ = file.error().text();
    return;
  }
  file_ = std::move(*file);
  per_line_ = std::max<std::uint64_t>(1, ceil_div(all_steps, kLines));
  start_ = line_start_ = epoch_start_ = last_ = Clock::now();
  Json line{{"event", "begin"}, {"step", step}, {"time", utc_text()}};
  for (const auto& [key, value] : begin.items()) line[key] = value;
  write(line);
}

void Timings::write(const Json& line) {
  if (!file_.is_open() || !error_.empty()) return;
  if (const auto written = file_.write(line); !written) error_ = written.error().text();
}

void Timings::observe(const TrainProgress& p) {
  if (!file_.is_open() || !error_.empty()) return;
  const auto now = Clock::now();
  switch (p.event) {
    case TrainEvent::EpochBegin: epoch_start_ = now; break;
    case TrainEvent::BatchEnd:
      ++count_, samples_ += p.samples, rate_ = p.learning_rate;
      if (p.report != nullptr && !p.report->skipped && std::isfinite(p.loss)) {
        low_ = counted_ == 0 ? p.loss : std::min(low_, p.loss),
        high_ = counted_ == 0 ? p.loss : std::max(high_, p.loss);
        sum_ += p.loss, ++counted_;
      }
      if (p.report != nullptr && p.report->skipped) warn(p.step, "skipped: " + p.report->why);
      if (p.step % per_line_ == 0) flush(p.step);
      last_ = now;
      break;
    case TrainEvent::ValidationEnd: validation_ = seconds(now - last_); break;
    case TrainEvent::EpochEnd: {
      flush(p.step);
      Json line{
          {"event", "epoch"}, {"epoch", p.epoch + 1}, {"step", p.step}, {"seconds", milliseconds(now - epoch_start_)}};
      if (p.validation != nullptr) line["validation_seconds"] = std::round(validation_ * 1e5) / 1e5;
      write(line);
      line_start_ = Clock::now();
      break;
    }
    default: break;
  }
}

void Timings::flush(std::uint64_t step) {
  if (count_ == 0) return;
  const auto now = Clock::now();
  Json line{{"event", "steps"}, {"step", step}, {"count", count_}};
  line["loss"] = counted_ == 0 ? Json() : Json(sum_ / static_cast<double>(counted_));
  if (counted_ > 1) line["low"] = low_, line["high"] = high_;
  line["learning_rate"] = rate_, line["samples"] = samples_, line["seconds"] = milliseconds(now - line_start_);
  write(line);
  count_ = counted_ = samples_ = 0, sum_ = 0, line_start_ = now;
}

void Timings::warn(std::uint64_t step, const std::string& text) {
  write({{"event", "warning"}, {"step", step}, {"text", text}});
}

void Timings::end(std::uint64_t step, std::string_view stop_reason) {
  flush(step);
  write({{"event", "end"},
         {"step", step},
         {"stop_reason", stop_reason},
         {"seconds", milliseconds(Clock::now() - start_)}});
}

}  // namespace loom
