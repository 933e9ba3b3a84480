#include "telemetry/deviation.h"

#include <cmath>
#include <limits>

namespace loom {

double DeviationMetrics::deviation(double actual, double expected) {
  if (actual == expected) return 0;
  const double gap = std::abs(actual - expected), size = std::abs(expected);
  const double percent = size < 1e-10 ? gap * 100 : gap / size * 100;
  return std::isfinite(actual) && std::isfinite(expected) ? percent : std::numeric_limits<double>::infinity();
}

void DeviationMetrics::add(double actual, double expected) {
  const double d = deviation(actual, expected);
  ++counts_[d < 50 ? static_cast<std::size_t>(d / 10) : d < 100 ? 5 : 6];
  ++samples_;
  if (d < 100) sum_ += 100 - d;
  if (std::isfinite(d)) ++finite_, deviations_ += d;
}

Result<void> DeviationMetrics::add(std::span<const float> actual, std::span<const float> expected) {
  if (actual.size() != expected.size())
    return fail(Code::ShapeMismatch, "{} values, {} expected", actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) add(static_cast<double>(actual[i]), static_cast<double>(expected[i]));
  return {};
}

}  // namespace loom
