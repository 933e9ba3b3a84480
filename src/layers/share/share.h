#pragma once
// A link that shares (engine V-20): runs the operation of another cell with that cell's weights on the input of this
// place; gradients go to those weights' slots. Inside a container it is a layer like others, since containers know
// nothing of the grid. A cell of the grid has one in its Link (network/network.h), which holds the settings of every
// remote link; what a link feeds, the network feeds. The target is that of the plan which runs (layers/wiring.h); a use
// without a plan is InvalidState.

#include "layers/layer.h"

namespace loom {

// Ways in which the output of another cell joins the input of a cell that it feeds: it replaces the input, is added to
// it, or is appended to it on the last axis. None: the cell is not fed.
enum class Merge : std::uint8_t { Replace, Add, Concat, None };

class Share final : public Layer {
 public:
  enum class Mode : std::uint8_t { Auto, Share, Feed };

  Share() = default;
  explicit Share(const std::array<std::size_t, 4>& address) : address_(address), mode_(Mode::Share) {}

  // Its name in events and reports; no spec says it as a type.
  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  // The keys of a link.
  void fields(FieldVisitor& visit) override;
  const Layer& last_operation(const Wiring* wiring) const override;
  Result<Shape> output_shape(const Shape& input) const override { return wired_shape(nullptr, input); }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override { take_back(run, dy, dx, nullptr); }
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override {
    take_back(run, e, d, &rules);
  }

  const std::array<std::size_t, 4>& address() const { return address_; }
  // Auto means share in the plain forward pass and inside containers (V-23).
  Mode mode() const { return mode_; }
  Merge merge() const { return merge_; }
  // The operation that this layer runs; null where there is none. It is not const, since the network that owns it may
  // change it.
  Layer* target_in(const Wiring* wiring) const {
    const ShareTarget* const target = wiring == nullptr ? nullptr : wiring->target_of(*this);
    return target == nullptr ? nullptr : target->operation;
  }

 private:
  void take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;
  std::array<std::size_t, 4> address_{};
  Mode mode_ = Mode::Auto;
  Merge merge_ = Merge::Replace;
};

}  // namespace loom
