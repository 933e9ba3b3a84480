// Gradients of normalisations, by the backward functions of ops/norm.

#include "graph/gradient_ops.h"
#include "ops/elementwise/elementwise.h"
#include "ops/norm/norm.h"

namespace loom::graph {
namespace {

// The gradients of scale and bias: sums over rows and positions of dy xh and dy.
Result<void> add_gains(const Backward& b, const ChannelShape& shape, const Value& xh) {
  const Op& op = b.op;
  Value gains[2];
  for (const std::size_t i : {1, 2}) {
    if (b.wants(i)) {
      LOOM_TRY(Value* const to, b.dx(i));
      gains[i - 1] = *to;
    } else {
      gains[i - 1] = b.scratch({shape.channels}, b.x(0).type);
    }
    fill_zero(op.exec, tensor_of(gains[i - 1], shape.channels));
  }
  const std::size_t cols = shape.channels * shape.positions;
  add_both_channel_sums(op.exec, shape, tensor_of(b.dy(), cols), tensor_of(xh, cols), 0, gains[0].data, gains[1].data);
  for (const Value& gain : gains)
    if (!op.measures()) round_to_type(gain);
  return {};
}

// The gradient of x, or memory that nobody reads.
Result<Value> gradient_of_x(const Backward& b) {
  if (!b.wants(0)) return b.scratch(b.x(0).dims, b.x(0).type);
  LOOM_TRY(const Value* const dx, b.dx(0));
  return *dx;
}

Result<void> layer_norm_gradient(Op& op) {
  const Backward b(op);
  const Value& x = b.x(0);
  LOOM_TRY(const std::size_t axis, op.axis(op.integer("axis", -1), x.rank()));
  const std::size_t n = count(std::span(x.dims).subspan(axis));
  if (n == 0 || b.x(1).elements() != n || (b.has_x(2) && b.x(2).elements() != n))
    return op.refuse(Code::Unsupported, "with a scale or bias that is no row of {} numbers", n);
  for (const std::size_t i : {1, 2})
    if (i < b.num_outs && b.dy(i) != nullptr) return op.refuse(Code::Unsupported, "by output {}", i);
  LOOM_TRY(const Value dx, gradient_of_x(b));
  const Value xh = b.scratch(x.dims, x.type);
  const auto backward = b.name() == "LayerNormalization" ? layer_norm_backward : rms_norm_backward;
  backward(op.exec, tensor_of(x, n), b.x(1).data, op.number("epsilon", 1e-5), tensor_of(b.dy(), n),
           {xh.data, x.elements() / n, n, element_of_value(x)}, {dx.data, x.elements() / n, n, element_of_value(x)});
  if (!op.measures()) round_to_type(dx);
  return b.wants(1) || b.wants(2) ? add_gains(b, {x.elements() / n, n, 1}, xh) : Result<void>();
}

Result<void> group_norm_gradient(Op& op) {
  const Backward b(op);
  const Value& x = b.x(0);
  const std::size_t channels = x.dims[1];
  const bool single = b.name() == "InstanceNormalization";
  const std::size_t groups = single ? channels : static_cast<std::size_t>(op.integer("num_groups", 1));
  if (b.x(1).elements() != channels || b.x(2).elements() != channels)
    return op.refuse(Code::Unsupported, "with scales of groups");
  const ChannelShape shape{x.dims[0], channels, x.elements() / (x.dims[0] * channels)};
  LOOM_TRY(const Value dx, gradient_of_x(b));
  const Value xh = b.scratch(x.dims, x.type);
  const std::size_t cols = channels * shape.positions;
  group_norm_backward(op.exec, tensor_of(x, cols), shape, groups, b.x(1).data, op.number("epsilon", 1e-5),
                      tensor_of(b.dy(), cols), {xh.data, x.dims[0], cols, element_of_value(x)},
                      {dx.data, x.dims[0], cols, element_of_value(x)});
  if (!op.measures()) round_to_type(dx);
  return b.wants(1) || b.wants(2) ? add_gains(b, shape, xh) : Result<void>();
}

// In inference: mean and variance are statistics, which have no gradient.
Result<void> batch_norm_gradient(Op& op) {
  const Backward b(op);
  const Value& x = b.x(0);
  const ChannelShape shape{x.dims[0], x.dims[1], x.elements() / (x.dims[0] * x.dims[1])};
  const std::size_t cols = shape.channels * shape.positions;
  const Element element = element_of_value(x);
  const Value deviation = b.scratch({shape.channels}, x.type), xh = b.scratch(x.dims, x.type);
  LOOM_TRY(const Value dx, gradient_of_x(b));
  channel_deviations(op.exec, b.x(4).data, op.number("epsilon", 1e-5), shape.channels, element, deviation.data);
  batch_norm(op.exec, tensor_of(x, cols), shape, b.x(3).data, deviation.data, nullptr, nullptr,
             {xh.data, x.dims[0], cols, element});
  batch_norm_backward(op.exec, tensor_of(b.dy(), cols), tensor_of(xh, cols), shape, b.x(1).data, deviation.data,
                      nullptr, nullptr, {dx.data, x.dims[0], cols, element});
  if (!op.measures()) round_to_type(dx);
  return b.wants(1) || b.wants(2) ? add_gains(b, shape, xh) : Result<void>();
}

}  // namespace

std::span<const GradientRow> norm_gradients() {
  static constexpr std::array kRows{
      GradientRow{"LayerNormalization", layer_norm_gradient},
      GradientRow{"RMSNormalization", layer_norm_gradient},
      GradientRow{"InstanceNormalization", group_norm_gradient},
      GradientRow{"GroupNormalization", group_norm_gradient},
      GradientRow{"BatchNormalization", batch_norm_gradient, 0b111},
  };
  return kRows;
}

}  // namespace loom::graph
