#pragma once
// Checks that all elements of a tensor are finite: trainers check gradients and outputs before any weight moves.

#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>

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

// No magnitude in from[0, n) is larger, and the largest is less than a sixteenth below; infinity where something is no number. Looks at sign-free
// upper halves as 16-bit integers, of which compilers compare eight at once on any machine.
template <class T>
double magnitude_bound(const T* from, std::size_t n) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  constexpr int kBelow = sizeof(T) * 8 - 16;
  constexpr std::int16_t kInfinite = sizeof(T) == 8 ? 0x7ff0 : 0x7f80;
  std::int16_t largest = 0;
  for (std::size_t i = 0; i < n; ++i) largest = std::max(largest, static_cast<std::int16_t>(std::bit_cast<Bits>(from[i]) >> kBelow & 0x7fff));
  if (largest >= kInfinite) return std::numeric_limits<double>::infinity();
  if (largest + 1 == kInfinite) return static_cast<double>(std::numeric_limits<T>::max());
  return static_cast<double>(std::bit_cast<T>(static_cast<Bits>(largest + 1) << kBelow));
}

// The same of a tensor; 0 in a rehearsal.
inline double magnitude_bound(const Exec& exec, ConstTensor x) {
  std::atomic<double> all{0};
  with_element(x.element, [&]<class T>() {
    for_elements(exec, x.rows * x.cols, [&](std::size_t at, std::size_t count) {
      const double part = magnitude_bound(x.as<T>() + at, count);
      for (double now = all.load(std::memory_order_relaxed); now < part && !all.compare_exchange_weak(now, part, std::memory_order_relaxed);) {
      }
    });
  });
  return all.load();
}

}  // namespace loom
