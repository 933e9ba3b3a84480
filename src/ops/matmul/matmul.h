#pragma once
// y[r, o] = sum_i W[o, i] x[r, i] (+ bias[o]); x [rows, cols], y [rows, W.rows].
//
// Order of sums over i: float weights by chain64. Quantised weights (engine D-26, D-33): x is quantised first, per 32 columns to
// int16 or int8 (Exec::activations) for block panels, per row to int8 for row panels; integer sums are exact; block panels then add
// f32(I) * (scale * sx), and min * (sx * f32(sum q)) where the format has minima, sub-blocks ascending, into one accumulator; row
// panels multiply the exact sum of the row by (scale * sx) once. The total is snapped, the bias added, the result snapped.
// Outputs are divided among threads; nothing else is.

#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"

namespace loom {

// Rows of x as the integer kernels read them, padded to whole blocks of 32 columns with zeros. int8: q = codes, |q| <= 127. int16:
// q = 255 * codes + low_codes, |q| <= 32512, both digits within +-127, so that the same byte dots serve both.
struct QuantizedRows {
  std::int8_t *codes = nullptr, *low_codes = nullptr;       // [rows, 32 * blocks]; low_codes null: int8
  float* scales = nullptr;                                  // sx: [rows, blocks], or [rows] where the row has one
  std::int32_t *sums = nullptr, *low_sums = nullptr;        // of the 32 codes: [rows, blocks]
  std::int32_t *sums16 = nullptr, *low_sums16 = nullptr;    // of each 16: [rows, 2 * blocks]
  float* scaled = nullptr;                                  // sx * f32(sum of q): [rows, blocks]
  float* scaled16 = nullptr;                                // [rows, 2 * blocks]
  std::size_t rows = 0, blocks = 0;
  bool by_row = false;
};
inline constexpr std::int32_t kDigit = 255;

struct MatmulJob {
  const Matrix* weight = nullptr;
  Tensor y;
  const float* bias = nullptr;      // [weight rows] or null
};

// One pass over x for all weights (q | k | v, gate | up): they divide one set of threads.
void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs);

// Arena bytes that matmul() takes for `rows` rows of an input of `cols` columns.
std::size_t matmul_scratch_bytes(std::size_t rows, std::size_t cols);

// Kernel side.
struct MatmulTask {
  const Matrix* weight;
  const float* x;
  std::size_t rows, cols;
  const QuantizedRows* quantized;
  float* y;
  const float* bias;
};
struct MatmulKernels {
  // Panels [begin, end) of the weight for all rows of x, by PanelKind.
  void (*panels[9])(const MatmulTask&, std::size_t begin, std::size_t end);
  // Quantises row r of x with one scale per 32 columns or per row.
  void (*quantize_row)(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out);
};

}  // namespace loom
