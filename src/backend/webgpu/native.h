#pragma once
// The driver for programs: a library with the C API webgpu.h, opened when it is first asked for, so that Loom runs
// where there is none. It is the one at a path, or else wgpu-native or Dawn where the system finds them.

#include "backend/webgpu/driver.h"

namespace loom::gpu {

// Adapters by number. IoError, in one line, without a library or an adapter.
Result<std::vector<AdapterInfo>> native_adapters(const std::string& library);
// Opens an adapter with all the limits that it has, up to `most`. IoError for a number that is none and where the
// adapter gives no device.
Result<std::unique_ptr<Driver>> open_native(const std::string& library, std::size_t adapter,
                                            const Limits& most = kNoLimits);

}  // namespace loom::gpu
