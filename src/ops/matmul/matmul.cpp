#include "ops/matmul/matmul.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "dtypes/panel_pages.h"
#include "ops/all.h"
#include "ops/dispatch.h"
#include "ops/matmul/matmul_gpu.h"
#include "ops/until_cancelled.h"

namespace loom {

QuantizedRows input_form(const Exec& exec, const PanelLayout& layout, float floor) {
  QuantizedRows q;
  const bool sums_rows = traits(layout.kind).sums_rows();
  if (layout.input_scales() == PanelScales::ByRow) {
    q.scale_cols = 0, q.floor = floor, q.splits_scale = !sums_rows;
    return q;
  }
  q.scale_cols = layout.input_blocks() * kBlockCols;
  if (!sums_rows && layout.own_input_scales == PanelScales::None && exec.activations == Activations::int16) {
#if defined(__wasm__)
    const bool may_take_words = true;  // kAlwaysTakesWords of ops/matmul/code_panels.h
#else
    const bool may_take_words = layout.may_take_words();
#endif
    const bool takes_words = may_take_words && exec.kernels.matmul.prefers_words;
    q.form = traits(layout.kind).code_bits == 8 || takes_words ? InputForm::Words : InputForm::Digits;
  }
  return q;
}

namespace {

// The forms to which x can be quantised are twelve at most: codes for each span of scales and of weights, digits and
// words for groups of 32, 64 and 128 columns.
constexpr std::size_t kForms = 12;

// Whether rows of this form are laid out for tiles: what shares a scale, and so a sum, is a block at most.
bool has_tiles(const Exec& exec, std::size_t rows, const QuantizedRows& q) {
  const std::size_t least = exec.kernels.matmul.tile_rows;
  return least != 0 && rows >= least && (q.scale_cols == 0 ? q.splits_scale : q.scale_cols <= kBlockCols);
}

// Memory of kernels, by cache lines.
struct alignas(64) Scratch {
  std::byte bytes[64];
};

// x in every form that the weights of a call ask for, each once.
struct QuantizedInputs {
  QuantizedRows forms[kForms];
  std::size_t count = 0;

  QuantizedRows* find(const QuantizedRows& like) {
    for (std::size_t i = 0; i < count; ++i)
      if (forms[i].form == like.form && forms[i].scale_cols == like.scale_cols &&
          forms[i].splits_scale == like.splits_scale)
        return &forms[i];
    return nullptr;
  }
  void add(const Exec& exec, ConstTensor x, QuantizedRows q) {
    LOOM_ASSERT(count < kForms);
    q.blocks = ceil_div(x.cols, kBlockCols);
    // The codes of an odd last row fill half of an instruction, so three rows take more instructions than singly.
    q.in_pairs = exec.kernels.matmul.takes_pairs && x.rows >= (q.form == InputForm::Codes ? 4 : 2);
    q.data = exec.arena.take<QuantizedBlock>(x.rows * q.blocks);
    if (q.splits_scale) q.row_scales = exec.arena.take<float>(x.rows);
    if (has_tiles(exec, x.rows, q)) {
      // Rows beyond the last are not written: nobody reads their sums.
      constexpr std::size_t kRows = 16;
      q.tiles = exec.arena.take<TileInputs>(ceil_div(x.rows, kRows) * q.blocks);
    }
    for_rows(exec, x.rows, x.cols,
             [&](std::size_t row) { exec.kernels.matmul.quantize_row(x.row(row), x.cols, row, q); });
    forms[count++] = q;
  }
  bool have_tiles() const {
    return std::any_of(forms, forms + count, [](const QuantizedRows& q) { return q.tiles != nullptr; });
  }
};

// Panels that a kernel takes in one call for so many rows, and rows that share a pass over the panels: all, or with a
// look at cancel between them only where that is long. Tiles take panels side by side and are faster; fewer than a
// batch of their rows would decode the weights once more.
std::size_t panels_at_once(const Exec& exec, std::size_t panels, std::size_t rows, std::size_t cols) {
  if (exec.cancel == nullptr) return panels;
  const std::size_t least = exec.kernels.matmul.tile_panels;
  return std::max(least, items_per_look(kPanelRows * rows * cols) / least * least);
}
std::size_t rows_at_once(const Exec& exec, ConstTensor x) {
  const std::size_t panels = exec.kernels.matmul.tile_panels, least = panels > 1 ? 256 : 64;
  return exec.cancel == nullptr ? x.rows : std::max(least, items_per_look(kPanelRows * x.cols));
}

// Holds the panels of the weights of a call (dtypes/panel_pages.h), unless it is a rehearsal.
class HeldWeights {
 public:
  HeldWeights(const Exec& exec, std::span<const MatmulJob> jobs) : jobs_(exec.rehearsal() ? jobs.first(0) : jobs) {
    for (; held_ < jobs_.size(); ++held_)
      if (PanelPages* const pages = jobs_[held_].weight->pages(); pages != nullptr)
        if (auto held = pages->hold(); !held) {
          if (!exec.status) exec.status = std::move(held).error();
          return;
        }
  }
  HeldWeights(const HeldWeights&) = delete;
  HeldWeights& operator=(const HeldWeights&) = delete;
  ~HeldWeights() {
    for (const MatmulJob& job : jobs_.first(held_))
      if (job.weight->pages() != nullptr) job.weight->pages()->drop();
  }

  bool are_all() const { return held_ == jobs_.size(); }

