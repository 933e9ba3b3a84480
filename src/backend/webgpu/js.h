#pragma once
// The driver for WebAssembly: navigator.gpu, through the JavaScript that runs the module
// (js/src/abi/loom_gpu.js). Only WebAssembly builds compile it.

#include "backend/webgpu/driver.h"

namespace loom::gpu {

// Opens the device that the host of the module has made. IoError, with what the host says, where it has none.
Result<std::unique_ptr<Driver>> open_js();

}  // namespace loom::gpu
