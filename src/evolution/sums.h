#pragma once
// Sums over rows of f64 values by lanes16 (docs/internals/numerics.md).

#include <cmath>
#include <cstddef>
#include <span>

#include "simd/orders.h"

namespace loom {

template <class F>
double lanes16(std::size_t n, F&& term) {
  return lanes16<double>(n, term);
}

inline double dot(std::span<const double> a, std::span<const double> b) {
  return lanes16(a.size(), [&](std::size_t i) { return a[i] * b[i]; });
}

// a . b / (|a| |b|); both zero 1, one zero 0 (engine E-02). Equal lengths.
inline double cosine_similarity(std::span<const double> a, std::span<const double> b) {
  const double aa = dot(a, a), bb = dot(b, b);
  if (aa == 0 || bb == 0) return aa == bb ? 1 : 0;
  const double c = dot(a, b) / (std::sqrt(aa) * std::sqrt(bb));
  return c > 1 ? 1 : c < -1 ? -1 : c;
}
// 1 - cosine similarity.
inline double cosine_distance(std::span<const double> a, std::span<const double> b) {
  return 1 - cosine_similarity(a, b);
}

}  // namespace loom
