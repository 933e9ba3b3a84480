#include "ops/matmul/matmul.h"

#include "core/checked.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {
namespace {

// Row panels read x in one form, byte panels and narrower block panels in one for each group size.
constexpr std::size_t kForms = 7;
std::size_t form_index(const PanelLayout& layout) {
  if (traits(layout.kind).sums_rows()) return 0;
  const std::size_t group = layout.group_blocks() == 1 ? 0 : layout.group_blocks() == 2 ? 1 : 2;
  return 1 + 2 * group + (traits(layout.kind).code_bits == 8 ? 1 : 0);
}

QuantizedRows quantize(const Exec& exec, ConstTensor x, const PanelLayout& layout, float floor) {
  QuantizedRows q;
  q.blocks = ceil_div(x.cols, kBlockCols);
  if (traits(layout.kind).sums_rows()) {
    q.scale_cols = 0, q.floor = floor;
  } else {
    q.scale_cols = layout.group_blocks() * kBlockCols;
    if (exec.activations == Activations::int16) q.form = traits(layout.kind).code_bits == 8 ? InputForm::Words : InputForm::Digits;
  }
  q.data = exec.arena.take<QuantizedBlock>(x.rows * q.blocks);
  for_rows(exec, x.rows, x.cols, [&](std::size_t row) { exec.kernels.matmul.quantize_row(x.row(row), x.cols, row, q); });
  return q;
}

}  // namespace

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs) {
  const ArenaScope scope(exec.arena);
  QuantizedRows inputs[kForms];
  std::size_t panels = 0, bytes = 0;
  for (const MatmulJob& job : jobs) {
    LOOM_ASSERT(job.weight->cols() == x.cols && job.y.cols == job.weight->rows() && job.y.rows == x.rows);
    panels += job.weight->panels();
    bytes += job.weight->panels() * job.weight->panel_bytes();
    if (!job.weight->layout().quantises_input()) continue;
    QuantizedRows& q = inputs[form_index(job.weight->layout())];
    if (q.data == nullptr) q = quantize(exec, x, job.weight->layout(), job.input_floor);
  }
  const auto run_panels = [&](std::size_t begin, std::size_t end) {
    for (const MatmulJob& job : jobs) {
      const std::size_t n = job.weight->panels();
      if (begin < n && begin < end) {
        const PanelKind kind = job.weight->layout().kind;
        const MatmulTask task{job.weight, x.as(), x.rows, x.cols, &inputs[form_index(job.weight->layout())], job.y.as(), job.bias};
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
  exec.run(parts, [&](std::size_t part) { run_panels(part * panels / parts, (part + 1) * panels / parts); });
}

}  // namespace loom
