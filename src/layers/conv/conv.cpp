#include "layers/conv/conv.h"

#include <algorithm>
#include <array>

#include "layers/activation_fields.h"
#include "layers/adapter.h"
#include "layers/tween.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

// Elements of all padded planes of a sample: sixteen samples' bytes still fit an address.
constexpr std::size_t kMostStored = sizeof(std::size_t) > 4 ? static_cast<std::size_t>(std::uint64_t{1} << 38) : std::size_t{1} << 24;
constexpr std::size_t kChunk = 128;  // output positions unfolded at a time: their patches stay in the second-level cache

constexpr std::array<std::array<std::string_view, 3>, 2> kConvKinds = {
    {{"cnn1", "cnn2", "cnn3"}, {"convtransposed1", "convtransposed2", "convtransposed3"}}};

}  // namespace

std::string_view Conv::kind() const { return kConvKinds[transposed_][axes_ - 1]; }

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
  p.sizes = {input.elements() / (config_.input_channels * ConvGeometry::product(g.in)), config_.groups, config_.input_channels / config_.groups,
             config_.filters / config_.groups};
  LOOM_TRY(p.forward, PatchLayout::create(g, p.out));
  LOOM_TRY(p.reversed, PatchLayout::create(g.reversed(p.out), g.in));
  for (const std::size_t plane : {p.forward.plane(), p.reversed.plane()})
    if (plane > kMostStored / std::max(config_.input_channels, config_.filters))
      return fail(Code::SizeOverflow, "{}: padded planes of {} elements for {} channels and {} filters", kind(), plane, config_.input_channels,
                  config_.filters);
  return p;
}

Result<Shape> Conv::output_shape(const Shape& input) const {
  LOOM_TRY(const Plan p, plan(input));
  return spatial_shape(input, axes_, config_.filters, p.out);
}

// The sums before the activation.
void Conv::sums(const Exec& exec, const Plan& plan, const ConstView& x, const View& y) const {
  const ArenaScope scope(exec.arena);
  const ConvSizes& n = plan.sizes;
  const DType panels = weight_.matrix()->dtype();
  if (x.element == Element::f64 || panels == DType::float32 || panels == DType::float16 || panels == DType::bfloat16) {
    with_element(x.element, [&]<class T>() {
      const T* bias = config_.bias ? bias_.values<T>(exec) : nullptr;
      convolve(exec, plan.forward, n, x.data, adapted_values<T>(exec, weight_), bias, y.data, x.element);
    });
    return;
  }
  // Types with a meeting of their own take patches as rows of a matrix.
  const std::size_t positions = plan.forward.positions(), size = bytes_of(x.element);
  std::byte* stored = exec.arena.take<std::byte>(plan.forward.in_place() ? 0 : n.channels * plan.forward.plane() * size);
  for (std::size_t i = 0; i < n.samples * n.groups; ++i) {
    const std::byte* planes = x.as<std::byte>() + i * n.channels * plan.forward.input_plane() * size;
    if (!plan.forward.in_place()) {
      store_planes(exec, plan.forward, planes, n.channels, x.element, stored);
      planes = stored;
    }
    for (std::size_t first = 0; first < positions; first += kChunk) {
      const ArenaScope chunk(exec.arena);
      const std::size_t rows = std::min(kChunk, positions - first);
      const Tensor patches = exec.arena.tensor(rows, weight_.cols(), x.element);
      unfold(exec, plan.forward, planes, n.channels, first, patches);
      const Tensor filtered = exec.arena.tensor(rows, n.filters, x.element);
      linear(exec, patches, std::array{LinearJob{&weight_, &bias_, filtered, i % n.groups}});
      rows_to_planes(exec, filtered, positions, first, y.as<std::byte>() + i * n.filters * positions * size);
    }
  }
}

void Conv::forward(const Exec& exec, const Pass& pass, const ConstView& x, const View& y) const {
  const Plan p = *plan(x.shape);  // checked by output_shape()
  // The derivative is taken at the sum before the activation.
  const View sum = pass.keeps() && !config_.activation.is_linear() ? exec.arena.view(y.shape, y.element) : y;
  sums(exec, p, x, sum);
  if (!config_.activation.is_linear()) activate(exec, config_.activation, sum, y);
  if (!pass.keeps()) return;
  pass.tape->push(x);
  pass.tape->push(sum);
}

