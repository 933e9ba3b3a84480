// Products of several rows of inputs with codes by instructions that multiply two vectors of inputs at once
// (kHasPairs). All else is the work of the target that this is a variant of.

#include <utility>

#include "ops/matmul/code_panels.h"
#include "ops/matmul/quantize_row.h"

namespace loom::LOOM_BASE {  // NOLINT(readability-identifier-naming)
extern const MatmulKernels matmul_kernels;
}  // namespace loom::LOOM_BASE

namespace loom::inline LOOM_TARGET {
namespace {

static_assert(kHasPairs);

template <std::size_t Kind>
void panels(const MatmulTask& task, std::size_t first, std::size_t last) {
  if constexpr (constexpr PanelKernel kKernel = code_kernel_of(static_cast<PanelKind>(Kind)); kKernel != nullptr)
    if (task.quantized->in_pairs) return kKernel(task, first, last);
  LOOM_BASE::matmul_kernels.panels[Kind](task, first, last);
}

constexpr MatmulKernels kernels() {
  MatmulKernels table{.panels = {},
                      .prefers_words = kPrefersWords,
                      .takes_pairs = true,
                      .tile_rows = 0,
                      .tile_panels = 1,
                      .scratch_bytes = 0,
                      .quantize_row = quantize_row};
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((table.panels[I] = panels<I>), ...);
  }(std::make_index_sequence<kNumPanelKinds>());
  return table;
}

}  // namespace

extern const MatmulKernels matmul_kernels;
constinit const MatmulKernels matmul_kernels = kernels();

}  // namespace loom::inline LOOM_TARGET
