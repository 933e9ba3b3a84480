#include "layers/conv/conv.h"

#include <algorithm>
#include <array>

#include "layers/activation_fields.h"

namespace loom {
namespace {

constexpr std::size_t kChunk = 128;  // output positions unfolded at a time: their patches stay in the second-level cache

constexpr std::array<std::array<std::string_view, 3>, 2> kKinds = {
    {{"cnn1", "cnn2", "cnn3"}, {"convtransposed1", "convtransposed2", "convtransposed3"}}};

}  // namespace

std::string_view Conv::kind() const { return kKinds[transposed_][axes_ - 1]; }

void Conv::fields(FieldVisitor& visit) {
  visit("input_channels|in_channels", config_.input_channels, {1});
  visit("filters|out_channels", config_.filters, {1});
  visit("kernel_size", config_.kernel_size);
  visit("stride", config_.stride);
  visit("padding", config_.padding);
  visit("dilation", config_.dilation);
  visit("groups", config_.groups, {1});
  if (transposed_) visit("output_padding", config_.output_padding);
  visit("bias", config_.bias);
  visit_activation(visit, config_.activation);
  sizes_.fields(visit);
}

Result<void> Conv::build() {
  const ConvConfig& c = config_;
  if (c.groups == 0 || c.input_channels == 0 || c.filters == 0 || c.input_channels % c.groups != 0 || c.filters % c.groups != 0)
    return fail(Code::InvalidConfig, "{}: {} groups must divide {} channels and {} filters", kind(), c.groups, c.input_channels, c.filters);
  geometry_.transposed = transposed_;
  LOOM_TRY(geometry_.kernel, three_axes("kernel_size", c.kernel_size, axes_, 1, 1));
  LOOM_TRY(geometry_.stride, three_axes("stride", c.stride, axes_, 1, 1));
  LOOM_TRY(geometry_.padding, three_axes("padding", c.padding, axes_, 0, 0));
  LOOM_TRY(geometry_.dilation, three_axes("dilation", c.dilation, axes_, 1, 1));
  LOOM_TRY(geometry_.output_padding, three_axes("output_padding", c.output_padding, axes_, 0, 0));
  std::vector<std::size_t> extents{c.filters, c.input_channels / c.groups};
  for (std::size_t a = 3 - axes_; a < 3; ++a) {
    if (geometry_.kernel[a] == 0 || geometry_.stride[a] == 0 || geometry_.dilation[a] == 0)
      return fail(Code::InvalidConfig, "{}: kernel {}, stride {}, dilation {} of axis {}: each must be at least 1", kind(), geometry_.kernel[a],
                  geometry_.stride[a], geometry_.dilation[a], a + axes_ - 3);
    extents.push_back(geometry_.kernel[a]);
  }
  const std::size_t taps = c.input_channels / c.groups * geometry_.taps();
  const auto rule = is_relu_like(c.activation.kind) ? WeightInit::Rule::He : WeightInit::Rule::Glorot;
  LOOM_TRY_VOID(weight_.declare("weight", WeightRole::Matrix, extents, {rule, taps, c.filters / c.groups * geometry_.taps()}, c.groups));
  if (c.bias) {
    LOOM_TRY_VOID(bias_.declare("bias", WeightRole::Vector, std::array{c.filters}));
  }
  return {};
}

void Conv::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(weight_);
  if (config_.bias) visit(bias_);
}

ConvGeometry Conv::geometry_for(const Shape& input) const {
  ConvGeometry g = geometry_;
  g.in = spatial_extents(input, axes_);
  return g;
}

Result<Shape> Conv::output_shape(const Shape& input) const {
  LOOM_TRY_VOID(check_spatial(kind(), input, axes_, config_.input_channels));
  const ConvGeometry g = geometry_for(input);
  LOOM_TRY_VOID(check_declared(kind(), "input", sizes_.in, axes_, g.in));
  LOOM_TRY(const ConvGeometry::Axes out, g.out());
  LOOM_TRY_VOID(check_declared(kind(), "output", sizes_.out, axes_, out));
  return spatial_shape(input, axes_, config_.filters, out);
}

void Conv::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  const ConvGeometry g = geometry_for(x.shape);
  const ConvGeometry::Axes out = *g.out();  // checked by output_shape()
  const std::size_t positions = ConvGeometry::product(out), inputs = ConvGeometry::product(g.in), size = bytes_of(x.element);
  const std::size_t samples = x.shape.elements() / (config_.input_channels * inputs);
  const std::size_t group_channels = config_.input_channels / config_.groups, group_filters = config_.filters / config_.groups;
  for (std::size_t b = 0; b < samples; ++b)
    for (std::size_t group = 0; group < config_.groups; ++group)
      for (std::size_t first = 0; first < positions; first += kChunk) {
        const ArenaScope scope(exec.arena);
        const std::size_t rows = std::min(kChunk, positions - first);
        const Tensor patches = exec.arena.tensor(rows, weight_.cols(), x.element);
        const std::byte* from = x.as<std::byte>() + (b * config_.input_channels + group * group_channels) * inputs * size;
        unfold(exec, g, out, from, group_channels, first, patches);
        const Tensor filtered = exec.arena.tensor(rows, group_filters, x.element);
        linear(exec, patches, std::array{LinearJob{&weight_, &bias_, filtered, group}});
        if (!config_.activation.is_linear()) activate(exec, config_.activation, filtered, filtered);
        store_planes(exec, filtered, positions, first, y.as<std::byte>() + (b * config_.filters + group * group_filters) * positions * size);
      }
}

}  // namespace loom
