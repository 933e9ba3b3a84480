#include "backend/webgpu/native.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "backend/webgpu/kernel.h"
#include "backend/webgpu/webgpu_abi.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/mutex.h"
#include "core/sha256.h"
#include "core/system.h"

namespace loom::gpu {
namespace {

using abi::Handle;

abi::Text text(std::string_view s) { return {s.data(), s.size()}; }
std::string string(abi::Text t) {
  if (t.data == nullptr) return {};
  return t.length == ~std::size_t{0} ? std::string(t.data) : std::string(t.data, t.length);
}

constexpr const char* kNames[] = {"libwgpu_native.so", "libwgpu_native.dylib", "wgpu_native.dll",
                                  "libwebgpu_dawn.so", "libwebgpu_dawn.dylib", "webgpu_dawn.dll"};
// Without the first two Dawn hides its experimental features; matrices of subgroups need Vulkan's memory model. A
// device that multiplies them makes no checks of indices, which take two fifths of such a product: shaders index by
// numbers of ours.
constexpr const char* kToggles[] = {"allow_unsafe_apis", "use_vulkan_memory_model", "disable_robustness"};
constexpr abi::Toggles kExperimental{.num_enabled = 2, .enabled = kToggles};
constexpr abi::Toggles kUnchecked{.num_enabled = 3, .enabled = kToggles};
constexpr abi::Flags kVulkanMetalD3d12 = 1 | 4 | 8;
constexpr std::size_t kMostAdapters = 32;
constexpr double kMostWaitMs = 600'000;  // for an answer of the library itself

// A library that is open, or why none is.
struct Library {
  abi::Functions call;
  Handle instance = nullptr;
  std::string problem;

