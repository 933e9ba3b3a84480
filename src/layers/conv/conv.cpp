#include "layers/conv/conv.h"

#include <algorithm>
#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/lengths.h"
#include "layers/tween.h"
#include "ops/until_cancelled.h"

namespace loom {
namespace {

// Elements of all padded planes of a sample: sixteen samples' bytes still fit an address.
constexpr std::size_t kMostStored = sizeof(std::size_t) > 4 ? static_cast<std::size_t>(std::uint64_t{1} << 38)
                                                            : std::size_t{1} << 24;
// output positions unfolded at a time: their patches stay in the second-level cache
constexpr std::size_t kChunk = 128;

template <std::size_t Axes, bool Transposed>
LayerPtr fit_conv(const FitRequest& r) {
  const bool same_places = r.in.size() == r.out.size() && std::equal(r.in.begin() + 1, r.in.end(), r.out.begin() + 1);
  ConvConfig config{.input_channels = r.in[0]};
  config.filters = same_places ? r.out[0] : r.filters != 0 ? r.filters : std::max<std::size_t>(1, r.d_model / 4);
  config.kernel_size = {{r.kernel_size}}, config.padding = {{(r.kernel_size - 1) / 2}};
  config.bias = true, config.activation = r.activation;
  return std::make_unique<Conv>(Axes, Transposed, config);
}

template <std::size_t Axes, bool Transposed>
constexpr LayerKind conv_row(int id, std::string_view name, std::string_view aliases, std::string_view help,
                             std::string_view shapes) {
  return {.id = id,
          .name = name,
          .aliases = aliases,
          .help = help,
          .shapes = shapes,
          .make = make_layer<Conv, Axes, Transposed>,
          .matrix = MatrixUse::Places,
          .is_linear_map = true,
          .fit = fit_conv<Axes, Transposed>};
}

}  // namespace

constinit const std::array<LayerKind, 6> Conv::kKinds = {
    conv_row<1, false>(4, "cnn1", "conv1d", "y = act(W * x + b), a cross-correlation over one axis",
                       "[B, input_channels, L] -> [B, filters, L']"),
    conv_row<2, false>(5, "cnn2", "conv2d", "y = act(W * x + b), a cross-correlation over two axes",
                       "[B, input_channels, H, W] -> [B, filters, H', W']"),
    conv_row<3, false>(6, "cnn3", "conv3d", "y = act(W * x + b), a cross-correlation over three axes",
                       "[B, input_channels, D, H, W] -> [B, filters, D', H', W']"),
    conv_row<1, true>(10, "convtransposed1", "convtransposed1d|convtranspose1d",
                      "y = act(W * x + b), a transposed convolution over one axis",
                      "[B, input_channels, L] -> [B, filters, L']"),
    conv_row<2, true>(11, "convtransposed2", "convtransposed2d|convtranspose2d",
                      "y = act(W * x + b), a transposed convolution over two axes",
                      "[B, input_channels, H, W] -> [B, filters, H', W']"),
    conv_row<3, true>(12, "convtransposed3", "convtransposed3d|convtranspose3d",
                      "y = act(W * x + b), a transposed convolution over three axes",
                      "[B, input_channels, D, H, W] -> [B, filters, D', H', W']")};

void Conv::fields(FieldVisitor& visit) {
  visit({"input_channels|in_channels", "Channels of the input"}, config_.input_channels, {1});
  visit({"filters|out_channels", "Channels of the output"}, config_.filters, {1});
  visit({"kernel_size", "Extent of a filter, one number or one per axis (D, H, W); without it 1"}, config_.kernel_size);
  visit({"stride", transposed_ ? "Distance in the output of what neighbouring inputs reach; without it 1"
                               : "Distance in the input of what neighbouring outputs read; without it 1"},
        config_.stride);
  visit({"padding", transposed_ ? "Places cut off at both ends of the output; without it 0"
                                : "Zeros at both ends of the input; without it 0"},
        config_.padding);
  visit({"dilation", "Distance of neighbouring places that a filter reads; without it 1"}, config_.dilation);
  visit({"groups", "Groups of channels that do not mix; divides input_channels and filters"}, config_.groups, {1});
  if (transposed_)
    visit({"output_padding", "Places more at the end, fewer than the larger of stride and dilation; without it 0"},
          config_.output_padding);
  visit({"bias", "Adds a number per filter"}, config_.bias);
  visit_activation(visit, config_.activation);
  sizes_.fields(visit, true);
}

Result<void> Conv::build() {
  const ConvConfig& c = config_;
  if (c.groups == 0 || c.input_channels == 0 || c.filters == 0 || c.input_channels % c.groups != 0 ||
      c.filters % c.groups != 0)
    return fail(Code::InvalidConfig, "{}: {} groups must divide {} channels and {} filters", kind(), c.groups,
                c.input_channels, c.filters);
  geometry_.transposed = transposed_;
  LOOM_TRY(geometry_.kernel, three_axes("kernel_size", c.kernel_size, axes_, 1, 1));
  LOOM_TRY(geometry_.stride, three_axes("stride", c.stride, axes_, 1, 1));
  LOOM_TRY(geometry_.padding, three_axes("padding", c.padding, axes_, 0, 0));
  LOOM_TRY(geometry_.dilation, three_axes("dilation", c.dilation, axes_, 1, 1));
  LOOM_TRY(geometry_.output_padding, three_axes("output_padding", c.output_padding, axes_, 0, 0));
  std::vector<std::size_t> extents{c.filters, c.input_channels / c.groups};
  for (std::size_t a = 3 - axes_; a < 3; ++a) {
    if (geometry_.kernel[a] == 0 || geometry_.stride[a] == 0 || geometry_.dilation[a] == 0)
      return fail(Code::InvalidConfig, "{}: kernel {}, stride {}, dilation {} of axis {}: each must be at least 1",
                  kind(), geometry_.kernel[a], geometry_.stride[a], geometry_.dilation[a], a + axes_ - 3);
    extents.push_back(geometry_.kernel[a]);
  }
  const std::size_t taps = c.input_channels / c.groups * geometry_.taps();
  const auto rule = is_relu_like(c.activation.kind) ? WeightInit::Rule::He : WeightInit::Rule::Glorot;
  LOOM_TRY_VOID(weight_.declare("weight", WeightRole::Matrix, extents,
                                {rule, taps, c.filters / c.groups * geometry_.taps()}, c.groups));
  if (c.bias) {
    LOOM_TRY_VOID(bias_.declare("bias", WeightRole::Vector, std::array{c.filters}));
  }
  return {};
}

void Conv::visit_weights(const std::function<void(Weight&)>& visit) {
  visit(weight_);
  if (config_.bias) visit(bias_);
}

struct Conv::Plan {
  ConvGeometry::Axes out;
  ConvSizes sizes;
  PatchLayout forward, reversed;  // patches of x, and of dy
};

Result<Conv::Plan> Conv::plan(const Shape& input) const {
  LOOM_TRY_VOID(check_spatial(kind(), input, axes_, config_.input_channels));
  ConvGeometry g = geometry_;
  g.in = spatial_extents(input, axes_);
  LOOM_TRY_VOID(check_declared(kind(), "input", sizes_.in, axes_, g.in));
  LOOM_TRY(const ConvGeometry::Axes whole, g.out());
  Plan p;
  LOOM_TRY(p.out, cropped(kind(), sizes_.out, axes_, whole));
  p.sizes = {input.elements() / (config_.input_channels * ConvGeometry::product(g.in)), config_.groups,
             config_.input_channels / config_.groups, config_.filters / config_.groups};
  LOOM_TRY(p.forward, PatchLayout::create(g, p.out));
  LOOM_TRY(p.reversed, PatchLayout::create(g.reversed(p.out), g.in));
  for (const std::size_t plane : {p.forward.plane(), p.reversed.plane()})
    if (plane > kMostStored / std::max(config_.input_channels, config_.filters))
      return fail(Code::SizeOverflow, "{}: padded planes of {} elements for {} channels and {} filters", kind(), plane,
                  config_.input_channels, config_.filters);
  return p;
}

Result<Shape> Conv::output_shape(const Shape& input) const {
  LOOM_TRY(const Plan p, plan(input));
  return spatial_shape(input, axes_, config_.filters, p.out);
}

// The sums before the activation.
void Conv::sums(const Run& run, const Plan& plan, const ConstView& x, const View& y) const {
  const ArenaScope scope(run.arena());
  const ConvSizes& n = plan.sizes;
  const DType panels = weight_.matrix()->dtype();
  if (x.element == Element::f64 || panels == DType::float32 || panels == DType::float16 || panels == DType::bfloat16) {
    with_element(x.element, [&]<class T>() {
      const T* bias = config_.bias ? bias_.values<T>(run) : nullptr;
      convolve(run, plan.forward, n, x.data, adapted_values<T>(run, weight_), bias, y.data, x.element);
    });
    return;
  }
  // Quantised types: im2col (unfold), then a quantised matmul.
  const std::size_t positions = plan.forward.positions(), size = bytes_of(x.element);
  std::byte* stored = run.take<std::byte>(plan.forward.in_place() ? 0 : n.channels * plan.forward.plane() * size);
  for (std::size_t i = 0; i < n.samples * n.groups && !is_cancelled(run); ++i) {
    const std::byte* planes = x.as<std::byte>() + i * n.channels * plan.forward.input_plane() * size;
    if (!plan.forward.in_place()) {
      store_planes(run, plan.forward, planes, n.channels, x.element, stored);
      planes = stored;
    }
    for (std::size_t first = 0; first < positions && !is_cancelled(run); first += kChunk) {
      const ArenaScope chunk(run.arena());
      const std::size_t rows = std::min(kChunk, positions - first);
      const Tensor patches = run.tensor(rows, weight_.cols(), x.element);
      unfold(run, plan.forward, planes, n.channels, first, patches);
      const Tensor filtered = run.tensor(rows, n.filters, x.element);
      linear(run, patches, std::array{LinearJob{&weight_, &bias_, filtered, i % n.groups}});
      rows_to_planes(run, filtered, positions, first, y.as<std::byte>() + i * n.filters * positions * size);
    }
  }
  keep_cancel(run);
}

void Conv::forward(const Run& run, const ConstView& x, const View& y) const {
  if (refuses_lengths(run, kind())) return;
  const Plan p = *plan(x.shape);  // checked by output_shape()
  // The derivative is taken at the sum before the activation.
  const View sum = run.keeps() && !config_.activation.is_linear() ? run.view(y.shape, y.element) : y;
  sums(run, p, x, sum);
  if (!config_.activation.is_linear()) activate(run, config_.activation, sum, y);
  run.save(x, sum);
}

void Conv::backward(const Run& run, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(run.arena());
  const auto [x, sum] = run.saved<2>();
  const Plan p = *plan(x.shape);
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = run.view(dy.shape, dy.element);
    activate_backward(run, config_.activation, sum, dy, slope);
    g = slope;
  }
  add_products(run, p, x, g);
  if (dx.data == nullptr) return;
  const ConvSizes& n = p.sizes;
  convolve(run, p.reversed, {n.samples, n.groups, n.filters, n.channels}, g.data, reversed_weight(run, p, x.element),
           nullptr, dx.data, x.element);
}

