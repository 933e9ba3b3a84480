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

  std::string_view kind() const override { return "dropout"; }
  void fields(FieldVisitor& visit) override { visit("rate", config_.rate); }
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override { return input; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override { run(exec, pass, x, y); }
  // The same mask again: backward of a pass has its seed and step.
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override {
    if (dx.data != nullptr) run(exec, pass, dy, dx);
  }

 private:
  void run(const Exec& exec, const Pass& pass, const ConstView& from, const View& to) const;
  DropoutConfig config_;
};

}  // namespace loom
