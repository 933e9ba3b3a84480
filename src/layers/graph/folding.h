#pragma once
// The work that plans of graphs do on numbers that a file holds: folding. Sizes of values are limited elsewhere; this
// limits what is computed of them, so that no file takes longer to open than a few seconds beyond its own length.

#include <cstdint>

#include "layers/graph/operation.h"

namespace loom::graph {

// Multiply-adds of an operation, or element operations of about the same time. The operation was measured: its outputs
// are declared. Saturates.
std::uint64_t work_of_op(const Op& op);

// Whether work_of_op() knows an operation by name. Of others it supposes that every output reads all inputs.
bool has_known_work(std::string_view op);

// What the graphs that are planned in a scope may compute of constants, together: kMostFolded, and kFoldedPerElement
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
