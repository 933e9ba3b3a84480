#include "host/device.h"

#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>

#include "backend/webgpu/gpu_device.h"
#include "backend/webgpu/native.h"
#include "core/json.h"
#include "core/mutex.h"

namespace loom {
namespace {

// A graphics card of the process, which threads use in turn.
class SharedDevice final : public Device {
 public:
  explicit SharedDevice(std::unique_ptr<gpu::GpuDevice> device) : device_(std::move(device)) {}
  Result<std::byte*> allocate(std::size_t bytes) override {
    const DeviceTurn turn(this);
    return device_->allocate(bytes);
  }
  void free(std::byte* memory, std::size_t bytes) override {
    const DeviceTurn turn(this);
    device_->free(memory, bytes);
  }
  void read(const std::byte* from, std::span<std::byte> to) override {
    const DeviceTurn turn(this);
    device_->read(from, to);
  }
  void write(std::byte* to, std::span<const std::byte> from) override {
    const DeviceTurn turn(this);
    device_->write(to, from);
  }
  void copy(const std::byte* from, std::size_t bytes, std::byte* to) override {
    const DeviceTurn turn(this);
    device_->copy(from, bytes, to);
  }
  void clear(std::byte* memory, std::size_t bytes) override {
    const DeviceTurn turn(this);
    device_->clear(memory, bytes);
  }
  Result<const std::byte*> place(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) override {
    const DeviceTurn turn(this);
    return device_->place(owner, bytes);
  }
  Result<void> check() override {
    const DeviceTurn turn(this);
    return device_->check();
  }
  gpu::GpuDevice* gpu() override { return device_.get(); }
  void enter() override { turn_.lock(); }
  void leave() override { turn_.unlock(); }

 private:
  const std::unique_ptr<gpu::GpuDevice> device_;
  RecursiveMutex turn_;
};

struct OpenDevices {
  Mutex mutex;
  std::map<std::size_t, std::unique_ptr<SharedDevice>> by_number;
};
// Never destroyed: drivers have threads of their own, and sessions may last until the process ends.
OpenDevices& open_devices() {
  static OpenDevices& devices = *new OpenDevices;
  return devices;
}

std::string library() {
  const char* const path = std::getenv("LOOM_WEBGPU_LIB");
  return path == nullptr ? std::string() : path;
}

}  // namespace

Result<Device*> device_from_name(std::string_view name) {
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
  std::unique_ptr<SharedDevice>& device = devices.by_number[number];
  if (device == nullptr) {
    LOOM_TRY(auto driver, gpu::open_native(library(), number));
    LOOM_TRY(auto made, gpu::GpuDevice::create(std::move(driver)));
    device = std::make_unique<SharedDevice>(std::move(made));
  }
  return device.get();
}

Result<Json> gpu_report() {
  LOOM_TRY(const auto adapters, gpu::native_adapters(library()));
  Json list = Json::array();
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    const gpu::AdapterInfo& a = adapters[i];
    list.push_back({{"device", fmt::format("gpu:{}", i)},
                    {"name", a.name},
                    {"driver", a.driver},
                    {"backend", a.backend},
                    {"kind", a.kind},
                    {"limits",
                     {{"binding_bytes", a.limits.binding_bytes},
                      {"buffer_bytes", a.limits.buffer_bytes},
                      {"storage_buffers", a.limits.storage_buffers},
                      {"workgroup_bytes", a.limits.workgroup_bytes},
                      {"threads", a.limits.threads},
                      {"workgroups", a.limits.workgroups}}}});
  }
  return Json{{"adapters", std::move(list)}};
}

}  // namespace loom
