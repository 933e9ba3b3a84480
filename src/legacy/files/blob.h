#pragma once
// Weights as 0.8x stores them (engine D-40, D-41, F-21): the concatenated codes of all weights of a layer,
// with one scale. Codes of 8 bits and more are little-endian; an even 4-bit code is the high half of its byte, 2-bit
// and 1-bit codes begin at the highest bits. The padding of the last byte is not read. A value is code * scale, that of
// a float of 16 bits and more the code alone.

#include <span>

#include "dtypes/quantize.h"

namespace loom::loom08 {

struct Blob {
  DType dtype = DType::float32;
  bool is_native = true;  // false: float32 masters of a layer that computes in another type
  float scale = 0;        // read where the type has one
  std::span<const std::byte> bytes{};
};

// Whether 0.8x can have such a scale: it, or its half for fp4, is a normal number above 0 and below 2^64.
bool is_scale(DType dtype, float scale);
// CorruptData unless the bytes are those of `count` codes and the scale is one.
Result<void> check(const Blob& blob, std::size_t count);

// The codes from number `first` on as a matrix of one scale, of a blob that was checked. fp4 has other values than
// E2M1, and fp8e4m3 one code more than OCP's: they are converted. CorruptData for fp4 codes that stand for no number
// and for ternary code -2; Unsupported for uint64 codes from 2^63 on.
Result<QuantizedMatrix> matrix_of(const Blob& blob, std::size_t first, std::size_t rows, std::size_t cols);

// fp4 is multiplied in groups of 32 columns: the one scale of the matrix for each of them.
void repeat_scale_by_group(QuantizedMatrix& matrix);

// The "Q4_0" of 0.8x, which is not ggml's: blocks of 32 weights of the flattened matrix, each with an f32 scale; the
// byte j of a block holds code 2j in its low half and 2j + 1 in its high one, as two's complement. int4 in groups of
// 32, or decoded to float32 where a block spans two rows. CorruptData.
Result<QuantizedMatrix> matrix_of_q4_0(std::span<const std::byte> bytes, std::size_t rows, std::size_t cols);

}  // namespace loom::loom08