  explicit Library(const std::string& path) {
    void* library = nullptr;
    if (!os::can_open_libraries()) {
      problem = "this program is linked statically and loads no WebGPU library; for graphics cards build it with ./run";
      return;
    }
    if (!path.empty()) {
      library = os::open_library(path.c_str());
      if (library == nullptr) {
        problem = fmt::format("{} cannot be opened as a WebGPU library", path);
        return;
      }
    }
    for (std::size_t i = 0; library == nullptr && i < std::size(kNames); ++i) library = os::open_library(kNames[i]);
    if (library == nullptr) {
      problem = "no WebGPU library is installed: wgpu-native is one (pip install wgpu), named in LOOM_WEBGPU_LIB";
      return;
    }
#define LOOM_FIND(name, result, arguments)                                                 \
  call.name = reinterpret_cast<decltype(call.name)>(os::symbol_of(library, "wgpu" #name)); \
  if (call.name == nullptr) problem = "the WebGPU library has no function wgpu" #name ", another version is needed";
    LOOM_WEBGPU_FUNCTIONS(LOOM_FIND)
#undef LOOM_FIND
    if (!problem.empty()) return;
    call.InstanceEnumerateAdapters = reinterpret_cast<decltype(call.InstanceEnumerateAdapters)>(
        os::symbol_of(library, "wgpuInstanceEnumerateAdapters"));
    call.DeviceCreateShaderModuleTrusted = reinterpret_cast<decltype(call.DeviceCreateShaderModuleTrusted)>(
        os::symbol_of(library, "wgpuDeviceCreateShaderModuleTrusted"));
    call.DevicePoll = reinterpret_cast<decltype(call.DevicePoll)>(os::symbol_of(library, "wgpuDevicePoll"));
    call.QueueSubmitForIndex =
        reinterpret_cast<decltype(call.QueueSubmitForIndex)>(os::symbol_of(library, "wgpuQueueSubmitForIndex"));
    if (os::symbol_of(library, "wgpuDeviceCreateErrorBuffer") != nullptr)  // Dawn
      call.AdapterHasFeature =
          reinterpret_cast<decltype(call.AdapterHasFeature)>(os::symbol_of(library, "wgpuAdapterHasFeature"));
    instance = call.CreateInstance(nullptr);
    if (instance == nullptr) problem = "the WebGPU library gives no instance";
  }

  bool is_dawn() const { return call.AdapterHasFeature != nullptr; }

  // Hash of the library's file, in hex; empty where it cannot be read.
  std::string digest() const {
    const auto file = MappedFile::open(os::file_of_symbol(reinterpret_cast<void*>(call.CreateInstance)));
    if (!file) return {};
    Sha256 hash;
    hash.update((*file)->bytes());
    return to_hex(hash.finish());
  }
};

// Lasts as long as the process: drivers start threads that do not like to be unloaded.
const Library& library_at(const std::string& path) {
  static Mutex& mutex = *new Mutex;
  static auto& opened = *new std::map<std::string, std::unique_ptr<const Library>>;
  const Mutex::Guard lock(mutex);
  auto& library = opened[path];
  if (library == nullptr) library = std::make_unique<const Library>(path);
  return *library;
}

struct Answer {
  bool come = false;
  std::uint32_t status = 0;
  Handle handle = nullptr;
  std::string message;
};
// Memory that is never destroyed: the library may still write to it.
template <class T>
void leave_to_library(std::unique_ptr<T>& memory) {
  [[maybe_unused]] T* const left = memory.release();
}
class Awaited {
 public:
  ~Awaited() {
    if (!answer_->come) leave_to_library(answer_);
  }
  Answer* get() const { return answer_.get(); }
  const Answer* operator->() const { return answer_.get(); }
  // Returns whether it has come.
  bool wait(const Library& lib) const {
    const auto start = Clock::now();
    while (!answer_->come && ms_since(start) < kMostWaitMs) lib.call.InstanceProcessEvents(lib.instance);
    return answer_->come;
  }

 private:
  std::unique_ptr<Answer> answer_ = std::make_unique<Answer>();
};
void take_handle(std::uint32_t status, Handle handle, abi::Text message, void* user, void*) {
  *static_cast<Answer*>(user) = {true, status, handle, string(message)};
}
void take_scope(std::uint32_t, std::uint32_t type, abi::Text message, void* user, void*) {
  *static_cast<Answer*>(user) = {true, type, nullptr, string(message)};
}

std::vector<Handle> adapters_of(const Library& lib, bool is_experimental = true) {
  if (lib.call.InstanceEnumerateAdapters != nullptr) {
    const abi::EnumerateOptions options{nullptr, kVulkanMetalD3d12};
    std::vector<Handle> found(kMostAdapters);
    const std::size_t count = lib.call.InstanceEnumerateAdapters(lib.instance, &options, nullptr);
    found.resize(count);
    if (count != 0) lib.call.InstanceEnumerateAdapters(lib.instance, &options, found.data());
    return found;
  }
  const abi::AdapterOptions options{lib.is_dawn() && is_experimental ? &kExperimental.chain : nullptr};
  const Awaited answer;
  lib.call.InstanceRequestAdapter(lib.instance, &options, {.call = take_handle, .user = answer.get()});
  if (!answer.wait(lib) || answer->status != abi::kSuccess) return {};
  return {answer->handle};
}

std::string_view backend_name(std::uint32_t backend) {
  constexpr std::string_view kBackends[] = {"undefined", "null",   "WebGPU", "D3D11",    "D3D12",
                                            "Metal",     "Vulkan", "OpenGL", "OpenGL ES"};
  // Numbers begin at 0 for "undefined".
  return backend < std::size(kBackends) ? kBackends[backend] : "unknown";
}
std::string_view kind_name(std::uint32_t kind) {
  constexpr std::string_view kKinds[] = {"unknown", "discrete", "integrated", "software"};
  return kind < std::size(kKinds) ? kKinds[kind] : "unknown";
}

// Returns the number of a feature of Dawn that an experimental adapter has, or 0. The refusal of the feature by another
// adapter has its name.
std::uint32_t experimental_feature(const Library& lib, Handle adapter, std::string_view name) {
  std::uint32_t found = 0;
  for (const Handle plain : adapters_of(lib, false)) {
    for (std::uint32_t feature = abi::kFirstOfDawn; found == 0 && feature <= abi::kLastOfDawn; ++feature) {
      if (lib.call.AdapterHasFeature(adapter, feature) == 0 || lib.call.AdapterHasFeature(plain, feature) != 0)
        continue;
      abi::DeviceOptions options;
      options.num_features = 1, options.features = &feature;
      const Awaited answer;
      lib.call.AdapterRequestDevice(plain, &options, {.call = take_handle, .user = answer.get()});
      if (!answer.wait(lib)) break;
      if (answer->handle != nullptr) lib.call.DeviceRelease(answer->handle);
      if (answer->message.find(name) != std::string::npos) found = feature;
    }
    lib.call.AdapterRelease(plain);
  }
  return found;
}

// Multiplies matrices of bytes as AdapterInfo::has_matrix_units says. A device makes a pipeline of it only with such
// units.
constexpr std::string_view kUnitsText = R"(
var<workgroup> x: array<i32, 128>;
var<workgroup> y: array<i32, 256>;
@compute @workgroup_size(32)
fn main() {
  let left = subgroupMatrixLoad<subgroup_matrix_left<i8, 32, 16>, row_major>(&x, 0u, 8u);
  let right = subgroupMatrixLoad<subgroup_matrix_right<i8, 16, 32>, col_major>(&x, 0u, 8u);
  subgroupMatrixStore<row_major>(&y, 0u, subgroupMatrixMultiply<i32>(left, right), 16u);
}
)";

AdapterInfo describe(const Library& lib, Handle adapter, const abi::Limits& limits) {
  abi::AdapterInfo info;
  lib.call.AdapterGetInfo(adapter, &info);
  AdapterInfo out{string(info.device),
                  string(info.description),
                  std::string(backend_name(info.backend)),
                  std::string(kind_name(info.kind)),
                  {limits.storage_binding_bytes, limits.buffer_bytes, limits.storage_buffers, limits.workgroup_bytes,
                   limits.workgroup_threads, limits.workgroups}};
  if (info.subgroup_min == info.subgroup_max) out.subgroup_threads = info.subgroup_min;
  lib.call.AdapterInfoFreeMembers(info);
  return out;
}

// Handles by number; numbers are used again.
template <class T>
class Table {
 public:
  Id put(T item) {
    if (free_.empty()) {
      items_.push_back(std::move(item));
      return static_cast<Id>(items_.size());
    }
    const Id id = free_.back();
    free_.pop_back();
    items_[id - 1] = std::move(item);
    return id;
  }
  T& operator[](Id id) { return items_[id - 1]; }
  void drop(Id id) {
    items_[id - 1] = {};
    free_.push_back(id);
  }
  std::span<T> all() { return items_; }

