#pragma once
// Sums over rows of f64 values by lanes16 (numerics 2): element i goes to accumulator i mod 16, then a[j] += a[j + n/2] for n = 16, 8, 4, 2.

#include <array>
#include <cmath>
#include <cstddef>
#include <span>

namespace loom {

template <class F>
double lanes16(std::size_t n, F&& term) {
  std::array<double, 16> a;
  for (std::size_t j = 0; j < 16; ++j) a[j] = 0.0 + (j < n ? term(j) : 0.0);
  std::size_t i = 16;
  for (; i + 16 <= n; i += 16)
    for (std::size_t j = 0; j < 16; ++j) a[j] += term(i + j);
  for (std::size_t j = 0; i < n; ++i, ++j) a[j] += term(i);
  for (std::size_t half = 8; half > 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) a[j] += a[j + half];
  return a[0];
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
inline double cosine_distance(std::span<const double> a, std::span<const double> b) { return 1 - cosine_similarity(a, b); }

}  // namespace loom
