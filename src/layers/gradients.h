#pragma once
// Results of a step beside its output: gradients of the weights, and the running statistics that a training forward measured.

#include <functional>
#include <span>
#include <vector>

#include "backend/exec.h"
#include "layers/weight.h"

namespace loom {

// Gradients of all weights of a network, by slot; shapes are the weights'.
class Gradients {
 public:
  static Result<Gradients> create(std::span<const std::size_t> elements, Element element);
  // Groups share memory: all begin at the same place, so a hook must consume and clear a layer's gradients right after its backward pass.
  static Result<Gradients> create_shared(std::span<const std::size_t> elements, std::span<const std::size_t> groups, Element element);
  // Null when the gradient of this weight is not wanted.
  void* of(const Weight& weight) const;
  // For one product that covers the whole gradient: where it goes, and whether the first since clear() may store instead of adding.
  struct Target {
    void* data;
    bool fresh;
  };
  Target target(const Exec& exec, const Weight& weight) const;
  Element element() const { return element_; }
  void clear();
  void clear(const Weight& weight);
  // Something was added since the last clear().
  bool written(const Weight& weight) const { return !slots_.empty() && !weight.is_frozen() && !slots_[weight.slot()].fresh; }
  std::size_t bytes() const { return memory_.size(); }

 private:
  struct Slot {
    void* data;
    std::size_t bytes;
    bool fresh;  // stands for zeros that have not been written yet
  };
  Buffer memory_;
  mutable std::vector<Slot> slots_;
  Element element_ = Element::f32;
};

// New values of weights that a training forward measures (WeightRole::Statistic). A layer is const while it runs, so they wait here
// for the session to hand them over afterwards.
class Statistics {
 public:
  // Where the new values of this weight go.
  void* put(const Weight& weight);
  // The values put for `weight` since the last clear(); a layer that runs twice in a step goes on from its own. Null: none.
  const void* latest(const Weight& weight) const;
  // visit(weight, values) of those that were put since the last clear().
  void visit(const std::function<void(const Weight&, const void*)>& visit) const;
  void clear();

 private:
  struct Entry {
    const Weight* weight;
    std::vector<double> memory;  // room for either element type
    bool written;
  };
  std::vector<Entry> entries_;  // kept from step to step
};

}  // namespace loom
