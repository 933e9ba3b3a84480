#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/gemm/column_sums.wgsl.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm.wgsl.h"
#include "ops/gemm/lay_out.wgsl.h"

namespace loom::gpu {

void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into, std::size_t block) {
  exec.gpu()->record(exec,
                     Kernel("gemm", wgsl::gemm, 256)
                         .reads("a", a.data)
                         .reads("b", b.data)
                         .updates("c", c.data)
                         .number("m", c.rows)
                         .number("n", c.cols)
                         .number("k", k)
                         .number("block", std::max<std::size_t>(1, block == 0 || into == Into::Partial ? k : block))
                         .number("a_row", a.row_stride)
                         .number("a_col", a.col_stride)
                         .number("b_row", b.row_stride)
                         .number("b_col", b.col_stride)
                         .fixed("into", static_cast<std::size_t>(into)),
                     ceil_div(c.rows, 64) * ceil_div(c.cols, 64));
}

PackedOperand pack(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n) {
  float* const rows = exec.arena.take<float>(parts.size() * k * n);
  for (std::size_t i = 0; i < parts.size(); ++i)
    exec.gpu()->record(exec,
                       Kernel("lay_out", wgsl::lay_out)
                           .reads("from", parts[i].data)
                           .writes("to", rows)
                           .number("first", i * k * n)
                           .number("elements", k * n)
                           .number("cols", n)
                           .number("row_stride", parts[i].row_stride)
                           .number("col_stride", parts[i].col_stride),
                       ceil_div(k * n, Kernel::kThreads));
  return {rows, parts.size() * k, n};
}

void add_column_sums(const Exec& exec, ConstTensor x, std::size_t block, void* c) {
  exec.gpu()->record(exec,
                     Kernel("column_sums", wgsl::column_sums)
                         .reads("x", x.data)
                         .updates("c", c)
                         .number("rows", x.rows)
                         .number("cols", x.cols)
                         .number("block", block == 0 ? x.rows : block),
                     ceil_div(x.cols, Kernel::kThreads));
}

}  // namespace loom::gpu