 private:
  std::vector<T> items_;
  std::vector<Id> free_;
};

class NativeDriver final : public Driver {
 public:
  static Result<std::unique_ptr<Driver>> open(const Library& lib, Handle adapter, const AdapterInfo& info,
                                              const abi::Limits& limits) {
    const std::uint32_t units = feature_of_units(lib, adapter, info, limits);
    LOOM_TRY(auto driver, open_with(lib, adapter, info, limits, units, kUnchecked));
    driver->info_.has_matrix_units = units != 0;
    return driver;
  }

  // Returns the number of the feature by which a device of Dawn multiplies matrices, or 0 where none does. Another
  // device tries it.
  static std::uint32_t feature_of_units(const Library& lib, Handle adapter, const AdapterInfo& info,
                                        const abi::Limits& limits) {
    if (!lib.is_dawn() || info.subgroup_threads != 32 || lib.call.AdapterHasFeature(adapter, abi::kSubgroups) == 0)
      return 0;
    const std::uint32_t feature = experimental_feature(lib, adapter, "chromium-experimental-subgroup-matrix");
    bool has_units = false;
    if (feature != 0)
      for (const Handle other : adapters_of(lib)) {
        const auto trial = open_with(lib, other, info, limits, feature, kExperimental);
        const std::string text = std::string(kMatrixUnitsHead) + std::string(kUnitsText);
        has_units |= trial && (*trial)->create_pipeline("matrix units", text, 0, 0);
        lib.call.AdapterRelease(other);
      }
    return has_units ? feature : 0;
  }

  // A library is asked for nothing more of a device that is lost, and may yet answer what it was asked before.
  ~NativeDriver() override {
    if (is_lost()) {
      leave_to_library(told_);
      for (Read& read : reads_.all()) leave_to_library(read.answer);
      return;
    }
    told_->closing = true;
    for (Handle& group : groups_.all())
      if (group != nullptr) call().BindGroupRelease(group);
    for (Pipeline& p : pipelines_.all())
      if (p.pipeline != nullptr) call().ComputePipelineRelease(p.pipeline);
    for (Layout& l : layouts_) {
      call().PipelineLayoutRelease(l.pipeline);
      call().BindGroupLayoutRelease(l.group);
    }
    for (Buffer& b : buffers_.all())
      if (b.handle != nullptr) release(b.handle);
    for (const auto& [bytes, handle] : idle_) release(handle);
    if (queue_ != nullptr) call().QueueRelease(queue_);
    if (device_ != nullptr) call().DeviceRelease(device_);
  }

