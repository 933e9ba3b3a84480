#pragma once
// Max and average pooling (maxpool, avgpool), windowed or global: x [B, C, in...] (or [C, in...]) -> [B, C, out...]; engine 3.6.

#include "layers/layer.h"
#include "ops/pool/pool.h"

namespace loom {

struct PoolConfig {
  std::size_t axes = 2;         // spatial ones, 1 to 3
  bool average = false;
  bool global = false;          // one window over everything; the geometry's kernel does not count
  PoolGeometry geometry{};      // `in` is the input's
};

class Pool final : public Layer {
 public:
  static Result<LayerPtr> create(const PoolConfig& config);

  std::string_view kind() const override { return config_.average ? "avgpool" : "maxpool"; }
  Result<Shape> output_shape(const Shape& input) const override;
  std::size_t scratch_bytes(const PlanSizes&, const Shape&) const override { return 0; }
  void forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const override;
  std::size_t resident_bytes() const override { return 0; }

 private:
  explicit Pool(const PoolConfig& config) : config_(config) {}
  PoolGeometry geometry_for(const Shape& input) const;
  PoolConfig config_;
};

}  // namespace loom
