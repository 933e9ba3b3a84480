#pragma once
// Positions of weights in a list, for what a run keeps for each of them: gradients, velocities.

#include <algorithm>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "layers/weight.h"

namespace loom {

class WeightIndex {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  WeightIndex() = default;
  explicit WeightIndex(std::span<const Weight* const> weights) {
    entries_.reserve(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i) entries_.emplace_back(weights[i]->identity(), i);
    std::ranges::sort(entries_, std::less<const void*>(), &Entry::first);
  }
  // Returns the position of a weight, or of the one that it is tied to; kNone where the list has neither.
  std::size_t of(const Weight& weight) const {
    const void* const key = weight.identity();
    const auto found = std::ranges::lower_bound(entries_, key, std::less<const void*>(), &Entry::first);
    return found == entries_.end() || found->first != key ? kNone : found->second;
  }
  std::size_t size() const { return entries_.size(); }

 private:
  using Entry = std::pair<const void*, std::size_t>;
  std::vector<Entry> entries_;  // by identity, which is looked up and never listed
};

}  // namespace loom