// The weight as it meets gradients of outputs.
void* Conv::reversed_weight(const Run& run, const Plan& plan, Element element) const {
  return with_element(element, [&]<class T>() -> void* {
    T* const w = run.take<T>(weight_.elements());
    reverse_weight(run, plan.sizes, geometry_.taps(), adapted_values<T>(run, weight_), w, element);
    return w;
  });
}

void Conv::add_products(const Run& run, const Plan& p, const ConstView& x, const ConstView& g) const {
  const ConvSizes& n = p.sizes;
  const auto weight_gradient = [&](std::size_t samples, const void* xs, const void* gs, void* dw, void* db) {
    if (transposed_)
      convolve_weight_gradient(run, p.reversed, {samples, n.groups, n.filters, n.channels}, gs, xs, true, dw, nullptr,
                               x.element);
    else
      convolve_weight_gradient(run, p.forward, {samples, n.groups, n.channels, n.filters}, xs, gs, false, dw, db,
                               x.element);
  };
  void* const dw = run.gradient(weight_);
  void* const db = config_.bias ? run.gradient(bias_) : nullptr;
  if (dw != nullptr) weight_gradient(n.samples, x.data, g.data, dw, db);
  if (db != nullptr && (dw == nullptr || transposed_))
    convolve_bias_gradient(run, n.samples, config_.filters, ConvGeometry::product(p.out), g.data, db, x.element);
  if (run.gradients == nullptr || !is_adapted(weight_, run.adapters)) return;
  const std::size_t size = bytes_of(x.element), x_bytes = x.shape.elements() / n.samples * size,
                    g_bytes = g.shape.elements() / n.samples * size;
  each_run(n.samples, 16, [&](std::size_t first, std::size_t samples) {
    const ArenaScope part_scope(run.arena());
    const View d = run.view(weight_.shape(), x.element);
    fill_zero(run, d);
    weight_gradient(samples, x.as<std::byte>() + first * x_bytes, g.as<std::byte>() + first * g_bytes, d.data, nullptr);
    adapter_gradients(run, weight_, d);
  });
}

