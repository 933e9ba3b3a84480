#pragma once
// Forms of unfold.h on graphics cards: each records the kernels of the function of its name.

#include "ops/unfold/unfold.h"

namespace loom::gpu {

void store_planes(const Exec& exec, const PatchLayout& layout, const void* x, std::size_t n, void* to);
void unfold(const Exec& exec, const PatchLayout& layout, const void* planes, std::size_t first, Tensor patches);

}  // namespace loom::gpu
