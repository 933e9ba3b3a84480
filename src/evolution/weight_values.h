#pragma once
// Weights as f64 values and back.

#include <cmath>
#include <limits>
#include <vector>

#include "layers/weight.h"

namespace loom {

// The master's values where there is one, else what the active version stands for.
inline std::vector<double> values_of(const Weight& w) {
  if (!w.master64().empty()) return {w.master64().begin(), w.master64().end()};
  if (!w.master().empty()) return {w.master().begin(), w.master().end()};
  std::vector<double> values(w.elements());
  w.decode(0, w.elements(), values.data());
  return values;
}

// A number that a float32 weight can take; no NaN.
inline bool is_f32(double v) { return std::abs(v) <= static_cast<double>(std::numeric_limits<float>::max()); }

}  // namespace loom
