#pragma once
// The workgroup memory that the body of a kernel declares, which a device limits (Limits::workgroup_bytes).

#include <cstdint>
#include <optional>

#include "backend/webgpu/kernel.h"

namespace loom::gpu {

// Bytes of all variables, each rounded up to 16 as WebGPU counts them. Reads arrays of words and of vectors, whose
// sizes are made of numbers, constants, + - * / %, comparisons, max(), min() and select(). Nothing for other bodies.
std::optional<std::uint64_t> workgroup_bytes(const Kernel& kernel);

}  // namespace loom::gpu
