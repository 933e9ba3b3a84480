#pragma once
// How weights become codes of each of the 21 types: what quantize() goes by, and kernels of graphics cards.

#include <array>

#include "dtypes/quantize.h"

namespace loom {

// How the scale of a span comes about: the least power of two that suffices; from the largest size; from the first of
// the largest size, with its sign; from the least and the largest value, with a zero point; from the mean of sizes.
enum class ScaleRule : std::uint8_t { None, PowerOfTwo, Symmetric, Signed2, Asymmetric, Mean };

// One line per type: how its scale comes about, its span, and the codes that its encoder emits.
struct CodeRule {
  DType dtype;
  ScaleRule rule;
  Granularity span;
  double low, high;
};
inline constexpr double kExact53 = 9007199254740991.0;  // 2^53 - 1
inline constexpr std::array<CodeRule, kNumTypes> kCodeRules = {{
    {DType::float64, ScaleRule::None, Granularity::Tensor, 0, 0},
    {DType::float32, ScaleRule::None, Granularity::Tensor, 0, 0},
    {DType::float16, ScaleRule::None, Granularity::Tensor, 0, 0},
    {DType::bfloat16, ScaleRule::None, Granularity::Tensor, 0, 0},
    {DType::fp8e4m3, ScaleRule::PowerOfTwo, Granularity::Row, 0, 448},
    {DType::fp8e5m2, ScaleRule::PowerOfTwo, Granularity::Row, 0, 57344},
    {DType::int64, ScaleRule::Symmetric, Granularity::Row, -kExact53, kExact53},
    {DType::int32, ScaleRule::Symmetric, Granularity::Row, -2147483647.0, 2147483647.0},
    {DType::int16, ScaleRule::Symmetric, Granularity::Row, -32767, 32767},
    {DType::int8, ScaleRule::Symmetric, Granularity::Row, -127, 127},
    {DType::uint64, ScaleRule::Asymmetric, Granularity::Row, 0, kExact53},
    {DType::uint32, ScaleRule::Asymmetric, Granularity::Row, 0, 4294967295.0},
    {DType::uint16, ScaleRule::Asymmetric, Granularity::Row, 0, 65535},
    {DType::uint8, ScaleRule::Asymmetric, Granularity::Row, 0, 255},
    {DType::int4, ScaleRule::Symmetric, Granularity::Group, -7, 7},
    {DType::uint4, ScaleRule::Asymmetric, Granularity::Group, 0, 15},
    {DType::fp4, ScaleRule::Symmetric, Granularity::Group, -6, 6},
    {DType::int2, ScaleRule::Signed2, Granularity::Group, -2, 1},
    {DType::uint2, ScaleRule::Asymmetric, Granularity::Group, 0, 3},
    {DType::ternary, ScaleRule::Mean, Granularity::Tensor, -1, 1},
    {DType::binary, ScaleRule::Mean, Granularity::Row, -1, 1},
}};
static_assert([] {
  for (std::size_t i = 0; i < kNumTypes; ++i)
    if (kCodeRules[i].dtype != kDTypes[i].dtype ||
        (kCodeRules[i].rule == ScaleRule::Asymmetric) != kDTypes[i].panel.has_zeros)
      return false;
  return true;
}());

constexpr const CodeRule& code_rule(DType t) { return kCodeRules[index(t)]; }

// D-04: the scales of groups of 4- and 2-bit codes keep so few bits that sum times scale is exact in f32. The low bits
// that they do not keep; they are rounded away from zero.
constexpr std::uint32_t dropped_scale_bits(DType t, std::size_t group_size) {
  if (info(t).bits != 4 && info(t).bits != 2) return 0;
  const int keep = (group_size == 32 ? 9 : group_size == 64 ? 8 : 7) - (t == DType::uint4 ? 1 : 0);
  return (1u << (24 - keep)) - 1;
}

}  // namespace loom
