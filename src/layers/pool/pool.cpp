#include "layers/pool/pool.h"

#include "layers/lengths.h"

namespace loom {

constinit const std::array<LayerKind, 2> Pool::kKinds = {
    LayerKind{.id = 21,
              .name = "maxpool",
              .help = "y = the largest value of each window",
              .shapes = "[B, C, in...] -> [B, C, out...], one to three axes",
              .make = make_layer<Pool, false>},
    LayerKind{.id = 22,
              .name = "avgpool",
              .help = "y = the mean of each window",
              .shapes = "[B, C, in...] -> [B, C, out...], one to three axes",
              .make = make_layer<Pool, true>}};

void Pool::fields(FieldVisitor& visit) {
  visit({"kernel_size", "Required unless global. Extent of a window, one number or one per axis (D, H, W)"},
        config_.kernel_size);
  visit({"stride", "Distance of neighbouring windows; without it their extent"}, config_.stride);
  visit({"padding", "Places around the input, at most half a window; without it 0"}, config_.padding);
  if (!average_) visit({"dilation", "Distance of neighbouring places of a window; without it 1"}, config_.dilation);
  visit({"ceil_mode", "A last window that begins inside and ends outside of the input counts"}, config_.ceil_mode);
  if (average_)
    visit({"count_include_pad", "Padding counts in the number that a sum is divided by"}, config_.count_include_pad);
  visit({"global", "One window over the whole input"}, config_.global);
  sizes_.fields(visit, false);
}

Result<void> Pool::build() {
  if (config_.kernel_size.values.empty() && !config_.global)
    return fail(Code::InvalidConfig, "{}: kernel_size is missing", kind());
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
  LOOM_TRY(g.stride,
           three_axes("stride", config_.stride.values.empty() ? config_.kernel_size : config_.stride, axes, 1, 1));
  LOOM_TRY(g.padding, three_axes("padding", config_.padding, axes, 0, 0));
  LOOM_TRY(g.dilation, three_axes("dilation", config_.dilation, axes, 1, 1));
  return g;
}

Result<Shape> Pool::output_shape(const Shape& input) const {
  const std::size_t axes = axes_of(input);
  if (axes > 3)
    return fail(Code::ShapeMismatch, "{}: an input of shape {} has more than three spatial axes", kind(), input.text());
  LOOM_TRY_VOID(check_spatial(kind(), input, axes, 0));
  LOOM_TRY(const PoolGeometry g, geometry_for(input));
  LOOM_TRY_VOID(check_declared(kind(), "input", sizes_.in, axes, g.in));
  LOOM_TRY(const PoolGeometry::Axes out, g.out());
  LOOM_TRY_VOID(check_declared(kind(), "output", sizes_.out, axes, out));
  return spatial_shape(input, axes, input[input.rank() - axes - 1], out);
}

void Pool::forward(const Run& run, const ConstView& x, const View& y) const {
  if (refuses_lengths(run, kind())) return;
  const PoolGeometry g = *geometry_for(x.shape);  // checked by output_shape()
  (average_ ? average_pool : max_pool)(run, g, *g.out(), x, x.shape.elements() / (g.in[0] * g.in[1] * g.in[2]), y);
  run.save(x);
}

void Pool::take_back(const Run& run, const ConstView& dy, const View& dx, bool divides) const {
  const ConstView x = run.saved();
  if (dx.data == nullptr) return;
  const PoolGeometry g = *geometry_for(x.shape);
  const std::size_t planes = x.shape.elements() / (g.in[0] * g.in[1] * g.in[2]);
  if (average_)
    average_pool_backward(run, g, *g.out(), planes, dy, dx, divides);
  else
    max_pool_backward(run, g, *g.out(), x, planes, dy, dx);
}

void Pool::backward(const Run& run, const ConstView& dy, const View& dx) const { take_back(run, dy, dx, true); }

// A mean is off by e when all its inputs are.
void Pool::target(const Run& run, const TweenRules&, const ConstView& e, const View& d) const {
  take_back(run, e, d, false);
}

}  // namespace loom
