#pragma once
// The trial of a device when it is opened: the arithmetic of the prelude, function by function, on numbers that show
// every error that compilers and hardware are known for.

#include "backend/webgpu/gpu_device.h"

namespace loom::gpu {

// Unsupported, with the first function whose bits are not those of this computer.
Result<void> prove_arithmetic(GpuDevice& device);

}  // namespace loom::gpu