  const AdapterInfo& adapter() const override { return info_; }

  Result<Id> create_buffer(std::uint64_t bytes, BufferUse use) override {
    LOOM_TRY_VOID(alive());
    const abi::Flags usage =
        abi::kCopyFrom | abi::kCopyTo | (use == BufferUse::Storage ? abi::kStorage : abi::kUniform);
    LOOM_TRY(const Handle handle, buffer(bytes, usage));
    bytes_ += bytes;
    return buffers_.put({handle, bytes});
  }
  void destroy_buffer(Id id) override {
    bytes_ -= buffers_[id].bytes;
    if (is_lost()) return;
    release(buffers_[id].handle);
    buffers_.drop(id);
  }
  void write(Id id, std::uint64_t offset, std::span<const std::byte> from) override {
    if (is_lost()) return;
    call().QueueWriteBuffer(queue_, buffers_[id].handle, offset, from.data(), from.size());
  }

  Result<Id> create_pipeline(std::string_view name, std::string_view wgsl, std::uint32_t buffers,
                             std::uint32_t read_only) override {
    LOOM_TRY_VOID(alive());
    const std::size_t layout = layout_of(buffers, read_only);
    abi::Wgsl source;
    source.code = text(wgsl);
    const abi::Named module_options{&source.chain, text(name)};
    Handle module = nullptr, pipeline = nullptr;
    auto made = guarded(abi::kValidation, [&] {
      // Loops of these shaders end by numbers of ours.
      module = call().DeviceCreateShaderModuleTrusted != nullptr
                   ? call().DeviceCreateShaderModuleTrusted(device_, &module_options, abi::kChecksIndices)
                   : call().DeviceCreateShaderModule(device_, &module_options);
      abi::PipelineOptions options;
      options.label = text(name), options.layout = layouts_[layout].pipeline;
      options.compute.module = module, options.compute.entry = text("main");
      pipeline = call().DeviceCreateComputePipeline(device_, &options);
    });
    if (module != nullptr) call().ShaderModuleRelease(module);
    if (!made) {
      if (pipeline != nullptr) call().ComputePipelineRelease(pipeline);
      LOOM_TRY_VOID(alive());
      return fail(Code::Unsupported, "{}: the shader {} does not compile: {}", info_.name, name, made.error().message);
    }
    return pipelines_.put({pipeline, layout});
  }

  Id create_group(Id pipeline, Id parameters, std::span<const Id> buffers) override {
    if (is_lost()) return 0;
    std::vector<abi::GroupEntry> entries;
    entries.push_back({nullptr, 0, buffers_[parameters].handle, 0, kParameterBytes});
    for (const Id id : buffers)
      entries.push_back(
          {nullptr, static_cast<std::uint32_t>(entries.size()), buffers_[id].handle, 0, buffers_[id].bytes});
    abi::GroupOptions options;
    options.layout = layouts_[pipelines_[pipeline].layout].group;
    options.count = entries.size(), options.entries = entries.data();
    return groups_.put(call().DeviceCreateBindGroup(device_, &options));
  }
  void destroy_group(Id group) override {
    if (is_lost()) return;
    call().BindGroupRelease(groups_[group]);
    groups_.drop(group);
  }

  void submit(std::span<const std::uint32_t> words) override {
    if (is_lost()) return;
    const Handle encoder = begin_commands();
    if (encoder == nullptr) return;
    Handle pass = nullptr;
    const auto end_pass = [&] {
      if (pass == nullptr) return;
      call().ComputePassEncoderEnd(pass);
      call().ComputePassEncoderRelease(pass);
      pass = nullptr;
    };
    Id pipeline = 0;
    for (std::size_t i = 0; i < words.size();) {
      switch (static_cast<Command>(words[i++])) {
        case Command::Dispatch:
          if (pass == nullptr) pass = call().CommandEncoderBeginComputePass(encoder, nullptr), pipeline = 0;
          if (pipeline != words[i]) {
            pipeline = words[i];
            call().ComputePassEncoderSetPipeline(pass, pipelines_[pipeline].pipeline);
          }
          call().ComputePassEncoderSetBindGroup(pass, 0, groups_[words[i + 1]], 1, &words[i + 2]);
          call().ComputePassEncoderDispatchWorkgroups(pass, words[i + 3], words[i + 4], 1);
          i += 5;
          break;
        case Command::Copy:
          end_pass();
          call().CommandEncoderCopyBufferToBuffer(encoder, buffers_[words[i]].handle, bytes_of(words[i + 1]),
                                                  buffers_[words[i + 2]].handle, bytes_of(words[i + 3]),
                                                  bytes_of(words[i + 4]));
          i += 5;
          break;
        case Command::Clear:
          end_pass();
          call().CommandEncoderClearBuffer(encoder, buffers_[words[i]].handle, bytes_of(words[i + 1]),
                                           bytes_of(words[i + 2]));
          i += 3;
          break;
      }
    }
    end_pass();
    finish(encoder);
  }

