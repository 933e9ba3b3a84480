#pragma once
// Products of two plain matrices, f32 or f64, for backward passes and f64 networks.
//   c[m, n] = sum_k a[m, k] b[k, n] by chain64 over k
// Strides of an operand may be any, so that a transposed matrix is read in place. Gradients of weights sum over
// samples (numerics N-05): with `block` > 0 the rows k are cut into runs of `block`, each run is one chain64, and c =
// snap(c + run) for each, ascending.

#include <span>

#include "backend/exec.h"
#include "ops/gemm/exact_products.h"

namespace loom {

struct Operand {
  const void* data = nullptr;
  std::size_t row_stride = 0, col_stride = 1;  // elements

  static Operand of(ConstTensor t) { return {t.data, t.cols, 1}; }
  static Operand transposed(ConstTensor t) { return {t.data, 1, t.cols}; }
};

enum class Into : std::uint8_t {
  Store,    // c = snap(chain)
  Add,      // c = snap(c + chain), per block when one is given
  Partial,  // c is a chain's running total: blocks of kChain are added to it as they come, nothing is snapped
};

// Numbers of the operands. Rounded: mixed precision may have rounded both, so it pays to look whether their products
// are exact; then fused instructions compute them, with the same bits.
enum class FactorKind : std::uint8_t { Any, Rounded };

// c [m, n] from a [m, k] and b [k, n]; `k` counts the reduced index.
void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into = Into::Store,
          std::size_t block = 0, FactorKind values = FactorKind::Any);

// b packed once for many products.
struct PackedOperand {
  const void* panels = nullptr;
  std::size_t k = 0, n = 0;
};
// Matrices of [k, n] each, one below the other: their product with a [m, parts * k] is one chain. Stored in the arena.
PackedOperand pack(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n, Element element);
void gemm(const Exec& exec, const Operand& a, const PackedOperand& b, Tensor c, Into into = Into::Store,
          std::size_t block = 0, FactorKind values = FactorKind::Any);
// a [m, k] as products read it, for several of them: itself, or a copy in the arena where gemm() would make one.
Operand laid_out(const Exec& exec, const Operand& a, std::size_t m, std::size_t k, Element element);

// One panel [k][16] of b [k, n], n <= 16; columns from n on are 0.
template <class T>
void pack_panel(const Exec& exec, const T* b, std::size_t row_stride, std::size_t col_stride, std::size_t k,
                std::size_t n, T* panel);

// c[n] = snap(c[n] + sum_r x[r, n]), chain64 over the rows, per block of rows (0: all): gradients of biases.
void add_column_sums(const Exec& exec, ConstTensor x, std::size_t block, void* c);

template <class T>
struct GemmTask {
  const T* a;  // [m, k]: element (r, i) at r * a_row + i * a_step
  std::size_t a_row, a_step;
  const T* panels;  // b as panels of 16 columns: [panel][k][16]
  std::size_t m, n, k, block;
  T* c;
  Into into;
};
// b in place, its rows contiguous.
template <class T>
struct DirectGemmTask {
  const T* a;
  std::size_t a_row, a_step;
  const T* b;
  std::size_t b_row;
  std::size_t n, k;
  std::size_t block;  // at most kChain terms that are added to the total at a time
  bool snaps;         // the total is snapped after each
  T* c;
  Into into;
};
template <class T>
struct GemmKernels {
  // Panels [begin, end) for rows [row, row + rows).
  void (*panels)(const GemmTask<T>&, std::size_t begin, std::size_t end, std::size_t row, std::size_t rows);
  // Like `panels`, for products that are exact in f32; null where the target has no fused instructions, and in f64.
  void (*fused_panels)(const GemmTask<T>&, std::size_t begin, std::size_t end, std::size_t row, std::size_t rows);
  // Columns [begin, end) for rows [row, row + rows).
  void (*direct)(const DirectGemmTask<T>&, std::size_t row, std::size_t rows, std::size_t begin, std::size_t end);
  // One panel, n <= 16.
  void (*pack)(const T* b, std::size_t row_stride, std::size_t col_stride, std::size_t k, std::size_t n, T* panel);
  // to[r * to_row + c] = from[r * row_stride + c * col_stride]
  void (*lay_out)(const T* from, std::size_t row_stride, std::size_t col_stride, std::size_t rows, std::size_t cols,
                  T* to, std::size_t to_row);
  // Adds n numbers to `bits`; null in f64.
  void (*add_bits)(const T* x, std::size_t n, ValueBits& bits);
  // n columns
  void (*column_sums)(const T* x, std::size_t stride, std::size_t rows, std::size_t block, std::size_t n, T* c);
};

}  // namespace loom
