#pragma once
// The same values in another shape. `shape` is that of one sample: the leading axis stays; 0 keeps the axis in its
// place, -1 takes what is left. The default flattens a sample. A rank-1 input has no leading axis. Engine L-111.

#include "layers/layer.h"

namespace loom {

struct ReshapeConfig {
  std::vector<std::int64_t> shape{-1};
};

class Reshape final : public Layer {
 public:
  explicit Reshape(ReshapeConfig config = {}) : config_(std::move(config)) {}

  static const LayerKind kKind;
  const LayerKind& kind_row() const override { return kKind; }
  void fields(FieldVisitor& visit) override {
    visit({"shape", "Shape of a sample: 0 keeps the axis in its place, -1 takes what is left"}, config_.shape);
  }
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override;
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override {
    if (dx.data != nullptr) copy(run, dy, dx);
  }

 private:
  ReshapeConfig config_;
};

}  // namespace loom
