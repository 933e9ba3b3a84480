#pragma once
// Element types of a .npy header, without the byte order in front.

#include <string_view>

#include "dtypes/dtype.h"

namespace loom {

struct NpyType {
  std::string_view name;
  DType dtype;
  bool is_bool;
};

inline constexpr NpyType kNpyTypes[] = {
    {"f8", DType::float64, false}, {"f4", DType::float32, false}, {"f2", DType::float16, false},
    {"i8", DType::int64, false},   {"i4", DType::int32, false},   {"i2", DType::int16, false},
    {"i1", DType::int8, false},    {"u8", DType::uint64, false},  {"u4", DType::uint32, false},
    {"u2", DType::uint16, false},  {"u1", DType::uint8, false},   {"b1", DType::uint8, true},
};
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";
inline constexpr std::size_t kMaxNpyHeader = std::size_t{64} << 10;
inline constexpr std::size_t kMaxNpyRank = 8;

}  // namespace loom
