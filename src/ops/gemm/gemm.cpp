#include "ops/gemm/gemm.h"

#include <algorithm>

#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"
#include "ops/gemm/gemm_gpu.h"
#include "ops/slices/slices.h"
#include "ops/until_cancelled.h"
#include "simd/orders.h"

namespace loom {
namespace {

// a with rows close enough to be read side by side: few columns of a transposed one stay in the cache, more are copied.
template <class T>
Operand rows_of(const Exec& exec, const Operand& a, std::size_t m, std::size_t k) {
  constexpr std::size_t kTile = 64;  // terms at a time: contiguous elements of a are read together
  if (a.col_stride == 1 || k <= kTile) return a;
  T* rows = exec.arena.take<T>(m * k);
  for_ranges_until_cancelled(exec, (k + kTile - 1) / kTile, kTile * m, [&](std::size_t begin, std::size_t end) {
    const std::size_t first = begin * kTile, count = std::min(end * kTile, k) - first;
    exec.kernels.gemm.of<T>().lay_out(static_cast<const T*>(a.data) + first * a.col_stride, a.row_stride, a.col_stride,
                                      m, count, rows + first, k);
  });
  return {rows, k, 1};
}

template <class T>
PackedOperand pack_of(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n) {
  const std::size_t panels = (n + 15) / 16, all = parts.size() * k;
  T* packed = exec.arena.take<T>(panels * all * 16);
  for_ranges_until_cancelled(exec, panels, all * 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t p = begin; p < end; ++p)
      for (std::size_t i = 0; i < parts.size(); ++i)
        pack_panel(exec, static_cast<const T*>(parts[i].data) + p * 16 * parts[i].col_stride, parts[i].row_stride,
                   parts[i].col_stride, k, std::min<std::size_t>(16, n - p * 16), packed + (p * all + i * k) * 16);
  });
  return {packed, all, n};
}

// Whether the target has fused instructions that give the same bits, where a look at all numbers costs little beside
// their products. A running total is not snapped, so its NaN could show how it was made.
bool may_fuse(const Exec& exec, const Operand& a, const PackedOperand& b, std::size_t m, Into into, FactorKind values) {
  constexpr std::size_t kWorthLooking = 32;  // products of each number
  const bool is_worth = m >= kWorthLooking && b.n >= kWorthLooking;
  if (values == FactorKind::Any || into == Into::Partial || !is_worth || exec.rehearsal() ||
      exec.kernels.gemm.of<float>().fused_panels == nullptr || (a.col_stride != 1 && a.row_stride != 1))
    return false;
  const auto* const numbers = static_cast<const float*>(a.data);
  const NumberRows rows =
      a.col_stride == 1 ? NumberRows{numbers, m, b.k, a.row_stride} : NumberRows{numbers, b.k, m, a.col_stride};
  const std::size_t of_panel = b.k * 16;
  return are_products_exact(exec, rows, {static_cast<const float*>(b.panels), (b.n + 15) / 16, of_panel, of_panel});
}

template <class T>
void gemm_of(const Exec& exec, const Operand& a, const PackedOperand& b, Tensor c, Into into, std::size_t block,
             FactorKind values) {
  const ArenaScope scope(exec.arena);
  const GemmKernels<T>& kernels = exec.kernels.gemm.of<T>();
  const std::size_t m = c.rows, n = c.cols, k = b.k, panels = (n + 15) / 16;
  const Operand rows = rows_of<T>(exec, a, m, k);
  const GemmTask<T> task{static_cast<const T*>(rows.data),
                         rows.row_stride,
                         rows.col_stride,
                         static_cast<const T*>(b.panels),
                         m,
                         n,
                         k,
                         std::max<std::size_t>(1, block == 0 ? k : block),
                         c.as<T>(),
                         into};
  auto kernel = kernels.panels;
  if constexpr (std::is_same_v<T, float>)
    if (may_fuse(exec, rows, b, m, into, values)) kernel = kernels.fused_panels;
  // Bands of rows that keep a panel's chunk in the first-level cache, times groups of panels.
  constexpr std::size_t kBand = 96;
  const std::size_t bands = (m + kBand - 1) / kBand;
  const std::size_t each = std::max<std::size_t>(4, items_per_look(16 * k));  // rows, which share a pass over a panel
  for_ranges_until_cancelled(
      exec, panels * bands, k * 16 * std::min(kBand, m) / kTermsOfElement + 1, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end;) {
          const std::size_t band = i / panels, first = i % panels, last = std::min(panels, first + end - i);
          const std::size_t stop = std::min(m, (band + 1) * kBand);
          for (std::size_t row = band * kBand; row < stop && !is_cancelled(exec); row += each)
            kernel(task, first, last, row, std::min(each, stop - row));
          i += last - first;
        }
      });
}

