#pragma once
// Devices by the names that commands and bindings take: "cpu", "gpu", "gpu:N". The WebGPU library is that of
// LOOM_WEBGPU_LIB, or else whichever the system finds.

#include <string_view>

#include "backend/device.h"
#include "core/json_fwd.h"

namespace loom {

// Null for "cpu". A device stays open as long as the process, and the same name gives the same one: sessions share its
// copies of weights, and threads take turns (DeviceTurn). InvalidArgument for another name; IoError, in one line, where
// there is no graphics card.
Result<Device*> device_from_name(std::string_view name);
// Adapters by number, with their limits. IoError as above.
Result<Json> gpu_report();

}  // namespace loom
