#pragma once
// Metrics tell how good outputs are (engine T-50). They are collected batch by batch in the order of the samples.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/json_fwd.h"
#include "training/trainer.h"

namespace loom {

// A figure of validation samples that a rule follows, and its name.
enum class Metric : std::uint8_t { Loss, Accuracy, Top5, Mae, R2 };
inline constexpr std::array<std::string_view, 5> kMetrics = {"loss", "accuracy", "top_5", "mae", "r2"};
constexpr std::string_view name(Metric metric) { return kMetrics[static_cast<std::size_t>(metric)]; }
constexpr bool is_better_higher(Metric metric) { return metric != Metric::Loss && metric != Metric::Mae; }

class Metrics {
 public:
  // Confusion is counted for at most this many classes.
  static constexpr std::size_t kMostConfused = 256;

  // Outputs [..., C] and their targets: class ids, one per row, or values. `loss` as evaluate() gave it for these
  // samples.
  void add(const ConstView& output, const Samples& samples, const LossValue& loss);
  // Rows of this class are no part of accuracies and confusion.
  void ignore(std::int64_t id) { ignored_ = id; }

  double loss() const { return count_ > 0 ? loss_ / count_ : 0; }
  bool has_classes() const { return rows_ > 0; }
  double accuracy() const { return rows_ > 0 ? static_cast<double>(right_) / static_cast<double>(rows_) : 0; }
  double top_5() const { return rows_ > 0 ? static_cast<double>(right_of_5_) / static_cast<double>(rows_) : 0; }
  double mae() const { return values_ > 0 ? absolute_ / values_ : 0; }
  // 1 - residual / total sum of squares, all outputs together, each about its own mean (scikit-learn's
  // variance_weighted); 0 where the targets do not vary.
  double r2() const;
  double value(Metric metric) const;
  // [target][output], flat; empty for values and for too many classes.
  const std::vector<std::uint64_t>& confusion() const { return confusion_; }
  std::size_t classes() const { return classes_; }
  Json to_json() const;

 private:
  template <class T>
  void add_rows(const ConstView& output, const Samples& samples);
  double loss_ = 0, count_ = 0, absolute_ = 0, values_ = 0, residual_ = 0;
  std::vector<double> sums_, squares_;  // of targets, by column
  std::int64_t ignored_ = -1;
  std::uint64_t rows_ = 0, right_ = 0, right_of_5_ = 0;
  std::size_t classes_ = 0;
  std::vector<std::uint64_t> confusion_;
};

}  // namespace loom