void Conv::target(const Run& run, const TweenRules& rules, const ConstView& e, const View& d) const {
  const ArenaScope scope(run.arena());
  const auto [x, sum] = run.saved<2>();
  const Plan p = *plan(x.shape);
  ConstView g = e;
  if (!config_.activation.is_linear()) {
    const View before = run.view(e.shape, e.element);
    target_before_activation(run, rules, config_.activation, sum, e, before);
    g = before;
  }
  add_products(run, p, x, g);
  if (d.data == nullptr) return;
  const Tensor w{reversed_weight(run, p, x.element), 1, weight_.elements(), x.element};
  ConstView down = g;
  if (rules.averages) {
    const View wanted = run.view(g.shape, g.element);
    activate(run, config_.activation, sum, wanted);
    add(run, wanted, g, wanted);
    down = wanted;
  }
  const ConvSizes& n = p.sizes;
  convolve(run, p.reversed, {n.samples, n.groups, n.filters, n.channels}, down.data, w.data, nullptr, d.data,
           x.element);
  close_input(run, rules, p, w, x, g.shape.elements() / n.samples, d);
}

// Divides by what covers an input, the same in every sample; w is reversed and left as |w|.
void Conv::close_input(const Run& run, const TweenRules& rules, const Plan& plan, const Tensor& w, const ConstView& x,
                       std::size_t outputs, const View& d) const {
  const ConvSizes& n = plan.sizes;
  const std::size_t inputs = x.shape.elements() / n.samples;
  signed_gap(run, w, w, w);
  const Tensor ones = run.tensor(1, outputs, x.element), sums = run.tensor(1, inputs, x.element);
  fill(run, ones, 1);
  convolve(run, plan.reversed, {1, n.groups, n.filters, n.channels}, ones.data, w.data, nullptr, sums.data, x.element);
  close_targets(run, rules, sums.data, {x.data, n.samples, inputs, x.element}, {d.data, n.samples, inputs, x.element});
}

std::size_t Conv::tween_rows(const Shape& x, const Shape& y) const {
  return transposed_ ? x.elements() / config_.input_channels : y.elements() / config_.filters;
}

}  // namespace loom