void Conv::backward(const Exec& exec, const Pass& pass, const ConstView& dy, const View& dx) const {
  const ArenaScope scope(exec.arena);
  const ConstView sum = pass.tape->pop(), x = pass.tape->pop();
  const Plan p = *plan(x.shape);
  const ConvSizes& n = p.sizes;
  ConstView g = dy;
  if (!config_.activation.is_linear()) {
    const View slope = exec.arena.view(dy.shape, dy.element);
    through_activation(exec, pass, config_.activation, sum, dy, slope);
    g = slope;
  }
  const ConvSizes reversed{n.samples, n.groups, n.filters, n.channels};
  void* dw = pass.gradients != nullptr ? pass.gradients->of(weight_) : nullptr;
  void* db = pass.gradients != nullptr && config_.bias ? pass.gradients->of(bias_) : nullptr;
  if (dw != nullptr && transposed_) convolve_weight_gradient(exec, p.reversed, reversed, g.data, x.data, true, dw, nullptr, x.element);
  if (dw != nullptr && !transposed_) convolve_weight_gradient(exec, p.forward, n, x.data, g.data, false, dw, db, x.element);
  if (db != nullptr && (dw == nullptr || transposed_))
    convolve_bias_gradient(exec, n.samples, config_.filters, ConvGeometry::product(p.out), g.data, db, x.element);
  if (pass.gradients != nullptr && is_adapted(weight_)) {
    const std::size_t size = bytes_of(x.element), x_bytes = x.shape.elements() / n.samples * size, g_bytes = g.shape.elements() / n.samples * size;
    each_run(n.samples, 16, [&](std::size_t first, std::size_t samples) {
      const ArenaScope run(exec.arena);
      const View d = exec.arena.view(weight_.shape(), x.element);
      fill_zero(exec, d);
      const std::byte *xs = x.as<std::byte>() + first * x_bytes, *gs = g.as<std::byte>() + first * g_bytes;
      if (transposed_)
        convolve_weight_gradient(exec, p.reversed, {samples, n.groups, n.filters, n.channels}, gs, xs, true, d.data, nullptr, x.element);
      else
        convolve_weight_gradient(exec, p.forward, {samples, n.groups, n.channels, n.filters}, xs, gs, false, d.data, nullptr, x.element);
      adapter_gradients(exec, pass, weight_, d);
    });
  }
  if (dx.data == nullptr) return;
  with_element(x.element, [&]<class T>() {
    T* w = exec.arena.take<T>(weight_.elements());
    reverse_weight(exec, n, geometry_.taps(), adapted_values<T>(exec, weight_), w, x.element);
    if (pass.tween != nullptr) return target_of_input(exec, *pass.tween, p, {w, 1, weight_.elements(), x.element}, x, sum, g, dx);
    convolve(exec, p.reversed, reversed, g.data, w, nullptr, dx.data, x.element);
  });
}

// w is reversed; what covers an input is the same in every sample.
void Conv::target_of_input(const Exec& exec, const TweenRules& rules, const Plan& plan, const Tensor& w, const ConstView& x, const ConstView& sum,
                           const ConstView& g, const View& dx) const {
  const ConvSizes& n = plan.sizes;
  const std::size_t inputs = x.shape.elements() / n.samples, outputs = g.shape.elements() / n.samples;
  ConstView down = g;
  if (rules.averages) {
    const View target = exec.arena.view(g.shape, g.element);
    activate(exec, config_.activation, sum, target);
    add(exec, target, g, target);
    down = target;
  }
  convolve(exec, plan.reversed, {n.samples, n.groups, n.filters, n.channels}, down.data, w.data, nullptr, dx.data, x.element);
  signed_gap(exec, w, w, w);  // |w|
  const Tensor ones = exec.arena.tensor(1, outputs, x.element), sums = exec.arena.tensor(1, inputs, x.element);
  with_element(x.element, [&]<class T>() { for_elements(exec, outputs, [&](std::size_t at, std::size_t count) { std::fill_n(ones.as<T>() + at, count, T{1}); }); });
  convolve(exec, plan.reversed, {1, n.groups, n.filters, n.channels}, ones.data, w.data, nullptr, sums.data, x.element);
  close_targets(exec, rules, sums.data, {x.data, n.samples, inputs, x.element}, {dx.data, n.samples, inputs, x.element});
}

std::size_t Conv::tween_rows(const Shape& x, const Shape& y) const {
  return transposed_ ? x.elements() / config_.input_channels : y.elements() / config_.filters;
}

}  // namespace loom
