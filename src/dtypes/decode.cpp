#include "dtypes/decode.h"

#include "core/little_endian.h"
#include "dtypes/block_formats.h"
#include "dtypes/float16.h"
#include "dtypes/small_float.h"

namespace loom {
namespace {

template <class Stored, class Convert>
void each(const std::byte* from, float* to, std::size_t n, Convert convert) {
  for (std::size_t i = 0; i < n; ++i) to[i] = snap(convert(load_le<Stored>(from + i * sizeof(Stored))));
}

template <class Stored>
void cast(const std::byte* from, float* to, std::size_t n) {
  each<Stored>(from, to, n, [](Stored v) { return static_cast<float>(v); });
}

}  // namespace

void decode_to_float(DType dtype, const std::byte* from, float* to, std::size_t n) {
  LOOM_ASSERT(has_plain_layout(dtype));
  switch (dtype) {
    case DType::float64: return cast<double>(from, to, n);
    case DType::float32: return cast<float>(from, to, n);
    case DType::float16: return each<std::uint16_t>(from, to, n, float16_to_float);
    case DType::bfloat16: return each<std::uint16_t>(from, to, n, bfloat16_to_float);
    case DType::fp8e4m3: return each<std::uint8_t>(from, to, n, Fp8E4M3::decode);
    case DType::fp8e5m2: return each<std::uint8_t>(from, to, n, Fp8E5M2::decode);
    case DType::int64: return cast<std::int64_t>(from, to, n);
    case DType::int32: return cast<std::int32_t>(from, to, n);
    case DType::int16: return cast<std::int16_t>(from, to, n);
    case DType::int8: return cast<std::int8_t>(from, to, n);
    case DType::uint64: return cast<std::uint64_t>(from, to, n);
    case DType::uint32: return cast<std::uint32_t>(from, to, n);
    case DType::uint16: return cast<std::uint16_t>(from, to, n);
    case DType::uint8: return cast<std::uint8_t>(from, to, n);
    default: return decode_block_row(dtype, from, to, n);
  }
}

}  // namespace loom
