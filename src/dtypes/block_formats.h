#pragma once
// The quantised block formats of GGUF files (engine D-26), as exact scalar code: what every packed kernel has to agree
// with. A block is a run of elements cut into sub-blocks; element = scale * code + min, the product rounded to f32,
// then the sum. Formats without a minimum have min = 0, so no element is ever -0. Layouts: the gguf package's
// reference, version 0.19.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"
#include "dtypes/dtype.h"

namespace loom {

struct BlockLayout {
  std::uint16_t elements = 0;      // of a block: 32 or 256
  std::uint16_t sub_elements = 0;  // of a sub-block, which has one scale and one min: 16, 32 or 256
  bool has_min = false;
  std::uint8_t code_bits = 0;               // as stored
  std::uint8_t code_offset = 0;             // subtracted from the stored unsigned code
  std::int8_t code_low = 0, code_high = 0;  // the range of codes; MXFP4's are twice its E2M1 values

  constexpr std::size_t sub_blocks() const { return elements / sub_elements; }
};

inline constexpr std::size_t kMaxBlockElements = 256;
inline constexpr std::size_t kMaxSubBlocks = 16;

// Defined for block formats only (is_block_format).
const BlockLayout& block_layout(DType format);

// Scales and minima of a block of 256 as they are stored: scale = d * scales[s], min = -(dmin * mins[s]).
struct SuperFactors {
  float d = 0, dmin = 0;
  std::int8_t scales[kMaxSubBlocks] = {};
  std::uint8_t mins[kMaxSubBlocks] = {};
};
SuperFactors super_factors(DType format, const std::byte* block);

// One block: codes [elements], scales and mins [sub_blocks]. The products of K-quants are exact
// in f32. MXFP4: scale = half of the stored power of two, 0 where that is below 2^-24 (numerics 1.2).
void unpack_block(DType format, const std::byte* block, std::int8_t* codes, float* scales, float* mins);

// `n` elements, a multiple of the block; the values are never -0 or subnormal, so they are snapped as they stand.
// NaN or infinity in a block's scale gives NaN or infinity.
void decode_block_row(DType format, const std::byte* from, float* to, std::size_t n);

// Round-to-nearest quantisation of q8_0, q4_0, q4_1 and tq2_0: the bytes of the gguf package, but scales beyond f16
// saturate. NonFinite with the index; ShapeMismatch when n is no multiple of the block; Unsupported for the other
// formats.
Result<void> encode_block_row(DType format, std::span<const float> from, std::byte* to);

}  // namespace loom
