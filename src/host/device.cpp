#include "host/device.h"

#include <charconv>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"
#include "core/mutex.h"

namespace loom {
namespace {

struct OpenDevices {
  Mutex mutex;
  std::map<std::size_t, std::unique_ptr<gpu::GpuDevice>> by_number;
};
// Never destroyed: drivers have threads of their own, and sessions may last until the process ends.
OpenDevices& open_devices() {
  static OpenDevices& devices = *new OpenDevices;
  return devices;
}

}  // namespace

Result<Device*> device_from_name(std::string_view name, const std::string& library) {
  if (name == "cpu") return nullptr;
  std::size_t number = 0;
  if (name != "gpu") {
    const char* const end = name.data() + name.size();
    const bool numbered = name.starts_with("gpu:");
    const auto [last, error] = numbered ? std::from_chars(name.data() + 4, end, number) : std::from_chars_result{};
    if (!numbered || error != std::errc() || last != end)
      return fail(Code::InvalidArgument, "no device \"{}\": cpu, gpu or gpu:N is expected", name);
  }
  OpenDevices& devices = open_devices();
  const Mutex::Guard lock(devices.mutex);
  std::unique_ptr<gpu::GpuDevice>& device = devices.by_number[number];
  if (device == nullptr) {
    LOOM_TRY(auto driver, gpu::open_native(library, number));
    LOOM_TRY(device, gpu::GpuDevice::create(std::move(driver)));
  }
  return device.get();
}

}  // namespace loom
