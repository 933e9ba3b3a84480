#pragma once
// Devices by the names that commands and bindings take: "cpu", "gpu", "gpu:N". A card's name with ":fast" after it is
// that card without exactness (Precision::Fast). The WebGPU library is that of LOOM_WEBGPU_LIB, or else whichever the
// system finds; integer dots have the form that LOOM_GPU_DOTS names, or else the fastest.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "backend/device.h"
#include "core/json_fwd.h"
#include "graph/runner.h"
#include "lm/session.h"
#include "network/session/network_session.h"

namespace loom {

namespace gpu {
class Driver;
}

// Null for "cpu". A device stays open as long as the process, and the same name gives the same one: sessions share its
// copies of weights, and threads take turns (DeviceTurn). A card that was lost is opened again; sessions that still
// have the old one keep a device of which every call fails. A card that is exact and the same one that is fast are two
// devices. InvalidArgument for another name and for "cpu:fast"; IoError, in one line, where there is no graphics card.
Result<Device*> device_from_name(std::string_view name);
// The name of a device with a precision, "strict" or "fast". InvalidArgument for another one, and for "strict" of a
// name that ends in ":fast".
Result<std::string> with_precision(std::string_view name, std::string_view precision);
bool is_fast_name(std::string_view name);

// Sets the device of a session, also by "auto" or "auto:fast": the one that is expected to take less time over so many
// passes (device_choice.h), which is settled when the session is created. A software adapter is never chosen, and where
// there is no card it is this computer. `told` hears which it is, null: this computer, and why, in one line.
using DeviceTold = std::function<void(const Device* chosen, const std::string& line)>;
inline constexpr double kManyPasses = 1000;
Result<void> name_device(std::string_view name, NetworkSessionOptions& to, double passes = kManyPasses,
                         const DeviceTold& told = {});
Result<void> name_device(std::string_view name, SessionOptions& to, double passes = kManyPasses,
                         const DeviceTold& told = {});
// Settled at the first run of the graph.
Result<void> name_device(std::string_view name, graph::RunnerOptions& to, double passes = kManyPasses,
                         const DeviceTold& told = {});
// Returns the name of a device in receipts: "cpu" for null, "gpu: NAME OF THE ADAPTER".
std::string device_title(const Device* device);
// For tests: cards are opened again, by the drivers that this returns.
using DriverWrapper = std::function<std::unique_ptr<gpu::Driver>(std::unique_ptr<gpu::Driver>)>;
void wrap_drivers(DriverWrapper wrapper);
// Adapters by number, with their limits; what their arithmetic allows ("tier", engine N-10) and what they have done in
// this process, or the "problem" that keeps them from being used. IoError as above.
Result<Json> gpu_report();
// Dispatches, bytes, times and proofs (prover.h) of a card in this process.
Json gpu_use(Device& device);
// Returns the times of Device::time_kernels() since the last call, a line for each kernel and size, the longest first.
std::string kernel_times(Device& device);
// A line for each card with kernels that err, or operations without a form, computed on the CPU instead; empty: none.
std::string refused_on_cards();

}  // namespace loom