  Result<Ticket> begin_read(Id id, std::uint64_t offset, std::uint64_t bytes) override {
    LOOM_TRY_VOID(alive());
    const auto idle = std::ranges::find_if(idle_, [&](const auto& b) { return b.first >= bytes; });
    Read read;
    if (idle != idle_.end()) {
      read.handle = idle->second, read.capacity = idle->first;
      idle_.erase(idle);
    } else {
      read.capacity = std::max<std::uint64_t>(bytes, 4096);
      LOOM_TRY(read.handle, buffer(read.capacity, abi::kMapRead | abi::kCopyTo));
    }
    const Handle encoder = begin_commands();
    LOOM_TRY_VOID(alive());
    call().CommandEncoderCopyBufferToBuffer(encoder, buffers_[id].handle, offset, read.handle, 0, bytes);
    read.submission = finish(encoder, true);
    read.bytes = bytes;
    read.answer = std::make_unique<Answer>();
    const auto mapped = [](std::uint32_t status, abi::Text message, void* user, void*) {
      *static_cast<Answer*>(user) = {true, status, nullptr, string(message)};
    };
    call().BufferMapAsync(read.handle, 1, 0, bytes, {.call = mapped, .user = read.answer.get()});
    return reads_.put(std::move(read));
  }

  Result<bool> poll(Ticket ticket, std::span<std::byte> to, bool wait) override {
    Read& read = reads_[ticket];
    // Waits for this submission only: later ones may go on.
    if (!read.answer->come && wait && call().DevicePoll != nullptr)
      call().DevicePoll(device_, 1, read.submission ? &*read.submission : nullptr);
    if (!read.answer->come) call().InstanceProcessEvents(lib_.instance);
    LOOM_TRY_VOID(alive());
    if (!read.answer->come) return false;
    const bool good = read.answer->status == abi::kSuccess;
    Error error{Code::IoError, fmt::format("{}: reading from the device failed: {}", info_.name, read.answer->message)};
    if (good) {
      std::memcpy(to.data(), call().BufferGetConstMappedRange(read.handle, 0, read.bytes), to.size());
      call().BufferUnmap(read.handle);
      idle_.emplace_back(read.capacity, read.handle);
    } else {
      release(read.handle);
    }
    reads_.drop(ticket);
    if (good) return true;
    if (auto told = check(); !told) return tl::make_unexpected(std::move(told).error());
    return tl::make_unexpected(std::move(error));
  }

  Result<void> check() override {
    LOOM_TRY_VOID(alive());
    if (told_->error.empty()) return {};
    return fail(told_->code, "{}: {}", info_.name, std::exchange(told_->error, {}));
  }
  void abandon() override { told_->lost = "it did not answer"; }
  std::uint64_t buffer_bytes() const override { return bytes_; }

 private:
  // With an experimental feature, unless it is 0.
  static Result<std::unique_ptr<NativeDriver>> open_with(const Library& lib, Handle adapter, const AdapterInfo& info,
                                                         abi::Limits limits, std::uint32_t feature,
                                                         const abi::Toggles& toggles) {
    std::unique_ptr<NativeDriver> driver(new NativeDriver(lib, info));
    limits.next = nullptr;
    abi::DeviceOptions options;
    options.limits = &limits;
    const std::uint32_t features[] = {feature, abi::kSubgroups};
    if (feature != 0)
      options.next = &toggles.chain, options.num_features = std::size(features), options.features = features;
    options.lost = {.mode = abi::kSpontaneous, .call = on_lost, .user = driver->told_.get()};
    options.error = {.call = on_error, .user = driver->told_.get()};
    const Awaited answer;
    lib.call.AdapterRequestDevice(adapter, &options, {.call = take_handle, .user = answer.get()});
    if (!answer.wait(lib)) {
      driver->told_->lost = "the library does not answer";
      return fail(Code::IoError, "{}: no device: {}", driver->info_.name, *driver->told_->lost);
    }
    if (answer->status != abi::kSuccess || answer->handle == nullptr)
      return fail(Code::IoError, "{}: no device: {}", driver->info_.name, answer->message);
    driver->device_ = answer->handle;
    driver->queue_ = lib.call.DeviceGetQueue(answer->handle);
    return driver;
  }

