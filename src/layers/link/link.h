#pragma once
// A remote link (engine 1.3): what a spec with is_remote_link becomes.
//   share  runs the operation of another cell with that cell's weights on the input of this place; gradients go to those weights' slots
//   feed   runs its own operation (or none) on another cell's output, in place of, added to or behind the input; cells of the grid only
// Network::prepare() resolves the target; before that every use is InvalidState.

#include "layers/layer.h"
#include "layers/link/merge.h"

namespace loom {

class Link final : public Layer {
 public:
  enum class Mode : std::uint8_t { Auto, Share, Feed };

  Link() = default;
  Link(const std::array<std::size_t, 4>& target, Mode mode = Mode::Auto, Merge merge = Merge::Replace) : mode_(mode), merge_(merge) {
    source_.address = target;
  }

  // Never the kind of its own operation: a reader of a kind may cast to the class of that name. No spec says "link".
  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  // The link's keys; those of its own operation are that layer's.
  void fields(FieldVisitor& visit) override;
  // The own operation stands at the link's path.
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  const Layer& last_operation() const override;
  Result<Shape> output_shape(const Shape& input) const override;
  // Output shape of a feed link, from its input and the target's output.
  Result<Shape> fed_shape(const Shape& input, const Shape& target) const;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override { take_back(run, dy, dx, nullptr); }
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override { take_back(run, e, d, &rules); }

  // In the plain sweep auto is share (V-23).
  bool feeds() const { return mode_ == Mode::Feed; }
  Mode mode() const { return mode_; }
  Merge merge() const { return merge_; }
  const std::array<std::size_t, 4>& address() const { return source_.address; }
  CellSource& source() { return source_; }
  const CellSource& source() const { return source_; }
  Layer* own() const { return own_.get(); }
  void set_own(LayerPtr own) { own_ = std::move(own); }

  // The operation that a share runs, null for none (the input passes through). Session states of this use begin `state_shift` slots
  // behind those of the target itself.
  void resolve(const Layer* operation) { target_ = operation, state_shift_ = 0, resolved_ = true; }
  void set_state_shift(std::size_t shift) { state_shift_ = shift; }
  // The layer that a share link runs; null for an empty cell, a feed link and before prepare(). Its owner may change it.
  Layer* target() const { return const_cast<Layer*>(target_); }
  void unresolve() { target_ = nullptr, resolved_ = false, source_.prepared = false; }

 private:
  Run shifted(const Run& run) const;
  void take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;
  Mode mode_ = Mode::Auto;
  Merge merge_ = Merge::Replace;
  LayerPtr own_;
  CellSource source_;
  const Layer* target_ = nullptr;
  std::size_t state_shift_ = 0;
  bool resolved_ = false;
};

}  // namespace loom
