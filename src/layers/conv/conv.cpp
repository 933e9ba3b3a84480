#include "layers/conv/conv.h"

#include <algorithm>
#include <array>

#include "ops/matmul/matmul.h"

namespace loom {
namespace {

constexpr std::size_t kChunk = 128;  // output positions unfolded at a time: their patches stay in the second-level cache

constexpr std::array<std::array<std::string_view, 3>, 2> kKinds = {
    {{"cnn1", "cnn2", "cnn3"}, {"convtransposed1", "convtransposed2", "convtransposed3"}}};

}  // namespace

Result<LayerPtr> Conv::create(const ConvConfig& c, std::vector<MatrixPtr> weights, std::vector<float> bias) {
  if (c.axes < 1 || c.axes > 3) return fail(Code::InvalidConfig, "a convolution over {} axes: 1 to 3 are possible", c.axes);
  const std::string_view kind = kKinds[c.geometry.transposed][c.axes - 1];
  if (c.groups == 0 || c.channels == 0 || c.filters == 0 || c.channels % c.groups != 0 || c.filters % c.groups != 0)
    return fail(Code::InvalidConfig, "{}: {} groups must divide {} channels and {} filters", kind, c.groups, c.channels, c.filters);
  if (weights.size() != c.groups) return fail(Code::ShapeMismatch, "{}: {} matrices given for {} groups", kind, weights.size(), c.groups);
  for (const MatrixPtr& w : weights)
    if (w->rows() != c.filters / c.groups || w->cols() != c.channels / c.groups * c.geometry.taps())
      return fail(Code::ShapeMismatch, "{}: a weight of {} x {}, expected {} x {}", kind, w->rows(), w->cols(), c.filters / c.groups,
                  c.channels / c.groups * c.geometry.taps());
  if (!bias.empty() && bias.size() != c.filters) return fail(Code::ShapeMismatch, "{}: {} biases for {} filters", kind, bias.size(), c.filters);
  return LayerPtr(new Conv(c, std::move(weights), std::move(bias)));
}

std::string_view Conv::kind() const { return kKinds[config_.geometry.transposed][config_.axes - 1]; }

ConvGeometry Conv::geometry_for(const Shape& input) const {
  ConvGeometry g = config_.geometry;
  for (std::size_t a = 0; a < config_.axes; ++a) g.in[3 - config_.axes + a] = input[input.rank() - config_.axes + a];
  return g;
}

Result<Shape> Conv::output_shape(const Shape& input) const {
  const std::size_t rank = input.rank(), axes = config_.axes;
  if (rank != axes + 1 && rank != axes + 2)
    return fail(Code::ShapeMismatch, "{}: an input of shape {}, expected [B, {}, {} more axes]", kind(), input.text(), config_.channels, axes);
  if (input[rank - axes - 1] != config_.channels)
    return fail(Code::ShapeMismatch, "{}: {} input channels, expected {}", kind(), input[rank - axes - 1], config_.channels);
  LOOM_TRY(const ConvGeometry::Axes out, geometry_for(input).out());
  std::array<std::size_t, 5> extents{};
  std::ranges::copy(input.extents(), extents.begin());
  extents[rank - axes - 1] = config_.filters;
  for (std::size_t a = 0; a < axes; ++a) extents[rank - axes + a] = out[3 - axes + a];
  return Shape::create({extents.data(), rank});
}

std::size_t Conv::scratch_bytes(const PlanSizes&, const Shape&) const {
  const std::size_t cols = weights_[0]->cols();
  return tensor_bytes(kChunk, cols) + tensor_bytes(kChunk, weights_[0]->rows()) + matmul_scratch_bytes(kChunk, cols);
}

void Conv::forward(const Exec& exec, const Pass&, const ConstView& x, const View& y) const {
  const ConvGeometry g = geometry_for(x.shape);
  const ConvGeometry::Axes out = *g.out();  // checked by output_shape()
  const std::size_t positions = ConvGeometry::product(out), inputs = ConvGeometry::product(g.in);
  const std::size_t samples = x.shape.elements() / (config_.channels * inputs);
  const std::size_t group_channels = config_.channels / config_.groups, group_filters = config_.filters / config_.groups;
  for (std::size_t b = 0; b < samples; ++b)
    for (std::size_t group = 0; group < config_.groups; ++group)
      for (std::size_t first = 0; first < positions; first += kChunk) {
        const ArenaScope scope(exec.arena);
        const std::size_t rows = std::min(kChunk, positions - first);
        const Tensor patches = exec.arena.tensor(rows, weights_[group]->cols());
        unfold(exec, g, out, x.data + (b * config_.channels + group * group_channels) * inputs, group_channels, first, patches);
        const Tensor filtered = exec.arena.tensor(rows, group_filters);
        matmul(exec, patches, std::array{MatmulJob{weights_[group].get(), filtered, bias_.empty() ? nullptr : bias_.data() + group * group_filters}});
        if (config_.activation != Activation::Linear) activate(exec, config_.activation, filtered, filtered);
        float* to = y.data + (b * config_.filters + group * group_filters) * positions + first;
        for (std::size_t f = 0; f < group_filters; ++f)
          for (std::size_t r = 0; r < rows; ++r) to[f * positions + r] = filtered.row(r)[f];
      }
}

std::size_t Conv::resident_bytes() const {
  std::size_t bytes = bias_.size() * sizeof(float);
  for (const MatrixPtr& w : weights_) bytes += w->resident_bytes();
  return bytes;
}

void Conv::visit_matrices(const std::string& path, const std::function<void(const std::string&, const Matrix&)>& visit) const {
  for (std::size_t i = 0; i < weights_.size(); ++i)
    visit(config_.groups == 1 ? path + ".weight" : fmt::format("{}.weight.{}", path, i), *weights_[i]);
}

}  // namespace loom
