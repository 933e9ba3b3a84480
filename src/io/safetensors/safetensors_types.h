#pragma once
// Names of element types in a safetensors header.

#include <string_view>

#include "dtypes/dtype.h"

namespace loom {

struct SafetensorsType {
  std::string_view name;
  DType dtype;
};

inline constexpr SafetensorsType kSafetensorsTypes[] = {
    {"F64", DType::float64},     {"F32", DType::float32},     {"F16", DType::float16}, {"BF16", DType::bfloat16},
    {"F8_E4M3", DType::fp8e4m3}, {"F8_E5M2", DType::fp8e5m2}, {"I64", DType::int64},   {"I32", DType::int32},
    {"I16", DType::int16},       {"I8", DType::int8},         {"U64", DType::uint64},  {"U32", DType::uint32},
    {"U16", DType::uint16},      {"U8", DType::uint8},        {"BOOL", DType::uint8},  // BOOL after U8: a search by dtype finds U8
};
inline constexpr std::size_t kMaxSafetensorsHeader = std::size_t{100} << 20;
inline constexpr std::size_t kMaxSafetensorsRank = 8;

}  // namespace loom
