#pragma once
// NumPy's .npy files: 0x93 "NUMPY", version, length of the header, the header (a Python dict of descr, fortran_order
// and shape, padded with spaces), the elements. Read: versions 1 to 3, either byte order, either order of axes.
// Written: version 1, byte for byte as NumPy 2 does.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/error.h"
#include "dtypes/dtype.h"

namespace loom {

struct NpyArray {
  DType dtype = DType::float32;  // of float16..64, int8..64, uint8..64; bool is uint8 with is_bool
  bool is_bool = false;
  std::vector<std::size_t> shape;  // row-major; empty for a scalar; an extent may be 0
  Buffer bytes;                    // little-endian, row-major
};

// An array without a copy: `bytes` points into the file and has its byte order and its order of axes.
struct NpyView {
  DType dtype = DType::float32;
  bool is_bool = false, big_endian = false, fortran_order = false;
  std::vector<std::size_t> shape;
  std::span<const std::byte> bytes;
};
Result<NpyView> view_npy(std::span<const std::byte> file);  // errors as parse_npy()

// CorruptData with the offset; Unsupported for other element types (pickled objects among them), versions and more than
// 8 axes; LimitExceeded beyond a header of 64 KiB.
Result<NpyArray> parse_npy(std::span<const std::byte> file);
Result<NpyArray> read_npy(const std::string& path);

// Everything before the elements. Unsupported for types NumPy lacks and more than 8 axes.
Result<std::string> npy_header(DType dtype, std::span<const std::size_t> shape, bool is_bool = false);

// `bytes` little-endian and row-major; ShapeMismatch unless they fill the shape. Atomic: the file is complete or does
// not exist.
Result<void> write_npy(const std::string& path, DType dtype, std::span<const std::size_t> shape,
                       std::span<const std::byte> bytes, bool is_bool = false);

}  // namespace loom
