#include "ops/decide/decide.h"

#include "ops/all.h"
#include "ops/decide/decide_gpu.h"
#include "ops/dispatch.h"
#include "ops/for_rows.h"

namespace loom {

void decide(const Exec& exec, Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
            void* y) {
  LOOM_ASSERT(!inputs.empty() && inputs.size() <= 3 && dims.size() <= kFormulaAxes);
  for (const Exec& host : dispatch(exec, [&] { gpu::decide(exec, how, inputs, dims, y); })) {
    std::size_t n = 1;
    for (const std::size_t d : dims) n *= d;
    for_elements(host, n, [&](std::size_t first, std::size_t count) {
      host.kernels.formula.f32.decide(how, inputs, dims, first, count, static_cast<std::uint32_t*>(y));
    });
  }
}

}  // namespace loom
