#include "layers/reshape/reshape.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "layers/lengths.h"

namespace loom {

constinit const LayerKind Reshape::kKind{.id = 27,
                                         .name = "reshape",
                                         .aliases = "flatten",
                                         .help = "the same values in another shape",
                                         .shapes = "[B, ...] -> [B, shape...]",
                                         .make = make_layer<Reshape>};

Result<void> Reshape::build() {
  if (config_.shape.empty() || config_.shape.size() >= Shape::kMaxRank)
    return fail(Code::InvalidConfig, "reshape: {} axes for a sample, expected 1 to {}", config_.shape.size(),
                Shape::kMaxRank - 1);
  for (const std::int64_t extent : config_.shape)
    if (extent < -1) return fail(Code::InvalidConfig, "reshape: extent {}, expected -1, 0 or more", extent);
  if (std::ranges::count(config_.shape, -1) > 1) return fail(Code::InvalidConfig, "reshape: more than one -1");
  return {};
}

Result<Shape> Reshape::output_shape(const Shape& input) const {
  const std::size_t lead = input.rank() > 1 ? 1 : 0, elements = lead ? input.elements() / input[0] : input.elements();
  std::array<std::size_t, Shape::kMaxRank> extents{input[0]};
  std::size_t product = 1, open = Shape::kMaxRank;
  for (std::size_t i = 0; i < config_.shape.size(); ++i) {
    const std::int64_t wanted = config_.shape[i];
    if (wanted == 0 && lead + i >= input.rank())
      return fail(Code::ShapeMismatch, "reshape: the extent at place {} is kept, the input is {}", i, input.text());
    extents[lead + i] = wanted > 0 ? static_cast<std::size_t>(wanted) : wanted == 0 ? input[lead + i] : 1;
    if (wanted < 0) open = lead + i;
    LOOM_TRY(product, checked_mul(product, extents[lead + i]));
  }
  if (open != Shape::kMaxRank && elements % product == 0) extents[open] = elements / product, product = elements;
  if (product != elements)
    return fail(Code::ShapeMismatch, "reshape: {} elements of a sample {} do not make the shape asked for", elements,
                input.text());
  return Shape::create({extents.data(), lead + config_.shape.size()});
}

void Reshape::forward(const Run& run, const ConstView& x, const View& y) const {
  // Lengths count steps on the second axis; with two axes there may be none yet.
  const bool keeps_steps = x.shape.rank() < 3 || (y.shape.rank() > 2 && y.shape[1] == x.shape[1]);
  if (!keeps_steps && refuses_lengths(run, kind())) return;
  copy(run, x, y);
}

}  // namespace loom
