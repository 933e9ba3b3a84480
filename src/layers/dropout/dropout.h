#pragma once
// y = x m / (1 - rate) while training, m drawn by Philox from (seed, site, step, element); x otherwise. Engine L-112.

#include "layers/layer.h"

namespace loom {

struct DropoutConfig {
  double rate = 0;  // [0, 1)
};

class Dropout final : public Layer {
 public:
  explicit Dropout(const DropoutConfig& config = {}) : config_(config) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override {
    visit({"rate", "Share of the elements that training sets to 0, from 0 to below 1"}, config_.rate);
  }
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  void forward(const Run& run, const ConstView& x, const View& y) const override { apply(run, x, y); }
  // The same mask again: backward of a pass has its seed and step.
  void backward(const Run& run, const ConstView& dy, const View& dx) const override {
    if (dx.data != nullptr) apply(run, dy, dx);
  }

 private:
  void apply(const Run& run, const ConstView& from, const View& to) const;
  DropoutConfig config_;
};

}  // namespace loom
