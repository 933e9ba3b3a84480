#include "ops/decide/decide.h"

#include "backend/webgpu/call.h"
#include "ops/all.h"
#include "ops/for_rows.h"

namespace loom {

void decide(const Exec& exec, Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
            void* y) {
  LOOM_ASSERT(!inputs.empty() && inputs.size() <= 3 && dims.size() <= kFormulaAxes);
  const gpu::Call call(exec, [&] { gpu::decide(exec, how, inputs, dims, y); });
  if (call.is_done()) return;
  std::size_t n = 1;
  for (const std::size_t d : dims) n *= d;
  for_elements(exec, n, [&](std::size_t first, std::size_t count) {
    exec.kernels.formula.f32.decide(how, inputs, dims, first, count, static_cast<std::uint32_t*>(y));
  });
}

}  // namespace loom
