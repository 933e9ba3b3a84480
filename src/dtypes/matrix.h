#pragma once
// A weight matrix W [rows, cols] laid out for the kernels in panels of 16 rows (panel.h): one pass over memory serves a
// matrix-vector product and a batch alike (docs/internals/numerics.md, "The order of sums"). The last panel is padded
// with zero rows. A Matrix is the only copy of its weights in memory; rows can be read back exactly.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "core/error.h"
#include "core/stop.h"
#include "dtypes/dtype.h"
#include "dtypes/panel.h"
#include "dtypes/quantize.h"

namespace loom {

// The layout that prepare() chooses for a type whose scales have this span.
PanelLayout panel_layout(DType dtype, ScaleSpan span = {});

// Memory for the panels of many matrices in one piece, so that small matrices too are on large pages. Thread-safe;
// lives as long as the longest-lived matrix in it.
class PanelPool {
 public:
  static Result<std::shared_ptr<PanelPool>> create(std::size_t bytes);
  // Bytes of the pool that panels of so many bytes take.
  static std::size_t room_for(std::size_t bytes);
  // Null when the pool is used up.
  std::byte* take(std::size_t bytes);
  // Returns whether each matrix has pages of the system to itself, which it may give back.
  bool has_pages() const { return has_pages_; }

 private:
  Buffer memory_;
  bool has_pages_ = false;
  std::atomic<std::size_t> used_{0};
};

class PanelPages;

class Matrix {
 public:
  Matrix() = default;

  // All zeros, in a type whose panels hold plain floats. ShapeMismatch, SizeOverflow, OutOfMemory.
  static Result<Matrix> zeros(DType dtype, std::size_t rows, std::size_t cols) {
    return create(dtype, panel_layout(dtype), rows, cols, nullptr);
  }

  // From a row-major array of `dtype` elements or blocks, as files hold them. `bytes` must be exactly rows * row_bytes
  // long. ShapeMismatch, SizeOverflow, NonFinite (a weight or scale that is no finite number), OutOfMemory; Cancelled
  // by `stop`, as below. `row_order`, if given, names the source row of each row. Panels go to the pool while it
  // has room.
  static Result<Matrix> from_source(DType dtype, std::span<const std::byte> bytes, std::size_t rows, std::size_t cols,
                                    std::span<const std::uint32_t> row_order = {},
                                    std::shared_ptr<PanelPool> pool = nullptr, const Stop& stop = {});

  // Codes, scales and zero points as quantize() leaves them; errors of check_scales(). Unsupported for spans without a
  // kernel: groups of floats of 8 bits and of wide integers, one scale per row or tensor of fp4.
  static Result<Matrix> from_quantized(const QuantizedMatrix& source, std::shared_ptr<PanelPool> pool = nullptr,
                                       const Stop& stop = {});

  // Ternary codes as Microsoft's BitNet b1.58 checkpoints store them (engine D-24): bytes [rows / 4, cols], bits 2k and
  // 2k + 1 of byte (p, c) hold the code of row k * rows / 4 + p plus 1, and 3 stands for 0; value = code * scale.
  // ShapeMismatch unless 4 divides the rows and the bytes are as many; NonFinite for the scale.
  static Result<Matrix> from_bitnet(std::span<const std::byte> bytes, std::size_t rows, std::size_t cols, float scale,
                                    std::shared_ptr<PanelPool> pool = nullptr, const Stop& stop = {});

  // Encodes f32 rows (row-major) to `dtype` by engine 4.1 first.
  static Result<Matrix> from_floats(DType dtype, std::span<const float> values, std::size_t rows, std::size_t cols,
                                    std::shared_ptr<PanelPool> pool = nullptr);

  // New finite f32 values, row-major, in a matrix that no other thread reads meanwhile: panels [first, last) of
  // panels(), after renew(). They are encoded as quantize() does it: `row` is of one row with the type and span of this
  // matrix, and has the scale already where one holds for the tensor. Unused in float32; not for float64 and block
  // formats.
  void refill(std::span<const float> values, std::size_t first, std::size_t last, QuantizedMatrix& row);

