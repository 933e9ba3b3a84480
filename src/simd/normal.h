#pragma once
// Normal deviates from a counter stream by Box and Muller (engine N-08): uniforms 2k and 2k + 1 give normals 2k
// (cosine) and 2k + 1 (sine).

#include <cmath>

#include "core/philox.h"
#include "simd/math64.h"

namespace loom {

inline double normal(const RandomStream& stream, std::uint64_t element) {
  constexpr double kTwoPi = 6.283185307179586;
  const double u = static_cast<double>(stream.uniform(element & ~std::uint64_t{1})),
               v = static_cast<double>(stream.uniform(element | 1));
  const double radius = std::sqrt(-2.0 * log64(u));  // correctly rounded everywhere
  return radius * (element % 2 == 0 ? cos64(kTwoPi * v) : sin64(kTwoPi * v));
}

}  // namespace loom
