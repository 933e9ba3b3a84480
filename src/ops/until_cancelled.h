#pragma once
// Long operations look at the cancel of their pass between parts of their work, so that Ctrl-C is answered within some
// tenths of a second whatever the sizes. Parts that are skipped have no result, and the pass ends with Cancelled: only
// for work whose results nothing reads as an index.

#include "ops/for_rows.h"

namespace loom {

// Work between two looks: tens of milliseconds of one thread.
inline constexpr std::size_t kProductsPerLook = std::size_t{1} << 24;
inline constexpr std::size_t kElementsPerLook = kProductsPerLook / kTermsOfElement;

// A rehearsal is never cancelled: it plans all that a pass takes.
inline bool is_cancelled(const Exec& exec) {
  return exec.cancel != nullptr && !exec.rehearsal() && exec.cancel->load(std::memory_order_relaxed);
}
// Ends a pass whose operation may have left out work, on a device too. Call on the thread of the pass, after the last
// look.
inline void keep_cancel(const Exec& exec) {
  if (is_cancelled(exec) && !exec.status) exec.status = Error{Code::Cancelled, "cancelled"};
}
// Items of `cost` products each that run between two looks.
constexpr std::size_t items_per_look(std::size_t cost) {
  const std::size_t items = kProductsPerLook / (cost == 0 ? 1 : cost);
  return items == 0 ? 1 : items;
}

// Like for_ranges().
template <class F>
void for_ranges_until_cancelled(const Exec& exec, std::size_t n, std::size_t cost, F&& f) {
  const std::size_t each = items_per_look(cost < kElementsPerLook ? cost * kTermsOfElement : kProductsPerLook);
  for_ranges(exec, n, cost, [&](std::size_t begin, std::size_t end) {
    for (; begin < end && !is_cancelled(exec); begin += each) f(begin, end - begin < each ? end : begin + each);
  });
  keep_cancel(exec);
}

// Like for_rows().
template <class F>
void for_rows_until_cancelled(const Exec& exec, std::size_t rows, std::size_t cols, F&& f) {
  for_ranges_until_cancelled(exec, rows, cols, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) f(r);
  });
}

}  // namespace loom
