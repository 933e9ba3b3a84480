#pragma once
// Results of a step beside its output: gradients of the weights, and the running statistics that a training forward
// measured.

#include <functional>
#include <span>
#include <vector>

#include "backend/device.h"
#include "layers/weight.h"

namespace loom {

// Gradients of all weights of a network, by slot; shapes are the weights'.
class Gradients {
 public:
  static Result<Gradients> create(std::span<const std::size_t> elements, Element element, Device* device = nullptr);
  // Groups share memory: all begin at the same place, so a hook must consume and clear a layer's gradients right after
  // its backward pass.
  static Result<Gradients> create_shared(std::span<const std::size_t> elements, std::span<const std::size_t> groups,
                                         Element element, Device* device = nullptr);
  // Inside a pass: where the gradient of this weight is added up, zeros at first. Null when it is not wanted.
  void* of(const Exec& exec, const Weight& weight) const;
  // Returns the same between passes, where there is no Exec.
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
  bool written(const Weight& weight) const {
    return !slots_.empty() && !weight.is_frozen() && !slots_[weight.slot()].fresh;
  }
  std::size_t bytes() const { return memory_.size(); }

 private:
  struct Slot {
    void* data;
    std::size_t bytes;
    bool fresh;  // stands for zeros that have not been written yet
  };
  mutable Memory memory_;
  mutable std::vector<Slot> slots_;
  Element element_ = Element::f32;
};

// New values of weights that a training forward measures (WeightRole::Statistic). A layer is const while it runs, so
// they wait here for the session to hand them over afterwards.
class Statistics {
 public:
  explicit Statistics(Device* device = nullptr) : device_(device) {}
  // Returns memory of the element type for the new values of this weight; null where memory lacks, with the error in
  // exec.status.
  void* put(const Exec& exec, const Weight& weight, Element element);
  // The values put for `weight` since the last clear(); a layer that runs twice in a step goes on from its own. Null:
  // none.
  const void* latest(const Weight& weight) const;
  // visit(weight, values) of those that were put since the last clear(), where they lie.
  void each(const std::function<void(const Weight&, const void*)>& visit) const;
  // The same of values that have been brought here, after the pass.
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
