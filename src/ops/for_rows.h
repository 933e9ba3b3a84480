#pragma once
// Shares rows or elements out among the threads, only when there is enough of them: waking the workers takes longer
// than little work.

#include "backend/exec.h"

namespace loom {

inline constexpr std::size_t kWorthSharing = 32768;  // elements
inline constexpr std::size_t kTermsOfElement = 12;   // products of a matrix that take as long as one of them

// f(begin, end) over parts of [0, n), each item costing about `cost` elements of work.
template <class F>
void for_ranges(const Exec& exec, std::size_t n, std::size_t cost, F&& f) {
  if (!exec.computes() || n == 0) return;
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

inline constexpr std::size_t kPieceElements = 1024;  // elements
constexpr std::size_t pieces_of(std::size_t n) { return (n + kPieceElements - 1) / kPieceElements; }

// f(row, piece, first, count) once for every piece of every row of `cols` elements; `first` counts from the row's
// begin. Where a row is cut never depends on the threads, so a sum kept by (row, piece) does not either.
template <class F>
void for_pieces(const Exec& exec, std::size_t rows, std::size_t cols, F&& f) {
  const std::size_t pieces = pieces_of(cols);
  for_ranges(exec, rows * pieces, cols < kPieceElements ? cols : kPieceElements,
             [&](std::size_t begin, std::size_t end) {
               for (std::size_t i = begin; i < end; ++i) {
                 const std::size_t first = i % pieces * kPieceElements;
                 f(i / pieces, i % pieces, first, cols - first < kPieceElements ? cols - first : kPieceElements);
               }
             });
}

// f(piece, first, count) for each of the pieces_of(n) pieces of n elements.
template <class F>
void for_pieces(const Exec& exec, std::size_t n, F&& f) {
  for_pieces(exec, 1, n,
             [&](std::size_t, std::size_t piece, std::size_t first, std::size_t count) { f(piece, first, count); });
}

// f(first, count) over parts of n elements, for what is done to each element alone: how many parts there are depends on
// the threads.
template <class F>
void for_elements(const Exec& exec, std::size_t n, F&& f) {
  for_ranges(exec, pieces_of(n), kPieceElements, [&](std::size_t begin, std::size_t end) {
    f(begin * kPieceElements, (end * kPieceElements < n ? end * kPieceElements : n) - begin * kPieceElements);
  });
}

}  // namespace loom
