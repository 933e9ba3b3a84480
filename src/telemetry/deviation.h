#pragma once
// Deviations measure how far outputs are from the expected values (engine E-42). That of one value is 100 * |a - e| /
// |e| percent, or 100 * |a - e| where |e| is below 1e-10. A value that is not finite, unless equal, deviates
// infinitely.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/error.h"

namespace loom {

class DeviationMetrics {
 public:
  static constexpr std::array<std::string_view, 7> kBuckets = {"0-10",  "10-20",  "20-30", "30-40",
                                                               "40-50", "50-100", "100+"};

  static double deviation(double actual, double expected);
  void add(double actual, double expected);
  // ShapeMismatch when the lengths differ.
  Result<void> add(std::span<const float> actual, std::span<const float> expected);

  std::uint64_t samples() const { return samples_; }
  // By kBuckets; a deviation that is a bound counts in the upper one.
  std::uint64_t bucket(std::size_t index) const { return counts_[index]; }
  // Mean of max(0, 100 - deviation); 0 without samples.
  double score() const { return samples_ == 0 ? 0 : sum_ / static_cast<double>(samples_); }
  // Mean of the deviations that are finite.
  double mean_deviation() const { return finite_ == 0 ? 0 : deviations_ / static_cast<double>(finite_); }

 private:
  std::array<std::uint64_t, kBuckets.size()> counts_{};
  std::uint64_t samples_ = 0, finite_ = 0;
  double sum_ = 0, deviations_ = 0;
};

}  // namespace loom
