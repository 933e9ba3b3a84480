#include "layers/pool/pool.h"

namespace loom {

void Pool::fields(FieldVisitor& visit) {
  visit("kernel_size", config_.kernel_size);
  visit("stride", config_.stride);
  visit("padding", config_.padding);
  if (!average_) visit("dilation", config_.dilation);
  visit("ceil_mode", config_.ceil_mode);
  if (average_) visit("count_include_pad", config_.count_include_pad);
  visit("global", config_.global);
  sizes_.fields(visit);
}

Result<void> Pool::build() {
  if (config_.kernel_size.values.empty() && !config_.global) return fail(Code::InvalidConfig, "{}: kernel_size is missing", kind());
  return {};
}

std::size_t Pool::axes_of(const Shape& input) const {
  const std::size_t named = config_.kernel_size.values.size();
  return named > 1 ? named : input.rank() < 3 ? 1 : input.rank() - 2;
}

Result<PoolGeometry> Pool::geometry_for(const Shape& input) const {
  const std::size_t axes = axes_of(input);
  PoolGeometry g;
  g.in = spatial_extents(input, axes);
  g.ceil_mode = config_.ceil_mode, g.count_include_pad = config_.count_include_pad;
  if (config_.global) {
    g.kernel = g.stride = g.in;
    return g;
  }
  LOOM_TRY(g.kernel, three_axes("kernel_size", config_.kernel_size, axes, 1, 1));
  LOOM_TRY(g.stride, three_axes("stride", config_.stride.values.empty() ? config_.kernel_size : config_.stride, axes, 1, 1));
  LOOM_TRY(g.padding, three_axes("padding", config_.padding, axes, 0, 0));
  LOOM_TRY(g.dilation, three_axes("dilation", config_.dilation, axes, 1, 1));
  return g;
}

Result<Shape> Pool::output_shape(const Shape& input) const {
  const std::size_t axes = axes_of(input);
  if (axes > 3) return fail(Code::ShapeMismatch, "{}: an input of shape {} has more than three spatial axes", kind(), input.text());
  LOOM_TRY_VOID(check_spatial(kind(), input, axes, 0));
  LOOM_TRY(const PoolGeometry g, geometry_for(input));
  LOOM_TRY_VOID(check_declared(kind(), "input", sizes_.in, axes, g.in));
  LOOM_TRY(const PoolGeometry::Axes out, g.out());
  LOOM_TRY_VOID(check_declared(kind(), "output", sizes_.out, axes, out));
  return spatial_shape(input, axes, input[input.rank() - axes - 1], out);
}

void Pool::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const PoolGeometry g = *geometry_for(x.shape);  // checked by output_shape()
  (average_ ? average_pool : max_pool)(exec, g, *g.out(), x, x.shape.elements() / (g.in[0] * g.in[1] * g.in[2]), y);
  if (pass.keeps()) pass.tape->push(x);
}

void Pool::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ConstView x = pass.tape->pop();
  if (dx.data == nullptr) return;
  const PoolGeometry g = *geometry_for(x.shape);
  const std::size_t planes = x.shape.elements() / (g.in[0] * g.in[1] * g.in[2]);
  if (average_)
    average_pool_backward(exec, g, *g.out(), planes, dy, dx, pass.tween == nullptr);
  else
    max_pool_backward(exec, g, *g.out(), x, planes, dy, dx);
}

}  // namespace loom
