#include <algorithm>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/gemm/column_sums.wgsl.h"
#include "ops/gemm/gemm.h"
#include "ops/gemm/gemm.wgsl.h"
#include "ops/gemm/lay_out.wgsl.h"

namespace loom::gpu {

namespace {

struct Right {
  Operand at;
  std::size_t panel_words = 0;  // it lies in panels
  const void* bias = nullptr;
};

void multiply_tiles(const Exec& exec, const Operand& a, const Right& b, std::size_t k, Tensor c, Into into,
                    std::size_t block) {
  constexpr std::size_t kManyTiles = 128;  // that keep a card busy; fewer are made smaller
  const auto tiles = [&](std::size_t side) { return ceil_div(c.rows, 4 * side) * ceil_div(c.cols, 4 * side); };
  const std::size_t side = tiles(16) >= kManyTiles ? 16 : 8;
  exec.gpu()->record(exec,
                     Kernel("gemm", wgsl::gemm, static_cast<std::uint32_t>(side * side))
                         .reads("a", a.data)
                         .reads("b", b.at.data)
                         .reads("bias", b.bias == nullptr ? a.data : b.bias)
                         .updates("c", c.data)
                         .number("m", c.rows)
                         .number("n", c.cols)
                         .number("k", k)
                         .number("block", std::max<std::size_t>(1, block == 0 || into == Into::Partial ? k : block))
                         .number("a_row", a.row_stride)
                         .number("a_col", a.col_stride)
                         .number("b_row", b.at.row_stride)
                         .number("b_col", b.at.col_stride)
                         .fixed("side", side)
                         .fixed("panel_words", b.panel_words)
                         .fixed("has_bias", b.bias != nullptr)
                         .fixed("into", static_cast<std::size_t>(into)),
                     tiles(side));
}

}  // namespace

void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into, std::size_t block) {
  multiply_tiles(exec, a, {.at = b}, k, c, into, block);
}

void gemm_panels(const Exec& exec, ConstTensor x, const void* panels, std::size_t panel_words, const void* bias,
                 Tensor y) {
  multiply_tiles(exec, Operand::of(x), {.at = {panels, 0, 0}, .panel_words = panel_words, .bias = bias}, x.cols, y,
                 Into::Store, 0);
}

void lay_out(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n, float* rows) {
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
