#pragma once
// Forms of conv.h on graphics cards: each records the kernels of the function of its name.

#include "ops/conv/conv.h"

namespace loom::gpu {

void convolve(const Exec& exec, const PatchLayout& layout, const ConvSizes& sizes, const void* x, const void* w,
              const void* bias, void* y);
void convolve_weight_gradient(const Exec& exec, const PatchLayout& layout, const ConvSizes& sizes, const void* x,
                              const void* g, bool reversed, void* d);
void convolve_bias_gradient(const Exec& exec, std::size_t samples, std::size_t channels, std::size_t positions,
                            const void* g, void* d);

}  // namespace loom::gpu
