#pragma once
// simd/orders.h by the names that modules above ops call it.

#include "simd/orders.h"

namespace loom {

template <class T>
T snap_one(T x) {
  return snap(x);
}
template <class T, class F>
T lanes16_sum(std::size_t n, F&& term) {
  return lanes16<T>(n, term);
}
template <class T, class F>
T chain64_sum(std::size_t n, F&& term) {
  return chain64<T>(0, n, term);
}

}  // namespace loom
