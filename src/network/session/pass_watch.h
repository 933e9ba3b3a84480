#pragma once
// Hooks on whole passes: PassWatch also sees where passes begin; BothWatches joins two watches.

#include <array>
#include <string_view>

#include "layers/layer.h"

namespace loom {

// Tween: a backward pass that carries gaps of targets
enum class PassKind : std::uint8_t { Forward, Backward, Tick, Tween };
inline constexpr std::array<std::string_view, 4> kPassNames = {"forward", "backward", "tick", "tween"};
constexpr std::string_view name(PassKind kind) { return kPassNames[static_cast<std::size_t>(kind)]; }

class PassWatch : public LayerWatch {
 public:
  // A pass begins; `step` is that of the call (PassExtras::step) or the ticks of the state so far. `wiring` is that of
  // the plan that runs, valid during the pass.
  virtual void begin(PassKind kind, std::uint64_t step, const Wiring& wiring) = 0;
};

// Forwards to two watches: the one that drives the network and the one that observes see the same pass.
class BothWatches final : public LayerWatch {
 public:
  BothWatches() = default;
  BothWatches(LayerWatch* first, LayerWatch* second) : first_(first), second_(second) {}
  void after_forward(const Layer& layer, const ConstView& x, const ConstView& y) override {
    for (LayerWatch* watch : {first_, second_})
      if (watch != nullptr) watch->after_forward(layer, x, y);
  }
  void after_backward(const Layer& layer, const ConstView& dy, const ConstView& dx) override {
    for (LayerWatch* watch : {first_, second_})
      if (watch != nullptr) watch->after_backward(layer, dy, dx);
  }
  void after_target(const Layer& layer, const ConstView& e, const ConstView& d, ConstTensor rate) override {
    for (LayerWatch* watch : {first_, second_})
      if (watch != nullptr) watch->after_target(layer, e, d, rate);
  }

 private:
  LayerWatch *first_ = nullptr, *second_ = nullptr;
};

}  // namespace loom
