#pragma once
// Where the links and skips of a network lead and where sessions keep states, for the layers inside its cells. A plan
// (network/plan) makes a Wiring and layers get it through their Run. It is constant once the plan is made, so several
// plans of one network, and several sessions of one plan, run side by side.

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/shape.h"

namespace loom {

class Layer;

// The operation that a share runs, null for none (the input passes through). Session states of this use begin
// `state_shift` slots after those of the operation itself.
struct ShareTarget {
  Layer* operation = nullptr;
  std::size_t state_shift = 0;
};

class Wiring {
 public:
  static constexpr std::size_t kNone = ~std::size_t{0};

  // The target of a share; null where the plan knows no such share.
  const ShareTarget* target_of(const Layer& share) const { return find(targets_, share); }
  // The slot of Call::cells that a residual adds; kNone where it adds no other cell's output.
  std::size_t source_of(const Layer& residual) const {
    const std::size_t* const slot = find(sources_, residual);
    return slot == nullptr ? kNone : *slot;
  }
  // The slot of the session's states that a layer keeps its own in; kNone where the plan knows no such layer.
  std::size_t state_of(const Layer& layer) const {
    const std::size_t* const slot = find(states_, layer);
    return slot == nullptr ? kNone : *slot;
  }
  // The shape of a slot of Call::cells, known only while the plan is made; null: not known. Sessions may run other
  // lengths.
  const Shape* shape_of(std::size_t slot) const { return slot < shapes_.size() ? &shapes_[slot] : nullptr; }

  // For plans: entries are added, then sort() is called, then states are shifted and shapes given and forgotten.
  void add_target(const Layer& share, Layer* operation) { targets_.emplace_back(&share, ShareTarget{operation, 0}); }
  void add_source(const Layer& residual, std::size_t slot) { sources_.emplace_back(&residual, slot); }
  void add_state(const Layer& layer, std::size_t slot) { states_.emplace_back(&layer, slot); }
  void sort() {
    std::ranges::sort(targets_, std::less<const Layer*>(), &Entry<ShareTarget>::first);
    std::ranges::sort(sources_, std::less<const Layer*>(), &Entry<std::size_t>::first);
    std::ranges::sort(states_, std::less<const Layer*>(), &Entry<std::size_t>::first);
  }
  void shift_states(const Layer& share, std::size_t shift) {
    const_cast<ShareTarget*>(find(targets_, share))->state_shift = shift;
  }
  void add_shape(const Shape& shape) { shapes_.push_back(shape); }
  void forget_shapes() { shapes_.clear(); }

 private:
  template <class T>
  using Entry = std::pair<const Layer*, T>;
  template <class T>
  static const T* find(const std::vector<Entry<T>>& entries, const Layer& layer) {
    const auto at = std::ranges::lower_bound(entries, &layer, std::less<const Layer*>(), &Entry<T>::first);
    return at == entries.end() || at->first != &layer ? nullptr : &at->second;
  }

  std::vector<Entry<ShareTarget>> targets_;  // by address, which is looked up and never listed
  std::vector<Entry<std::size_t>> sources_, states_;
  std::vector<Shape> shapes_;
};

}  // namespace loom
