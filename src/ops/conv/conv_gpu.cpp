#include <algorithm>
#include <array>

#include "backend/webgpu/gpu_device.h"
#include "core/checked.h"
#include "ops/chain.wgsl.h"
#include "ops/conv/bias_gradient.wgsl.h"
#include "ops/conv/conv_gpu.h"
#include "ops/conv/convolve.wgsl.h"
#include "ops/conv/patch.wgsl.h"
#include "ops/conv/weight_gradient.wgsl.h"
#include "ops/sums/chains_gpu.h"
#include "simd/orders.h"

namespace loom::gpu {
namespace {

// Filters that a thread computes: they share the inputs that it reads and their offsets.
constexpr std::size_t kFiltersTogether = 4;
constexpr std::size_t kManyGroups = 256;  // that keep a card busy

// Adds the arguments of patch.wgsl. Inputs stay where they are: no plane is stored with its padding.
Kernel& with_patches(const Exec& exec, const PatchLayout& layout, Kernel& kernel) {
  const ConvGeometry& g = layout.geometry();
  std::array<std::uint32_t, 21> words;
  std::uint32_t* to = words.data();
  for (std::size_t a = 0; a < 3; ++a) {
    const std::size_t fields[] = {g.in[a],
                                  layout.extents()[a],
                                  g.kernel[a],
                                  g.transposed ? 1 : g.stride[a],
                                  g.transposed ? 0 - g.dilation[a] : g.dilation[a],
                                  g.transposed ? g.padding[a] : 0 - g.padding[a],
                                  g.transposed ? g.stride[a] : 1};
    for (const std::size_t field : fields) *to++ = static_cast<std::uint32_t>(field);
  }
  return kernel.reads("axes", exec.gpu()->upload(exec, std::span<const std::uint32_t>(words)))
      .fixed("spreads", layout.phases() != 1);
}

}  // namespace

void convolve(const Exec& exec, const PatchLayout& layout, const ConvSizes& n, const void* x, const void* w,
              const void* bias, void* y) {
  static const std::string body = joined({wgsl::patch, wgsl::convolve});
  const std::size_t together = std::min(n.filters, kFiltersTogether),
                    elements = n.samples * n.groups * ceil_div(n.filters, together) * layout.positions();
  Kernel kernel("convolve", body);
  kernel.reads("x", x)
      .reads("w", w)
      .reads("bias", bias == nullptr ? w : bias)
      .writes("y", y)
      .number("elements", elements)
      .number("channels", n.channels)
      .number("filters", n.filters)
      .number("all_filters", n.groups * n.filters)
      .fixed("together", together)
      .fixed("with_bias", bias != nullptr);
  exec.gpu()->record(exec, with_patches(exec, layout, kernel), ceil_div(elements, Kernel::kThreads));
}

void convolve_weight_gradient(const Exec& exec, const PatchLayout& layout, const ConvSizes& n, const void* x,
                              const void* g, bool reversed, void* d) {
  static const std::string body = joined({wgsl::patch, wgsl::weight_gradient});
  const std::size_t together = std::min(n.filters, kFiltersTogether), columns = n.channels * layout.taps(),
                    workgroups = n.groups * ceil_div(n.filters, together) * ceil_div(columns, kLanes);
  const Tensor out{d, n.groups * n.filters, columns, Element::f32};
  const Chunks chunks(n.samples * layout.positions(), kSampleBlock * layout.positions());
  const ArenaScope scope(exec.arena);
  const bool shares = workgroups < kManyGroups && chunks.count() > kLanes;
  float* const parts = shares ? take_chunks(exec, chunks.count() * out.rows * out.cols) : nullptr;
  const bool apart = parts != nullptr;
  Kernel kernel("convolve_weight_gradient", body, 256);
  kernel.reads("x", x)
      .reads("g", g)
      .updates("d", apart ? parts : d)
      .number("groups", n.groups)
      .number("samples", n.samples)
      .number("channels", n.channels)
      .number("filters", n.filters)
      .number("all_filters", n.groups * n.filters)
      .fixed("together", together)
      .fixed("apart", apart)
      .fixed("reversed", reversed);
  const std::size_t rounds = ceil_div(n.samples, kSampleBlock) * ceil_div(chunks.of_run(), kLanes);
  exec.gpu()->record(exec, with_patches(exec, layout, kernel), workgroups * (apart ? rounds : 1));
  if (apart) add_chunks(exec, chunks, parts, true, nullptr, out);
}

void convolve_bias_gradient(const Exec& exec, std::size_t samples, std::size_t channels, std::size_t positions,
                            const void* g, void* d) {
  static const std::string body = joined({wgsl::chain, wgsl::bias_gradient});
  const Chunks chunks(samples * positions, kSampleBlock * positions);
  const ArenaScope scope(exec.arena);
  const bool shares = channels < kManyGroups && chunks.count() > Kernel::kThreads;
  float* const parts = shares ? take_chunks(exec, chunks.count() * channels) : nullptr;
  const bool apart = parts != nullptr;
  exec.gpu()->record(exec,
                     Kernel("convolve_bias_gradient", body)
                         .reads("g", g)
                         .updates("d", apart ? parts : d)
                         .number("samples", samples)
                         .number("channels", channels)
                         .number("positions", positions)
                         .fixed("apart", apart),
                     channels * (apart ? ceil_div(chunks.count(), Kernel::kThreads) : 1));
  if (apart) add_chunks(exec, chunks, parts, true, nullptr, {d, 1, channels, Element::f32});
}

}  // namespace loom::gpu
