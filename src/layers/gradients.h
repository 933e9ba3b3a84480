#pragma once
// Results of a step beside its output: gradients of the weights, and the running statistics that a training forward
// measured.

#include <functional>
#include <span>
#include <vector>

#include "backend/device.h"
#include "layers/weight_index.h"

namespace loom {

// Gradients of the listed weights, whose shapes they have; a tied weight has that of the values that it shares. They
// belong to the run that makes them: neither weights nor layers know of them.
class Gradients {
 public:
  // Frozen weights take no memory. The other functions are for listed weights and those tied to them.
  static Result<Gradients> create(std::span<const Weight* const> weights, Element element, Device* device = nullptr);
  // Groups share memory: all begin at the same place, so a hook must consume and clear a layer's gradients right after
  // its backward pass. `groups` has an ascending number for each weight.
  static Result<Gradients> create_shared(std::span<const Weight* const> weights, std::span<const std::size_t> groups,
                                         Element element, Device* device = nullptr);
  // Returns the memory in which a pass sums the gradient of this weight, zeros at first. Null when the gradient is not
  // computed.
  void* of(const Exec& exec, const Weight& weight) const;
  // Like `of()` above, between passes, where no Exec exists.
  void* of(const Weight& weight) const;
  // For one product that covers the whole gradient: where it goes, and whether the first since clear() may store
  // instead of adding.
  struct Target {
    void* data;
    bool fresh;
  };
  Target target(const Exec& exec, const Weight& weight) const;
  Element element() const { return element_; }
  void clear();
  void clear(const Weight& weight);
  // Something was added since the last clear().
  bool written(const Weight& weight) const { return !slots_.empty() && !weight.is_frozen() && !slot_of(weight).fresh; }
  std::size_t bytes() const { return memory_.size(); }

 private:
  struct Slot {
    void* data;
    std::size_t bytes;
    bool fresh;  // stands for zeros that have not been written yet
  };
  Slot& slot_of(const Weight& weight) const {
    const std::size_t at = index_.of(weight);
    LOOM_ASSERT(at < slots_.size());
    return slots_[at];
  }
  mutable Memory memory_;
  WeightIndex index_;
  mutable std::vector<Slot> slots_;  // in the order of the list
  Element element_ = Element::f32;
};

// New values of weights that a training forward measures (WeightRole::Statistic). A layer is const while it runs, so
// this object keeps them until the session hands them over.
class Statistics {
 public:
  explicit Statistics(Device* device = nullptr) : device_(device) {}
  // Returns memory of the element type for the new values of this weight; null where memory lacks, with the error in
  // exec.status.
  void* put(const Exec& exec, const Weight& weight, Element element);
  // The values put for `weight` since the last clear(); a layer that runs twice in a step goes on from its own. Null:
  // none.
  const void* latest(const Weight& weight) const;
  // Calls visit(weight, values) for the values put since the last clear(); on a device, they are pointers into its
  // memory.
  void each(const std::function<void(const Weight&, const void*)>& visit) const;
  // Like `each()`, for copies of the values in host memory, after the pass.
  void visit(const std::function<void(const Weight&, const void*)>& visit) const;
  void clear();

 private:
  struct Entry {
    const Weight* weight;
    Memory memory;
    bool written;
  };
  Device* device_;
  std::vector<Entry> entries_;  // kept from step to step
};

}  // namespace loom
