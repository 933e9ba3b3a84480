#pragma once

namespace loom {

// By this factor tensors of f32 are measured whose squares overflow.
inline constexpr double kNormShrink = 0x1p-80;

}  // namespace loom
