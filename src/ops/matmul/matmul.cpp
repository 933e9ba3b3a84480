#include "ops/matmul/matmul.h"

#include "core/checked.h"
#include "ops/all.h"

namespace loom {
namespace {

QuantizedRows take_quantized(Arena& arena, std::size_t rows, std::size_t cols, bool by_row, bool wide) {
  QuantizedRows q;
  q.rows = rows;
  q.blocks = ceil_div(cols, kBlockCols);
  q.by_row = by_row;
  const std::size_t blocks = rows * q.blocks;
  q.codes = arena.take<std::int8_t>(blocks * kBlockCols);
  q.scales = arena.take<float>(blocks);
  q.sums = arena.take<std::int32_t>(blocks);
  q.sums16 = arena.take<std::int32_t>(blocks * 2);
  q.scaled = arena.take<float>(blocks);
  q.scaled16 = arena.take<float>(blocks * 2);
  if (wide) {
    q.low_codes = arena.take<std::int8_t>(blocks * kBlockCols);
    q.low_sums = arena.take<std::int32_t>(blocks);
    q.low_sums16 = arena.take<std::int32_t>(blocks * 2);
  }
  return q;
}

QuantizedRows quantize(const Exec& exec, ConstTensor x, bool by_row) {
  const QuantizedRows q = take_quantized(exec.arena, x.rows, x.cols, by_row, !by_row && exec.activations == Activations::int16);
  const auto one = [&](std::size_t row) { exec.kernels.matmul.quantize_row(x.row(row), x.cols, row, q); };
  if (x.rows < 8) {
    for (std::size_t row = 0; row < x.rows; ++row) one(row);  // waking the workers would take longer
  } else {
    exec.pool.run(x.rows, one);
  }
  return q;
}

}  // namespace

std::size_t matmul_scratch_bytes(std::size_t rows, std::size_t cols) {
  const std::size_t blocks = ceil_div(cols, kBlockCols);
  return 2 * (rows * blocks * (2 * kBlockCols + 10 * 4) + 9 * 64);  // a group may mix block and row panels
}

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs) {
  const ArenaScope scope(exec.arena);
  QuantizedRows by_block, by_row;
  std::size_t panels = 0, bytes = 0;
  for (const MatmulJob& job : jobs) {
    LOOM_ASSERT(job.weight->cols() == x.cols && job.y.cols == job.weight->rows() && job.y.rows == x.rows);
    panels += job.weight->panels();
    bytes += job.weight->panels() * job.weight->panel_bytes();
    if (!job.weight->layout().quantises_input()) continue;
    const bool row = job.weight->layout().kind == PanelKind::RowBytes;
    QuantizedRows& q = row ? by_row : by_block;
    if (q.codes == nullptr) q = quantize(exec, x, row);
  }
  const auto run_panels = [&](std::size_t begin, std::size_t end) {
    for (const MatmulJob& job : jobs) {
      const std::size_t n = job.weight->panels();
      if (begin < n && begin < end) {
        const PanelKind kind = job.weight->layout().kind;
        const MatmulTask task{job.weight, x.data, x.rows, x.cols, kind == PanelKind::RowBytes ? &by_row : &by_block, job.y.data, job.bias};
        exec.kernels.matmul.panels[static_cast<std::size_t>(kind)](task, begin, end < n ? end : n);
      }
      begin = begin > n ? begin - n : 0;
      end = end > n ? end - n : 0;
    }
  };
  // Enough parts to even out the threads, none so small that taking it costs more than running it.
  const std::size_t work = bytes * x.rows / 16384 + 1;
  std::size_t parts = static_cast<std::size_t>(exec.pool.threads()) * 4;
  parts = parts < work ? parts : work;
  parts = parts < panels ? parts : panels;
  exec.pool.run(parts, [&](std::size_t part) { run_panels(part * panels / parts, (part + 1) * panels / parts); });
}

}  // namespace loom