 private:
  std::span<const MatmulJob> jobs_;
  std::size_t held_ = 0;
};

// Codes of f16, bf16 and fp8, which have at most 11 significant bits.
bool has_short_floats(const MatmulJob& job) {
  const PanelKind kind = job.weight->layout().kind;
  return kind == PanelKind::Float16 || kind == PanelKind::BFloat16 || kind == PanelKind::Fp8E4M3 ||
         kind == PanelKind::Fp8E5M2;
}

// Whether products of x with the weights of a job may be exact, by the bits of x; the kernels look at the weights.
bool may_fuse(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs, ValueBits& bits) {
  constexpr std::size_t kWorthLooking = 32;  // products of each number
  if (exec.rehearsal() || x.rows < kWorthLooking || exec.kernels.gemm.of<float>().fused_panels == nullptr) return false;
  if (std::ranges::none_of(jobs, has_short_floats)) return false;
  constexpr ValueBits kShortest{.any = 0, .least = 0x7f000000, .most = 0};
  const NumberRows rows{x.as(), x.rows, x.cols, x.cols};
  if (!are_products_exact(sample_of(exec, rows), kShortest)) return false;
  bits = bits_of(exec, rows, kShortest);
  return are_products_exact(bits, kShortest);
}

void matmul_rows(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs, FactorKind values) {
  const ArenaScope scope(exec.arena);
  QuantizedInputs inputs;
  std::size_t panels = 0, bytes = 0, outputs = 0;
  for (const MatmulJob& job : jobs) {
    LOOM_ASSERT(job.weight->cols() == x.cols && job.y.cols == job.weight->rows() && job.y.rows == x.rows);
    panels += job.weight->panels(), outputs += job.weight->rows();
    bytes += job.weight->panels() * job.weight->panel_bytes();
    if (!job.weight->layout().quantises_input()) continue;
    const QuantizedRows form = input_form(exec, job.weight->layout(), job.input_floor);
    if (inputs.find(form) == nullptr) inputs.add(exec, x, form);
  }
  const std::size_t threads = static_cast<std::size_t>(exec.pool.threads()),
                    scratch_bytes = inputs.have_tiles() ? exec.kernels.matmul.scratch_bytes : 0;
  auto* const scratch =
      reinterpret_cast<std::byte*>(exec.arena.take<Scratch>(threads * scratch_bytes / sizeof(Scratch)));
  ValueBits bits;
  const bool looks = values == FactorKind::Rounded && may_fuse(exec, x, jobs, bits);
  const auto run_panels = [&](std::size_t begin, std::size_t end, int worker) {
    for (const MatmulJob& job : jobs) {
      const std::size_t n = job.weight->panels();
      if (begin < n && begin < end) {
        const PanelKind kind = job.weight->layout().kind;
        const QuantizedRows* const quantized = inputs.find(input_form(exec, job.weight->layout(), job.input_floor));
        const MatmulTask task{.weight = job.weight,
                              .x = x.as(),
                              .rows = x.rows,
                              .cols = x.cols,
                              .quantized = quantized,
                              .y = job.y.as(),
                              .bias = job.bias,
                              .scratch = scratch + static_cast<std::size_t>(worker) * scratch_bytes,
                              .input_bits = looks ? &bits : nullptr};
        const std::size_t stop = end < n ? end : n, each = panels_at_once(exec, n, x.rows, x.cols);
        for (std::size_t first = begin; first < stop && !is_cancelled(exec); first += each)
          exec.kernels.matmul.panels[static_cast<std::size_t>(kind)](task, first, std::min(first + each, stop));
      }
      begin = begin > n ? begin - n : 0;
      end = end > n ? end - n : 0;
    }
  };
  // Enough parts to even out the threads, none so small that taking it costs more than running it; all in one where
  // they take less time than waking the workers.
  const std::size_t work = bytes * x.rows / 16384 + 1;
  const bool is_short = bytes < 65536 && x.rows * x.cols * outputs < kWorthSharing * kTermsOfElement;
  std::size_t parts = is_short ? 1 : threads * 4;
  if (inputs.have_tiles()) {  // as many for each thread, and panels side by side in each
    const std::size_t of_thread = panels / (threads * exec.kernels.matmul.tile_panels);
    parts = std::min(parts, threads * std::max<std::size_t>(1, of_thread));
  }
  parts = parts < work ? parts : work;
  parts = parts < panels ? parts : panels;
  exec.run(parts, [&](std::size_t part, int worker) {
    run_panels(part * panels / parts, (part + 1) * panels / parts, worker);
  });
}

}  // namespace

void matmul(const Exec& exec, ConstTensor x, std::span<const MatmulJob> jobs, FactorKind values) {
  for (const Exec& host : dispatch(exec, [&] { gpu::matmul(exec, x, jobs); })) {
    const HeldWeights held(host, jobs);
    if (!held.are_all()) return;
    const std::size_t each = rows_at_once(host, x);
    if (x.rows <= each) {
      matmul_rows(host, x, jobs, values);
    } else {
      for (std::size_t first = 0; first < x.rows && !is_cancelled(host); first += each)
        for (const MatmulJob& job : jobs) {
          const std::size_t rows = std::min(each, x.rows - first);
          matmul_rows(
              host, {x.row(first), rows, x.cols},
              std::array{MatmulJob{job.weight, {job.y.row(first), rows, job.y.cols}, job.bias, job.input_floor}},
              values);
        }
    }
    keep_cancel(host);
  }
}

}  // namespace loom