  struct Buffer {
    Handle handle = nullptr;
    std::uint64_t bytes = 0;
  };
  struct Layout {
    std::uint32_t buffers, read_only;
    Handle group, pipeline;
  };
  struct Pipeline {
    Handle pipeline = nullptr;
    std::size_t layout = 0;
  };
  struct Read {
    Handle handle = nullptr;
    std::uint64_t capacity = 0, bytes = 0;
    std::optional<std::uint64_t> submission;  // that copies it
    std::unique_ptr<Answer> answer;
  };
  // Messages of the library about the device.
  struct Told {
    std::optional<std::string> lost;
    std::string error;
    Code code = Code::IoError;  // of the error
    bool closing = false;
  };

  NativeDriver(const Library& lib, AdapterInfo info) : lib_(lib), info_(std::move(info)) {}
  const abi::Functions& call() const { return lib_.call; }
  static std::uint64_t bytes_of(std::uint32_t words) { return std::uint64_t{words} * 4; }
  bool is_lost() const { return told_->lost.has_value(); }
  Result<void> alive() const { return is_lost() ? fail(Code::DeviceLost, "{}", *told_->lost) : Result<void>(); }

  void release(Handle buffer) {
    call().BufferDestroy(buffer);
    call().BufferRelease(buffer);
  }
  // Null where the device is lost: wgpu-native ends the process where something is submitted to such a device, and says
  // that it is lost where commands are begun.
  Handle begin_commands() {
    Handle encoder = nullptr;
    const auto made = guarded(abi::kValidation, [&] { encoder = call().DeviceCreateCommandEncoder(device_, nullptr); });
    return made ? encoder : nullptr;
  }
  // The number of the submission, if it is one to wait for and the library numbers them.
  std::optional<std::uint64_t> finish(Handle encoder, bool is_waited_for = false) {
    std::optional<std::uint64_t> number;
    const Handle commands = call().CommandEncoderFinish(encoder, nullptr);
    if (is_waited_for && call().QueueSubmitForIndex != nullptr)
      number = call().QueueSubmitForIndex(queue_, 1, &commands);
    else
      call().QueueSubmit(queue_, 1, &commands);
    call().CommandBufferRelease(commands);
    call().CommandEncoderRelease(encoder);
    return number;
  }

  // Calls f() and waits for what it did wrong.
  template <class F>
  Result<void> guarded(std::uint32_t filter, F&& f) {
    call().DevicePushErrorScope(device_, filter);
    f();
    const Awaited answer;
    call().DevicePopErrorScope(device_, {.call = take_scope, .user = answer.get()});
    if (!answer.wait(lib_))
      told_->lost = "the library does not answer";
    else if (says_lost(answer->message) && !is_lost())
      told_->lost = answer->message;
    LOOM_TRY_VOID(alive());
    if (answer->status <= abi::kNoError) return {};
    return fail(answer->status == abi::kOutOfMemoryError ? Code::OutOfMemory : Code::Unsupported, "{}",
                answer->message);
  }

  Result<Handle> buffer(std::uint64_t bytes, abi::Flags usage) {
    Handle handle = nullptr;
    abi::BufferOptions options;
    options.usage = usage, options.size = bytes;
    auto made = guarded(abi::kOutOfMemory, [&] { handle = call().DeviceCreateBuffer(device_, &options); });
    if (made && handle != nullptr) return handle;
    LOOM_TRY_VOID(alive());
    if (handle != nullptr) call().BufferRelease(handle);
    return fail(Code::OutOfMemory, "{}: the device has no {} bytes: {}", info_.name, bytes,
                made ? "no buffer" : made.error().message);
  }

