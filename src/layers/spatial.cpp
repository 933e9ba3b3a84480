#include "layers/spatial.h"

#include <algorithm>

namespace loom {

void DeclaredSizes::fields(FieldVisitor& visit, bool crops) {
  visit({"input_height", "Checked if given: height of the input; with one axis its length"}, in[0]);
  visit({"input_width", "Checked if given: width of the input; 0: its height"}, in[1]);
  visit({"input_depth", "Checked if given: depth of the input; 0: its height"}, in[2]);
  visit({"output_height", crops ? "Height of the output, a length with one axis; a smaller one cuts its end off"
                                : "Checked if given: height of the output; with one axis its length"},
        out[0]);
  visit({"output_width", crops ? "Width of the output, likewise; 0: its height"
                               : "Checked if given: width of the output; 0: its height"},
        out[1]);
  visit({"output_depth", crops ? "Depth of the output, likewise; 0: its height"
                               : "Checked if given: depth of the output; 0: its height"},
        out[2]);
}

Result<std::array<std::size_t, 3>> three_axes(std::string_view key, const AxisSizes& sizes, std::size_t axes,
                                              std::size_t fallback, std::size_t padded) {
  std::array<std::size_t, 3> all{padded, padded, padded};
  if (sizes.values.size() > 1 && sizes.values.size() != axes)
    return fail(Code::InvalidConfig, "{}: {} numbers for {} axes, expected one or as many", key, sizes.values.size(),
                axes);
  for (std::size_t a = 0; a < axes; ++a) all[3 - axes + a] = sizes.at(a, fallback);
  return all;
}

Result<void> check_spatial(std::string_view kind, const Shape& input, std::size_t axes, std::size_t channels) {
  const std::size_t rank = input.rank();
  if (rank != axes + 1 && rank != axes + 2)
    return fail(Code::ShapeMismatch, "{}: an input of shape {}, expected [B, C, {} more axes]", kind, input.text(),
                axes);
  if (channels != 0 && input[rank - axes - 1] != channels)
    return fail(Code::ShapeMismatch, "{}: {} input channels, expected {}", kind, input[rank - axes - 1], channels);
  return {};
}

std::array<std::size_t, 3> spatial_extents(const Shape& input, std::size_t axes) {
  std::array<std::size_t, 3> extents{1, 1, 1};
  for (std::size_t a = 0; a < axes; ++a) extents[3 - axes + a] = input[input.rank() - axes + a];
  return extents;
}

Result<Shape> spatial_shape(const Shape& input, std::size_t axes, std::size_t channels,
                            const std::array<std::size_t, 3>& extents) {
  std::array<std::size_t, Shape::kMaxRank> all{};
  std::ranges::copy(input.extents(), all.begin());
  all[input.rank() - axes - 1] = channels;
  for (std::size_t a = 0; a < axes; ++a) all[input.rank() - axes + a] = extents[3 - axes + a];
  return Shape::create({all.data(), input.rank()});
}

namespace {

// Keys name height, width, depth; axes stand as L, HW or DHW. A length is a height, or a width where no height is
// given; a width or depth that is not given is the height (engine J-17).
std::array<std::size_t, 3> by_axis(const std::array<std::size_t, 3>& declared, std::size_t axes) {
  const auto [height, width, depth] = declared;
  if (axes == 1) return {0, 0, height != 0 ? height : width};
  return {axes == 3 ? (depth != 0 ? depth : height) : 0, height, width != 0 ? width : height};
}

}  // namespace

Result<void> check_declared(std::string_view kind, const char* what, const std::array<std::size_t, 3>& declared,
                            std::size_t axes, const std::array<std::size_t, 3>& derived) {
  const std::array<std::size_t, 3> given = by_axis(declared, axes);
  for (std::size_t a = 3 - axes; a < 3; ++a)
    if (given[a] != 0 && given[a] != derived[a])
      return fail(Code::ShapeMismatch, "{}: {} of axis {}: {} given, {} derived", kind, what, a + axes - 3, given[a],
                  derived[a]);
  return {};
}

Result<std::array<std::size_t, 3>> cropped(std::string_view kind, const std::array<std::size_t, 3>& declared,
                                           std::size_t axes, const std::array<std::size_t, 3>& derived) {
  std::array<std::size_t, 3> out = by_axis(declared, axes);
  for (std::size_t a = 0; a < 3; ++a) {
    if (out[a] > derived[a])
      return fail(Code::ShapeMismatch, "{}: output of axis {}: {} given, only {} derived", kind, a + axes - 3, out[a],
                  derived[a]);
    if (out[a] == 0) out[a] = derived[a];
  }
  return out;
}

}  // namespace loom
