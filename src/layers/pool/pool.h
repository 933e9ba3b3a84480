#pragma once
// Max and average pooling (maxpool, avgpool), windowed or global: x [B, C, in...] (or [C, in...]) -> [B, C, out...]; engine 3.6.

#include "layers/layer.h"
#include "layers/spatial.h"
#include "ops/pool/pool.h"

namespace loom {

struct PoolConfig {
  AxisSizes kernel_size, stride, padding, dilation;  // as many axes as kernel_size has, else those of a [B, C, ...] input
  bool ceil_mode = false, count_include_pad = true;
  bool global = false;                               // one window over everything
};

class Pool final : public Layer {
 public:
  explicit Pool(bool average, PoolConfig config = {}) : average_(average), config_(std::move(config)) {}

  std::string_view kind() const override { return average_ ? "avgpool" : "maxpool"; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return std::max<std::size_t>(1, config_.kernel_size.values.size()) + 1; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  void backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const override;

 private:
  // Spatial axes of an input: [B, C, axes...], or [C, axes...] where the settings say how many there are.
  std::size_t axes_of(const Shape& input) const;
  Result<PoolGeometry> geometry_for(const Shape& input) const;
  bool average_;
  PoolConfig config_;
  DeclaredSizes sizes_;
};

}  // namespace loom
