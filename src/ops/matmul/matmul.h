#pragma once
// y[r, o] = sum_i W[o, i] x[r, i] (+ bias[o]); x [rows, cols], y [rows, W.rows].
//
// Order of sums over i: float weights by chain64 (fp8: the total times the row's scale; fp4: each group of 32, 64 or
// 128 is a chain, times its scale), in f64 for float64 and the wide integers. Other quantised weights (engine D-26,
// D-33): x is quantised first, to int8 or int16 (Exec::activations) per 32 columns for block panels, or per 64 or 128
// where their scales are, per row to int8 for row panels; integer sums are exact; block panels then add f32(I) * (scale
// * sx), and min * (sx * f32(sum q)) where the format has minima, sub-blocks ascending, into one accumulator; row
// panels multiply the exact sum of the row by (scale * sx) once. Where a weight asks for the other kind of input scales
// (PanelLayout::own_input_scales, always int8), block panels meet one sx per row, which multiplies the total in place
// of the terms, and row panels one per 32 columns, whose sums are added as those of block panels. The total is snapped,
// the bias added, the result snapped.
// Outputs are divided among threads; nothing else is.

#include <span>

#include "backend/exec.h"
#include "dtypes/matrix.h"
#include "ops/gemm/gemm.h"

namespace loom {

// The integer kernels read x in one of three forms: int8 codes; two int8 digits of an int16, q = 255 * high + low with
// |q| <= 32512, so that both meet codes of few bits in byte dots; or the int16 itself, for byte codes and where a
// target prefers it.
enum class InputForm : std::uint8_t { Codes, Digits, Words };

// 32 columns of one row of x; columns beyond the row are zeros.
struct alignas(32) QuantizedBlock {
  union {
    struct {
      std::int8_t high[32], low[32];  // Codes: high alone
    };
    std::int16_t words[32];  // each four in the order of the target's kWordOrder
    std::int8_t pairs[64];   // of QuantizedRows::in_pairs
  };
  float scale;                  // sx, of the columns that share one
  float scaled, scaled16[2];    // sx * f32(sum of q) over the 32 and over each 16
  std::int32_t sum, sums16[2];  // of q
};
// 32 columns of sixteen rows of x as two tiles of bfloat16, the parts of q that are multiples of 256 and the rest, and
// what else a QuantizedBlock has. Each four columns have the order 0, 2, 1, 3.
struct alignas(64) TileInputs {
  std::uint16_t parts[2][16][32];
  float scale[16], scaled[16], scaled16[2][16], sum[16], sums16[2][16];
};
struct QuantizedRows {
  QuantizedBlock* data = nullptr;  // [rows, blocks]
  std::size_t blocks = 0;
  InputForm form = InputForm::Codes;
  std::size_t scale_cols = kBlockCols;  // columns that share a scale; 0: the whole row
  // a row's scale is in row_scales and multiplies the total; those of its blocks are 1
  bool splits_scale = false;
  float* row_scales = nullptr;
  float floor = 0;              // a row's largest size counts as at least this
  TileInputs* tiles = nullptr;  // [rows / 16, blocks] for registers of tiles, if any

  // Eight columns of a first vector alternate with the same columns of a second. Codes: a row and the next one, in the
  // block of the first, which is even. Digits and Words: both digits of a row.
  bool in_pairs = false;

  QuantizedBlock* row(std::size_t r) const { return data + r * blocks; }
};
inline constexpr std::int32_t kDigit = 255;

struct MatmulJob {
  const Matrix* weight = nullptr;
  Tensor y;
  const float* bias = nullptr;  // [weight rows] or null
  // row panels: a row's largest size counts as at least this; one for all jobs of a call
  float input_floor = 0;
};

// One pass over x for all weights (q | k | v, gate | up): they divide one set of threads.
void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs, FactorKind values = FactorKind::Any);

// How inputs are quantised for such panels.
QuantizedRows input_form(const Exec& exec, const PanelLayout& layout, float floor);

// Kernel side.
struct MatmulTask {
  const Matrix* weight;
  const float* x;
  std::size_t rows, cols;
  const QuantizedRows* quantized;
  float* y;
  const float* bias;
  std::byte* scratch = nullptr;  // MatmulKernels::scratch_bytes, if any
  // of x, where its products with short weights may be fused; null: they are not looked at
  const ValueBits* input_bits = nullptr;
};
using PanelKernel = void (*)(const MatmulTask&, std::size_t begin, std::size_t end);
struct MatmulKernels {
  // Panels [begin, end) of the weight for all rows of x, by PanelKind.
  PanelKernel panels[kNumPanelKinds];
  // True where int16 inputs meet the layouts of PanelLayout::may_take_words() as they are, without digits.
  bool prefers_words;
  // True where several rows of inputs are laid out in pairs.
  bool takes_pairs;
  // Rows from which inputs that have scales by block are laid out for tiles, too; 0: never.
  std::size_t tile_rows;
  // Panels that tiles take side by side, and the memory of a thread for them.
  std::size_t tile_panels, scratch_bytes;
  // Quantises row r of x.
  void (*quantize_row)(const float* x, std::size_t cols, std::size_t row, const QuantizedRows& out);
};

}  // namespace loom
