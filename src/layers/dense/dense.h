#pragma once
// y = act(W x + b). W [out, in], b [out] optional; engine 3.3. A language-model head may share the embedding's table
// (L-102).

#include "layers/linear.h"

namespace loom {

struct DenseConfig {
  std::size_t input_height = 0, output_height = 0;
  bool bias = false;
  ActivationFn activation{};
  LayerRef tied_to{};  // an embedding: its table [output_height, input_height] is the weight
};

class Dense final : public Layer {
 public:
  explicit Dense(DenseConfig config = {}) : config_(std::move(config)) {}

  const DenseConfig& config() const { return config_; }
  const Weight& weight() const { return weight_; }
  const Weight& bias() const { return bias_; }  // undeclared without one

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  LayerRef* tied_to() override { return config_.tied_to.empty() ? nullptr : &config_.tied_to; }
  void visit_weights(const std::function<void(Weight&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

 private:
  static LayerPtr fit(const FitRequest& request);
  DenseConfig config_;
  Weight weight_, bias_;
};

}  // namespace loom
