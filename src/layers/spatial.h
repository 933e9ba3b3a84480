#pragma once
// Shared by convolutions and pooling: settings per axis, [B, C, axes...] inputs, and sizes that a spec may declare.

#include <array>

#include "core/shape.h"
#include "layers/fields.h"

namespace loom {

// input_height/width/depth and output_height/width/depth of a spec: 0 where not given, else checked (engine S-04).
struct DeclaredSizes {
  std::array<std::size_t, 3> in{}, out{};  // height, width, depth as the keys name them
  // crops: a smaller output is cut off at the end; else it is refused.
  void fields(FieldVisitor& visit, bool crops);
};

// Sizes of each axis, padded in front to three. InvalidConfig when as many numbers were given as there are neither axes
// nor one.
Result<std::array<std::size_t, 3>> three_axes(std::string_view key, const AxisSizes& sizes, std::size_t axes,
                                              std::size_t fallback, std::size_t padded);

// [B, C, axes...] or [C, axes...]: ShapeMismatch for another rank, or other channels than `channels` (0: any).
Result<void> check_spatial(std::string_view kind, const Shape& input, std::size_t axes, std::size_t channels);
// Extents of the axes, padded in front to three.
std::array<std::size_t, 3> spatial_extents(const Shape& input, std::size_t axes);
// `input` with other channels and axes.
Result<Shape> spatial_shape(const Shape& input, std::size_t axes, std::size_t channels,
                            const std::array<std::size_t, 3>& extents);
// ShapeMismatch when a declared extent is another than the derived one.
Result<void> check_declared(std::string_view kind, const char* what, const std::array<std::size_t, 3>& declared,
                            std::size_t axes, const std::array<std::size_t, 3>& derived);
// The derived extents, cropped at the end of each axis to declared smaller ones (engine S-04). ShapeMismatch when a
// larger one is declared.
Result<std::array<std::size_t, 3>> cropped(std::string_view kind, const std::array<std::size_t, 3>& declared,
                                           std::size_t axes, const std::array<std::size_t, 3>& derived);

}  // namespace loom