// So few rows, or so few terms, that packing b would cost more than it saves. Chains that end up added to c, longer
// than one block, are left to panels: they have totals of their own.
bool is_direct(const Operand& b, std::size_t m, std::size_t k, Into into, std::size_t block) {
  const bool one_total = block == 0 ? into == Into::Store || k <= kChain : std::min(block, k) <= kChain;
  return b.col_stride == 1 && (m <= 4 || k <= 4) && into != Into::Partial && one_total;
}

template <class T>
void direct_gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into,
                 std::size_t block) {
  const std::size_t m = c.rows, n = c.cols;
  const DirectGemmTask<T> task{static_cast<const T*>(a.data),
                               a.row_stride,
                               a.col_stride,
                               static_cast<const T*>(b.data),
                               b.row_stride,
                               n,
                               k,
                               block == 0 || block > kChain ? kChain : block,
                               block != 0,
                               c.as<T>(),
                               into};
  constexpr std::size_t kColumns = 96;
  if (m <= 4)
    for_ranges_until_cancelled(
        exec, (n + kColumns - 1) / kColumns, k * kColumns * m / 4 + 1, [&](std::size_t begin, std::size_t end) {
          exec.kernels.gemm.of<T>().direct(task, 0, m, begin * kColumns, std::min(end * kColumns, n));
        });
  else
    for_ranges_until_cancelled(exec, m, n, [&](std::size_t begin, std::size_t end) {
      exec.kernels.gemm.of<T>().direct(task, begin, end - begin, 0, n);
    });
}

}  // namespace

template <class T>
void pack_panel(const Exec& exec, const T* b, std::size_t row_stride, std::size_t col_stride, std::size_t k,
                std::size_t n, T* panel) {
  exec.kernels.gemm.of<T>().pack(b, row_stride, col_stride, k, n, panel);
}

template void pack_panel(const Exec&, const float*, std::size_t, std::size_t, std::size_t, std::size_t, float*);
template void pack_panel(const Exec&, const double*, std::size_t, std::size_t, std::size_t, std::size_t, double*);

void gemm(const Exec& exec, const Operand& a, const Operand& b, std::size_t k, Tensor c, Into into, std::size_t block,
          FactorKind values) {
  for (const Exec& host : dispatch(exec, [&] { gpu::gemm(exec, a, b, k, c, into, block); })) {
    const ArenaScope scope(host.arena);
    if (is_direct(b, c.rows, k, into, block))
      return with_element(c.element, [&]<class T>() { direct_gemm<T>(host, a, b, k, c, into, block); });
    gemm(host, a, pack(host, {&b, 1}, k, c.cols, c.element), c, into, block, values);
  }
}

// A graphics card has them as rows, one part below the other.
static const float* lay_out(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n) {
  float* const rows = exec.arena.take<float>(parts.size() * k * n);
  for (const Exec& host : dispatch(exec, [&] { gpu::lay_out(exec, parts, k, n, rows); }))
    for (std::size_t i = 0; i < parts.size(); ++i)
      host.run(1, [&](std::size_t) {
        host.kernels.slices.of<float>().move({k, n}, static_cast<const float*>(parts[i].data),
                                             {.stride = parts[i].row_stride, .step = parts[i].col_stride},
                                             rows + i * k * n, {.stride = n});
      });
  return rows;
}

PackedOperand pack(const Exec& exec, std::span<const Operand> parts, std::size_t k, std::size_t n, Element element) {
  if (exec.records()) return {lay_out(exec, parts, k, n), parts.size() * k, n};
  return with_element(element, [&]<class T>() { return pack_of<T>(exec, parts, k, n); });
}

void gemm(const Exec& exec, const Operand& a, const PackedOperand& b, Tensor c, Into into, std::size_t block,
          FactorKind values) {
  if (exec.records()) return gemm(exec, a, Operand{b.panels, b.n, 1}, b.k, c, into, block);
  with_element(c.element, [&]<class T>() { gemm_of<T>(exec, a, b, c, into, block, values); });
}

Operand laid_out(const Exec& exec, const Operand& a, std::size_t m, std::size_t k, Element element) {
  return with_element(element, [&]<class T>() { return rows_of<T>(exec, a, m, k); });
}

void add_column_sums(const Exec& exec, ConstTensor x, std::size_t block, void* c) {
  for (const Exec& host : dispatch(exec, [&] { gpu::add_column_sums(exec, x, block, c); }))
    with_element(x.element, [&]<class T>() {
      constexpr std::size_t kColumns = 64;
      for_ranges(host, (x.cols + kColumns - 1) / kColumns, x.rows * kColumns, [&](std::size_t begin, std::size_t end) {
        const std::size_t first = begin * kColumns, n = std::min(end * kColumns, x.cols) - first;
        host.kernels.gemm.of<T>().column_sums(x.as<T>() + first, x.cols, x.rows, block == 0 ? x.rows : block, n,
                                              static_cast<T*>(c) + first);
      });
    });
}

}  // namespace loom
