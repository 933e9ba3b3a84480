#pragma once
// What a device is asked when it is opened: the arithmetic of the prelude, function by function, on numbers that would
// show every way in which compilers and hardware are known to stray.

#include "backend/webgpu/gpu_device.h"

namespace loom::gpu {

// Unsupported, with the first function whose bits are not those of this computer.
Result<void> prove_arithmetic(GpuDevice& device);

}  // namespace loom::gpu
