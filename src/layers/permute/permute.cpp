#include "layers/permute/permute.h"

#include <array>

#include "layers/lengths.h"
#include "ops/permute/permute.h"

namespace loom {

constinit const LayerKind Permute::kKind{.id = 30,
                                         .name = "permute",
                                         .aliases = "transpose",
                                         .help = "the same values with the axes in another order",
                                         .shapes = "any with as many axes as are listed -> the same in that order",
                                         .make = make_layer<Permute>};

Result<void> Permute::build() {
  const std::size_t rank = config_.axes.size();
  if (rank < 1 || rank > Shape::kMaxRank)
    return fail(Code::InvalidConfig, "permute: {} axes, expected 1 to {}", rank, Shape::kMaxRank);
  inverse_.assign(rank, rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t axis = config_.axes[i];
    if (axis >= rank || inverse_[axis] != rank)
      return fail(Code::InvalidConfig, "permute: axes must name each of 0 to {} once", rank - 1);
    inverse_[axis] = i;
  }
  return {};
}

Result<Shape> Permute::output_shape(const Shape& input) const {
  if (input.rank() != config_.axes.size())
    return fail(Code::ShapeMismatch, "permute: an input {}, {} axes are listed", input.text(), config_.axes.size());
  std::array<std::size_t, Shape::kMaxRank> extents{};
  for (std::size_t i = 0; i < input.rank(); ++i) extents[i] = input[config_.axes[i]];
  return Shape::create({extents.data(), input.rank()});
}

void Permute::forward(const Run& run, const ConstView& x, const View& y) const {
  // Lengths count steps on the second axis, or on the first of two.
  const bool keeps_steps = config_.axes[0] == 0 && (config_.axes.size() == 1 || config_.axes[1] == 1);
  if (!keeps_steps && refuses_lengths(run, kind())) return;
  permute(run, x, config_.axes, y);
}

void Permute::backward(const Run& run, const ConstView& dy, const View& dx) const {
  if (dx.data != nullptr) permute(run, dy, inverse_, dx);
}

}  // namespace loom
