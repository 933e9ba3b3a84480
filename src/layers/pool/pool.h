#pragma once
// Max and average pooling (maxpool, avgpool), windowed or global: x [B, C, in...] (or [C, in...]) -> [B, C, out...];
// engine 3.6.

#include "layers/layer.h"
#include "layers/spatial.h"
#include "ops/pool/pool.h"

namespace loom {

struct PoolConfig {
  // as many axes as kernel_size has, else those of a [B, C, ...] input
  AxisSizes kernel_size, stride, padding, dilation;
  bool ceil_mode = false, count_include_pad = true;
  bool global = false;  // one window over everything
};

class Pool final : public Layer {
 public:
  explicit Pool(bool average, PoolConfig config = {}) : average_(average), config_(std::move(config)) {}

  static const std::array<LayerKind, 2> kKinds;  // maxpool, avgpool
  const LayerKind& kind_row() const override { return kKinds[average_ ? 1 : 0]; }
  void fields(FieldVisitor& visit) override;
  Result<void> build() override;
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t sample_rank() const override { return std::max<std::size_t>(1, config_.kernel_size.values.size()) + 1; }
  void forward(const Run& run, const ConstView& x, const View& y) const override;
  void backward(const Run& run, const ConstView& dy, const View& dx) const override;
  void target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const override;

 private:
  // `divides`: a mean hands each input its part of dy, else all of it.
  void take_back(const Run& run, const ConstView& dy, const View& dx, bool divides) const;
  // Spatial axes of an input: [B, C, axes...], or [C, axes...] where the settings say how many there are.
  std::size_t axes_of(const Shape& input) const;
  Result<PoolGeometry> geometry_for(const Shape& input) const;
  bool average_;
  PoolConfig config_;
  DeclaredSizes sizes_;
};

}  // namespace loom
