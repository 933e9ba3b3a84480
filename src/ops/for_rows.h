#pragma once
// Shares rows or elements out among the threads, only when there is enough of them: waking the workers takes longer than little work.

#include "backend/exec.h"

namespace loom {

inline constexpr std::size_t kWorthSharing = 32768;  // elements

// f(begin, end) over parts of [0, n), each item costing about `cost` elements of work.
template <class F>
void for_ranges(const Exec& exec, std::size_t n, std::size_t cost, F&& f) {
  if (exec.rehearsal() || n == 0) return;
  if (n * cost < kWorthSharing || exec.pool.threads() == 1) return f(std::size_t{0}, n);
  const std::size_t limit = static_cast<std::size_t>(exec.pool.threads()) * 4;
  const std::size_t parts = n < limit ? n : limit;
  exec.pool.run(parts, [&](std::size_t part) { f(part * n / parts, (part + 1) * n / parts); });
}

// f(row), once per row of `cols` elements.
template <class F>
void for_rows(const Exec& exec, std::size_t rows, std::size_t cols, F&& f) {
  for_ranges(exec, rows, cols, [&](std::size_t begin, std::size_t end) {
    for (std::size_t r = begin; r < end; ++r) f(r);
  });
}

// f(first, count) over pieces of n elements in a row, for what is done to each element alone.
template <class F>
void for_elements(const Exec& exec, std::size_t n, F&& f) {
  constexpr std::size_t kPiece = 1024;
  for_ranges(exec, (n + kPiece - 1) / kPiece, kPiece,
             [&](std::size_t begin, std::size_t end) { f(begin * kPiece, (end * kPiece < n ? end * kPiece : n) - begin * kPiece); });
}

}  // namespace loom
