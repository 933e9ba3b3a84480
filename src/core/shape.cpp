#include "core/shape.h"

namespace loom {

Result<Shape> Shape::create(std::span<const std::size_t> extents) {
  if (extents.empty() || extents.size() > kMaxRank)
    return fail(Code::ShapeMismatch, "a shape of rank {}: 1 to {} are possible", extents.size(), kMaxRank);
  Shape s;
  s.rank_ = extents.size();
  s.elements_ = 1;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::size_t extent = extents[axis];
    if (extent == 0) return fail(Code::ShapeMismatch, "axis {} of a shape is 0, expected 1 or more", axis);
    if (extent > kMaxElements / s.elements_)
      return fail(Code::SizeOverflow, "a shape of more than {} elements", kMaxElements);
    s.extents_[axis] = extent;
    s.elements_ *= extent;
  }
  return s;
}

std::string Shape::text() const {
  std::string text = "[";
  for (const std::size_t extent : extents()) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

Result<Shape> Shape::with_cols(std::size_t cols) const {
  std::array<std::size_t, kMaxRank> extents = extents_;
  extents[rank_ - 1] = cols;
  return create({extents.data(), rank_});
}

Result<Shape> Shape::appended(std::size_t extent) const {
  if (rank_ == kMaxRank) return fail(Code::ShapeMismatch, "{} has rank {} already", text(), kMaxRank);
  std::array<std::size_t, kMaxRank> extents = extents_;
  extents[rank_] = extent;
  return create({extents.data(), rank_ + 1});
}

}  // namespace loom
