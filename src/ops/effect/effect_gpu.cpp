#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/chain.wgsl.h"
#include "ops/effect/effect_gpu.h"
#include "ops/effect/effect.wgsl.h"
#include "ops/effect/effect_slopes.wgsl.h"
#include "ops/effect/group.wgsl.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_gpu.h"

namespace loom::gpu {
namespace {

Kernel& with_groups(Effect effect, const RandomStream& stream, std::size_t counted, ConstTensor y0, ConstTensor m,
                    Kernel& kernel) {
  return kernel.reads("y0", y0.data)
      .reads("m", m.data)
      .number("n", y0.rows * y0.cols / m.rows)
      .number("columns", m.cols)
      .number("counted", counted)
      .number("seed_low", stream.seed)
      .number("seed_high", stream.seed >> 32)
      .number("step", stream.step)
      .number("site", stream.site)
      .fixed("domain", static_cast<std::size_t>(stream.domain))
      .fixed("kind", static_cast<std::size_t>(effect));
}

void record_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m,
                   bool backward, Tensor y, std::size_t counted) {
  static const std::string body = joined({wgsl::group, wgsl::effect});
  const ArenaScope scope(exec.arena);
  const Tensor gates = exec.arena.tensor(m.rows, m.cols, m.element);
  if (effect == Effect::Gate) gpu::activate(exec, Activation::Sigmoid, m, gates);
  const std::size_t elements = y0.rows * y0.cols;
  Kernel kernel("effect", body);
  kernel.reads("gates", gates.data).writes("y", y.data).number("elements", elements).fixed("backward", backward);
  exec.gpu()->record(exec, with_groups(effect, stream, counted, y0, m, kernel), ceil_div(elements, Kernel::kThreads));
}

}  // namespace

void apply_effect(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor y0, ConstTensor m, Tensor y,
                  std::size_t counted) {
  record_effect(exec, effect, stream, y0, m, false, y, counted);
}

void apply_effect_backward(const Exec& exec, Effect effect, const RandomStream& stream, ConstTensor dy, ConstTensor y0,
                           ConstTensor m, Tensor dy0, Tensor dm, std::size_t counted) {
  static const std::string body = joined({wgsl::chain, wgsl::group, wgsl::effect_slopes});
  Kernel kernel("effect_slopes", body);
  kernel.reads("dy", dy.data).writes("dm", dm.data);
  exec.gpu()->record(exec, with_groups(effect, stream, counted, y0, m, kernel), m.rows * m.cols);
  record_effect(exec, effect, stream, dy, m, true, dy0, counted);  // last: dy0 may be dy
}

}  // namespace loom::gpu
