#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/decide/decide_gpu.h"
#include "ops/decide/decide.wgsl.h"
#include "ops/formula/places.wgsl.h"

namespace loom::gpu {

void decide(const Exec& exec, Decision how, std::span<const FormulaInput> inputs, std::span<const std::size_t> dims,
            void* y) {
  std::array<std::uint32_t, 4 * kFormulaAxes> axes{};
  const std::size_t rank = dims.size();
  std::size_t elements = 1;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    axes[axis] = static_cast<std::uint32_t>(dims[axis]);
    elements *= dims[axis];
    for (std::size_t k = 0; k < inputs.size(); ++k)
      axes[(k + 1) * rank + axis] = static_cast<std::uint32_t>(inputs[k].strides[axis]);
  }
  const auto input = [&](std::size_t k) { return inputs[std::min(k, inputs.size() - 1)].data; };
  const std::size_t words = std::max<std::size_t>(1, (inputs.size() + 1) * rank);
  static const std::string body = joined({wgsl::places, wgsl::decide});
  exec.gpu()->record(exec,
                     Kernel("decide", body)
                         .reads("a", input(0))
                         .reads("b", input(1))
                         .reads("c", input(2))
                         .reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(axes).first(words)))
                         .writes("y", y)
                         .number("elements", elements)
                         .fixed("how", static_cast<std::size_t>(how))
                         .fixed("rank", rank),
                     ceil_div(elements, Kernel::kThreads));
}

}  // namespace loom::gpu
