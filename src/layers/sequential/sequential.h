#pragma once
// Children one after another; with `residual` the output is x + f(x). A decoder block is
// sequential[ sequential(residual)[rmsnorm, mha], sequential(residual)[rmsnorm, swiglu] ]; engine V-30. Disabled
// children are skipped. A residual child adds the input of an earlier child (V-31); backward adds its dy to the
// gradient of that input, later children first.

#include <optional>

#include "layers/layer.h"

namespace loom {

class Sequential final : public Layer {
 public:
  explicit Sequential(std::vector<LayerPtr> children = {}, bool residual = false)
      : children_(std::move(children)), residual_(residual) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  Result<void> build() override;
  const Layer& last_operation(const Wiring* wiring) const override;
  Result<Shape> output_shape(const Shape& input) const override { return wired_shape(nullptr, input); }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

 private:
  // Gradients, or with rules targets, through the children from the last to the first.
  void take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;
  // The child whose input a residual child adds, or nothing where the skip comes from elsewhere.
  std::optional<std::size_t> skip_of(std::size_t child) const;
  Shape shape_before(const Wiring* wiring, const Shape& input, std::size_t child) const;
  std::vector<LayerPtr> children_;
  bool residual_;
};

}  // namespace loom
