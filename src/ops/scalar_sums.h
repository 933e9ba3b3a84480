#pragma once
// The rules of numerics 1.2 and 2 one number at a time, for what is sorted or searched rather than run over lanes.

#include <cstddef>
#include <limits>

#include "dtypes/float16.h"

namespace loom {

inline float snap_one(float v) { return snapped(v); }
inline double snap_one(double v) { return v != v ? std::numeric_limits<double>::quiet_NaN() : (v < 0 ? -v : v) < 0x1p-485 ? 0.0 : v; }

// f(0) + ... + f(n - 1) by lanes16.
template <class T, class F>
T lanes16_sum(std::size_t n, F&& f) {
  T lanes[16] = {};
  for (std::size_t i = 0; i < n; ++i) lanes[i % 16] = lanes[i % 16] + f(i);
  for (std::size_t half = 8; half != 0; half /= 2)
    for (std::size_t j = 0; j < half; ++j) lanes[j] = lanes[j] + lanes[j + half];
  return lanes[0];
}

// f(0) + ... + f(n - 1) by chain64.
template <class T, class F>
T chain64_sum(std::size_t n, F&& f) {
  T total = 0;
  for (std::size_t i = 0; i < n;) {
    T block = 0;
    for (const std::size_t end = i + 64 < n ? i + 64 : n; i < end; ++i) block = block + f(i);
    total = total + block;
  }
  return total;
}

}  // namespace loom