  std::size_t layout_of(std::uint32_t buffers, std::uint32_t read_only) {
    for (std::size_t i = 0; i < layouts_.size(); ++i)
      if (layouts_[i].buffers == buffers && layouts_[i].read_only == read_only) return i;
    std::vector<abi::LayoutEntry> entries(buffers + 1);
    for (std::uint32_t i = 0; i <= buffers; ++i) {
      entries[i].binding = i;
      const bool reads = i != 0 && ((read_only >> (i - 1)) & 1) != 0;
      entries[i].buffer.type = i == 0 ? abi::kUniformBinding : reads ? abi::kReadOnlyBinding : abi::kStorageBinding;
      entries[i].buffer.dynamic = i == 0;
    }
    Layout layout{buffers, read_only, nullptr, nullptr};
    abi::LayoutOptions options;
    options.count = entries.size(), options.entries = entries.data();
    layout.group = call().DeviceCreateBindGroupLayout(device_, &options);
    abi::PipelineLayoutOptions pipeline;
    pipeline.count = 1, pipeline.layouts = &layout.group;
    layout.pipeline = call().DeviceCreatePipelineLayout(device_, &pipeline);
    layouts_.push_back(layout);
    return layouts_.size() - 1;
  }

  // wgpu's message of a call that came too late, before it reports the loss itself.
  static bool says_lost(std::string_view message) { return message.find("is lost") != message.npos; }
  static void on_lost(const Handle*, std::uint32_t, abi::Text message, void* user, void*) {
    Told& told = *static_cast<Told*>(user);
    if (!told.closing && !told.lost) told.lost = string(message);
  }
  static void on_error(const Handle*, std::uint32_t type, abi::Text message, void* user, void*) {
    Told& told = *static_cast<Told*>(user);
    if (told.closing || !told.error.empty()) return;
    told.error = string(message), told.code = type == abi::kOutOfMemoryError ? Code::OutOfMemory : Code::IoError;
    if (says_lost(told.error)) told.lost = told.error;
  }

  const Library& lib_;
  AdapterInfo info_;
  Handle device_ = nullptr, queue_ = nullptr;
  Table<Buffer> buffers_;
  Table<Handle> groups_;
  Table<Pipeline> pipelines_;
  Table<Read> reads_;
  std::vector<Layout> layouts_;
  std::vector<std::pair<std::uint64_t, Handle>> idle_;  // buffers of reads that have ended
  std::uint64_t bytes_ = 0;
  std::unique_ptr<Told> told_ = std::make_unique<Told>();
};

}  // namespace

Result<std::vector<AdapterInfo>> native_adapters(const std::string& library) {
  const Library& lib = library_at(library);
  if (!lib.problem.empty()) return fail(Code::IoError, "{}", lib.problem);
  std::vector<AdapterInfo> out;
  for (const Handle adapter : adapters_of(lib)) {
    abi::Limits limits{};
    lib.call.AdapterGetLimits(adapter, &limits);
    out.push_back(describe(lib, adapter, limits));
    lib.call.AdapterRelease(adapter);
  }
  if (out.empty()) return fail(Code::IoError, "the WebGPU library finds no graphics adapter");
  return out;
}

Result<std::unique_ptr<Driver>> open_native(const std::string& library, std::size_t number, const Limits& most) {
  const Library& lib = library_at(library);
  if (!lib.problem.empty()) return fail(Code::IoError, "{}", lib.problem);
  const std::vector<Handle> adapters = adapters_of(lib);
  for (std::size_t i = 0; i < adapters.size(); ++i)
    if (i != number) lib.call.AdapterRelease(adapters[i]);
  if (number >= adapters.size())
    return fail(Code::IoError, "no graphics adapter of number {}: there are {}", number, adapters.size());
  abi::Limits limits{};
  lib.call.AdapterGetLimits(adapters[number], &limits);
  const auto lower = [](auto& limit, auto to) { limit = std::min(limit, to); };
  lower(limits.storage_binding_bytes, most.binding_bytes), lower(limits.buffer_bytes, most.buffer_bytes);
  lower(limits.storage_buffers, most.storage_buffers), lower(limits.workgroup_bytes, most.workgroup_bytes);
  lower(limits.workgroup_threads, most.threads), lower(limits.workgroup_x, most.threads);
  lower(limits.workgroups, most.workgroups);
  AdapterInfo info = describe(lib, adapters[number], limits);
  info.library = lib.digest();
  auto driver = NativeDriver::open(lib, adapters[number], info, limits);
  lib.call.AdapterRelease(adapters[number]);
  return driver;
}

}  // namespace loom::gpu
