#pragma once
// One layer whose matrices, and those of the layers inside it, all carry a low-rank adapter of one rank (engine 3.15).
// The adapters are weights of the layers they belong to; by default they alone are trained (freeze_base).

#include "layers/layer.h"

namespace loom {

struct LoraConfig {
  std::size_t rank = 8;  // 0: no adapters, what merging leaves
  double alpha = 8;
};

class Lora final : public Layer {
 public:
  explicit Lora(const LoraConfig& config = {}, LayerPtr base = nullptr) : config_(config), base_(std::move(base)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override;
  // InvalidConfig without a layer inside or without a matrix in it.
  Result<void> build() override;
  void visit_children(const std::function<void(const std::string&, Layer&)>& visit) override;
  Result<Shape> output_shape(const Shape& input) const override { return wired_shape(nullptr, input); }
  Result<Shape> wired_shape(const Wiring* wiring, const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override { take_back(run, dy, dx, nullptr); }
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override {
    take_back(run, e, d, &rules);
  }
  const Layer& last_operation(const Wiring* wiring) const override { return base_->last_operation(wiring); }

  // The adapters were merged into their matrices.
  void drop_adapters() { config_.rank = 0; }

 private:
  void take_back(const Run& run, const ConstView& dy, const View& dx, const TweenRules* rules) const;
  LoraConfig config_;
  LayerPtr base_;
};

}  // namespace loom
