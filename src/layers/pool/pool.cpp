#include "layers/pool/pool.h"

#include <algorithm>
#include <array>

namespace loom {

Result<LayerPtr> Pool::create(const PoolConfig& c) {
  if (c.axes < 1 || c.axes > 3) return fail(Code::InvalidConfig, "pooling over {} axes: 1 to 3 are possible", c.axes);
  if (c.average && c.geometry.dilation != PoolGeometry::Axes{1, 1, 1}) return fail(Code::InvalidConfig, "avgpool: dilation is for maxpool only");
  return LayerPtr(new Pool(c));
}

PoolGeometry Pool::geometry_for(const Shape& input) const {
  PoolGeometry g = config_.geometry;
  for (std::size_t a = 0; a < config_.axes; ++a) g.in[3 - config_.axes + a] = input[input.rank() - config_.axes + a];
  if (config_.global) g.kernel = g.in, g.stride = g.in, g.padding = {0, 0, 0}, g.dilation = {1, 1, 1};
  return g;
}

Result<Shape> Pool::output_shape(const Shape& input) const {
  const std::size_t rank = input.rank(), axes = config_.axes;
  if (rank != axes + 1 && rank != axes + 2)
    return fail(Code::ShapeMismatch, "{}: an input of shape {}, expected [B, C, {} more axes]", kind(), input.text(), axes);
  LOOM_TRY(const PoolGeometry::Axes out, geometry_for(input).out());
  std::array<std::size_t, 5> extents{};
  std::ranges::copy(input.extents(), extents.begin());
  for (std::size_t a = 0; a < axes; ++a) extents[rank - axes + a] = out[3 - axes + a];
  return Shape::create({extents.data(), rank});
}

void Pool::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  const PoolGeometry g = geometry_for(x.shape);
  const PoolGeometry::Axes out = *g.out();  // checked by output_shape()
  const std::size_t planes = x.shape.elements() / (g.in[0] * g.in[1] * g.in[2]);
  (config_.average ? average_pool : max_pool)(exec, g, out, x.data, planes, y.data);
}

}  // namespace loom
