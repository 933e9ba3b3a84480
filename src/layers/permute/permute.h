#pragma once
// Axis i of the output is axis axes[i] of the input, the leading one included. Engine L-111.

#include "layers/layer.h"

namespace loom {

struct PermuteConfig {
  std::vector<std::size_t> axes;
};

class Permute final : public Layer {
 public:
  explicit Permute(PermuteConfig config = {}) : config_(std::move(config)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override {
    visit({"axes", "Required. Axis i of the output is axis axes[i] of the input; axis 0 is the batch"}, config_.axes);
  }
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;

 private:
  PermuteConfig config_;
  std::vector<std::size_t> inverse_;
};

}  // namespace loom
