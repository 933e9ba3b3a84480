#pragma once
// Checks that all elements of a tensor are finite: trainers check gradients and outputs before any weight moves.

#include <algorithm>
#include <atomic>
#include <bit>

#include "ops/for_rows.h"

namespace loom {

// Whether value(i) is finite for every i below n: integers and no early exit, so that compilers look at many at once.
template <class T, class F>
bool all_finite(std::size_t n, F&& value) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr Bits kInfinite = sizeof(T) == 8 ? static_cast<Bits>(0x7ff0000000000000u) : static_cast<Bits>(0x7f800000u);
  Bits found = 0;
  for (std::size_t i = 0; i < n; ++i) found |= static_cast<Bits>((std::bit_cast<Bits>(static_cast<T>(value(i))) & kInfinite) == kInfinite);
  return found == 0;
}

// False for an infinity or a NaN anywhere; true in a rehearsal.
inline bool all_finite(const Exec& exec, ConstTensor x) {
  std::atomic<bool> bad{false};
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t count) {
      if (!all_finite<T>(count, [from = x.as<T>() + at](std::size_t i) { return from[i]; })) bad.store(true, std::memory_order_relaxed);
    });
  });
  return !bad.load();
}

}  // namespace loom
