#pragma once
// Forms of gemm.h on graphics cards: each records the kernels of the function of its name.

#include "dtypes/panel.h"
#include "ops/gemm/gemm.h"

namespace loom::gpu {

void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into, std::size_t block);
// Many products of one shape: matrix i of an operand begins outer (i / inner) + step (i % inner / share) elements
// after the first.
struct Batch {
  std::size_t outer = 0, step = 0, share = 1;
};
struct EachGemm {
  Operand a;
  Batch of_a = {};
  Operand b;
  Batch of_b = {};
  void* c = nullptr;
  std::size_t c_stride = 0;  // elements from one row to the next
  Batch of_c = {};
  std::size_t m = 0, n = 0, k = 0;
  std::size_t count = 1, inner = 1;
  Into into = Into::Store;
  bool causal = false;  // row r has the terms 0 to r alone
};
void gemm_of_each(const Exec& exec, const EachGemm& products);
void lay_out(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n, float* rows);
// Panels [k][16] of f32, f16 or bfloat16, so many words of 32 bits from one to the next.
struct FloatPanels {
  const void* at;
  std::size_t words;
  PanelKind kind;
};
constexpr bool has_float_panels(PanelKind kind) {
  return kind == PanelKind::Float32 || kind == PanelKind::Float16 || kind == PanelKind::BFloat16;
}
// y = x w (+ bias, unless it is null).
void gemm_panels(const Exec& exec, ConstTensor x, const FloatPanels& w, const void* bias, Tensor y);
void add_column_sums(const Exec& exec, ConstTensor x, std::size_t block, void* c);

}  // namespace loom::gpu
