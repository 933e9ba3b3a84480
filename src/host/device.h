#pragma once
// Devices by the names that commands and bindings take: "cpu", "gpu", "gpu:N".

#include <string>
#include <string_view>

#include "backend/device.h"

namespace loom {

// Null for "cpu". A device stays open as long as the process, and the same name gives the same one: sessions share its
// copies of weights. `library` is the path of a WebGPU library; empty: whichever the system finds. InvalidArgument for
// another name; IoError, in one line, where there is no graphics card.
Result<Device*> device_from_name(std::string_view name, const std::string& library);

}  // namespace loom
