#pragma once
// loom train --watch: a training on a terminal, redrawn in place. Nothing of the terminal is changed, so nothing has to
// be put back.

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "training/training_run.h"

namespace loom::cli {

// A curve that never outgrows its memory: neighbours are merged when it is full.
class Curve {
 public:
  struct Point {
    double x, y, low, high;
  };
  void add(double x, double y);
  const std::vector<Point>& points() const { return points_; }

 private:
  static constexpr std::size_t kMost = 2048;
  std::vector<Point> points_;
  std::size_t each_ = 1, pending_ = 0;  // samples of a point, and of the last one so far
};

class TrainView {
 public:
  // Standard output is a terminal that knows escapes.
  static bool possible();

  TrainView(std::string_view title, const TrainingRun& run);
  void observe(const TrainProgress& progress);
  void journal_line(const Json& line);  // the newest hash
  void warn(const std::string& text);
  // The last picture; what is printed next stands below it.
  void finish();

  // The lines of a picture, each at most `columns` wide, at most `rows` of them.
  std::vector<std::string> lines(int columns, int rows) const;

 private:
  void draw(bool always);
  std::optional<std::pair<double, double>> range() const;
  std::vector<std::string> plot(int columns, int rows) const;
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

  std::string title_, about_;
  Curve loss_, rate_;
  std::vector<std::pair<double, double>> validation_;  // step, loss
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now(), drawn_{};
  int columns_ = 0, rows_ = 0;
  std::uint64_t epoch_ = 0, epochs_ = 0, step_ = 0, batch_ = 0, batches_ = 1, first_step_ = 0, samples_ = 0,
                skipped_ = 0, warnings_ = 0;
  double mean_ = 0, best_ = 0, learning_rate_ = 0, seen_ = 0;
  std::string validation_text_, hash_, warning_;
  bool first_ = true, stopping_ = false;
};

std::string duration_text(double seconds);
std::string metrics_text(const Metrics& metrics);

}  // namespace loom::cli
