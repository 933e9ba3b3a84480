#pragma once
// The limit of what plans of graphs compute of constants (graph/folding.h says what an operation costs).

#include <cstdint>

#include "core/error.h"

namespace loom::graph {

// Sums and products of work that end at the largest number.
inline constexpr std::uint64_t kMostWork = ~std::uint64_t{0};
constexpr std::uint64_t plus_work(std::uint64_t a, std::uint64_t b) { return a > kMostWork - b ? kMostWork : a + b; }
constexpr std::uint64_t times_work(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > kMostWork / b ? kMostWork : a * b;
}

// The work on constants that the graphs planned in a scope may do in total: kMostFolded, and kFoldedPerElement
// for each element of a constant that a graph brings along. Scopes inside of another one on the same thread share its
// budget, so that a network of many graphs has one.
class FoldingBudget {
 public:
  static constexpr std::uint64_t kMostFolded = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kFoldedPerElement = 64;

  FoldingBudget();
  ~FoldingBudget();
  FoldingBudget(const FoldingBudget&) = delete;
  FoldingBudget& operator=(const FoldingBudget&) = delete;

  // The constants of a graph whose planning begins.
  void bring(std::uint64_t elements);
  // LimitExceeded where `work` is beyond what is left.
  Result<void> spend(std::uint64_t work);
  std::uint64_t spent() const { return total_->spent; }
  std::uint64_t most() const { return total_->most; }

 private:
  struct Total {
    std::uint64_t most = kMostFolded, spent = 0;
  };
  Total own_;
  Total* total_;
};

}  // namespace loom::graph