  // Chooses the span of the scales of quantised inputs; None: that of the weights' own. It is called before anybody
  // multiplies by the matrix.
  void set_input_scales(PanelScales scales) { layout_.own_input_scales = scales; }

  DType dtype() const { return dtype_; }
  const PanelLayout& layout() const { return layout_; }
  std::size_t rows() const { return rows_; }
  std::size_t cols() const { return cols_; }
  std::size_t panels() const { return (rows_ + kPanelRows - 1) / kPanelRows; }
  const std::byte* panel(std::size_t p) const { return data_ + p * panel_bytes_; }
  std::size_t panel_bytes() const { return panel_bytes_; }
  // One scale per row of fp8, wide and row panels, f64 for wide ones, padded to whole panels; else null.
  const float* row_scales() const { return row_scales_.as<float>(); }
  const double* wide_row_scales() const { return row_scales_.as<double>(); }
  // A zero point per row: f64 for wide panels; for bytes those of codes that are stored 128 lower. Null where the type
  // has none.
  const std::int32_t* row_zeros() const { return row_zeros_.as<std::int32_t>(); }
  const double* wide_row_zeros() const { return row_zeros_.as<double>(); }
  std::size_t resident_bytes() const { return panels() * panel_bytes_ + row_scales_.size() + row_zeros_.size(); }

  // Lives as long as the values that the matrix has now; a copy of them somewhere else is good as long.
  // The first call of a matrix is not for several threads at once.
  const std::shared_ptr<const void>& token() const {
    if (token_ == nullptr) token_ = std::make_shared<char>();
    return token_;
  }
  void renew() { token_.reset(); }

  // Lets the panels leave the memory of the host while nobody holds them, where they are in a pool that has pages.
  // `remake` writes the same bytes again; `name` stands in its errors.
  void let_panels_leave(std::string name, std::function<Result<void>(std::span<std::byte> panels)> remake);
  // Not null: panel() needs a PanelHold (dtypes/panel_pages.h). The other functions that read values take one
  // themselves.
  PanelPages* pages() const { return pages_.get(); }
  // The first bytes of the panels, PanelPages::kKept at most.
  std::vector<std::byte> beginning(std::size_t bytes) const;

  // Codes, scales and zero points of one of the 21 types, as from_quantized() took them. Unsupported for block formats.
  Result<QuantizedMatrix> to_quantized(const Stop& stop = {}) const;

  // The decoded values of one row: what the kernels multiply by. `out` has cols() elements.
  void decode_row(std::size_t row, float* out) const;
  // The decoded rows of a panel, as many as it has.
  void decode_panel(std::size_t p, float* out) const;
  // The values of a row without rounding to f32 where the type is wider: f64 and the wide integers.
  void decode_row(std::size_t row, double* out) const;

 private:
  static Result<Matrix> create(DType dtype, const PanelLayout& layout, std::size_t rows, std::size_t cols,
                               std::shared_ptr<PanelPool> pool);

  // Row 'from' of q becomes row 'to', codes and factors.
  void put_row(const QuantizedMatrix& q, std::size_t from, std::size_t to);
  // Writes the scale and the zero point of a row, in kinds of panels that have one per row.
  void put_row_factors(std::size_t row, double scale, std::int64_t zero_point);

  DType dtype_ = DType::float32;
  PanelLayout layout_;
  std::size_t rows_ = 0, cols_ = 0, panel_bytes_ = 0;
  std::byte* data_ = nullptr;  // in own_ or in pool_
  Buffer own_, row_scales_, row_zeros_;
  std::shared_ptr<PanelPool> pool_;
  mutable std::shared_ptr<const void> token_;
  std::shared_ptr<PanelPages> pages_;
};

// One row of f32 as a file holds it in this type: floats saturate, blocks are quantised. Unsupported for types without
// an encoder.
Result<void> encode_row(DType dtype, std::span<const float> row, std::byte* to);

}  // namespace loom
