#pragma once
// The driver for WebAssembly: navigator.gpu, through the JavaScript that runs the module
// (bindings/typescript/loom_gpu.js). It is compiled there alone.

#include "backend/webgpu/driver.h"

namespace loom::gpu {

// Opens the device that the host of the module has made. IoError, with what the host says, where it has none.
Result<std::unique_ptr<Driver>> open_js();

}  // namespace loom::gpu
