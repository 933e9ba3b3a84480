#include "backend/webgpu/native.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "backend/webgpu/webgpu_abi.h"
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
constexpr abi::Flags kVulkanMetalD3d12 = 1 | 4 | 8;
constexpr std::size_t kMostAdapters = 32;

// A library that is open, or why none is.
struct Library {
  abi::Functions call;
  Handle instance = nullptr;
  std::string problem;

  explicit Library(const std::string& path) {
    void* library = nullptr;
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
    instance = call.CreateInstance(nullptr);
    if (instance == nullptr) problem = "the WebGPU library gives no instance";
  }

  // Of the library's file, in hex; empty where it cannot be read.
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
void take_handle(std::uint32_t status, Handle handle, abi::Text message, void* user, void*) {
  *static_cast<Answer*>(user) = {true, status, handle, string(message)};
}
void take_scope(std::uint32_t, std::uint32_t type, abi::Text message, void* user, void*) {
  *static_cast<Answer*>(user) = {true, type, nullptr, string(message)};
}
void wait_for(const Library& lib, const Answer& answer) {
  while (!answer.come) lib.call.InstanceProcessEvents(lib.instance);
}

std::vector<Handle> adapters_of(const Library& lib) {
  if (lib.call.InstanceEnumerateAdapters != nullptr) {
    const abi::EnumerateOptions options{nullptr, kVulkanMetalD3d12};
    std::vector<Handle> found(kMostAdapters);
    const std::size_t count = lib.call.InstanceEnumerateAdapters(lib.instance, &options, nullptr);
    found.resize(count);
    if (count != 0) lib.call.InstanceEnumerateAdapters(lib.instance, &options, found.data());
    return found;
  }
  const abi::AdapterOptions options;
  Answer answer;
  lib.call.InstanceRequestAdapter(lib.instance, &options, {.call = take_handle, .user = &answer});
  wait_for(lib, answer);
  if (answer.status != abi::kSuccess) return {};
  return {answer.handle};
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

AdapterInfo describe(const Library& lib, Handle adapter, const abi::Limits& limits) {
  abi::AdapterInfo info;
  lib.call.AdapterGetInfo(adapter, &info);
  AdapterInfo out{string(info.device),
                  string(info.description),
                  std::string(backend_name(info.backend)),
                  std::string(kind_name(info.kind)),
                  {limits.storage_binding_bytes, limits.buffer_bytes, limits.storage_buffers, limits.workgroup_bytes,
                   limits.workgroup_threads, limits.workgroups}};
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
  static Result<std::unique_ptr<Driver>> open(const Library& lib, Handle adapter, AdapterInfo info,
                                              abi::Limits limits) {
    std::unique_ptr<NativeDriver> driver(new NativeDriver(lib, std::move(info)));
    limits.next = nullptr;
    abi::DeviceOptions options;
    options.limits = &limits;
    options.lost = {.mode = abi::kSpontaneous, .call = on_lost, .user = driver.get()};
    options.error = {.call = on_error, .user = driver.get()};
    Answer answer;
    lib.call.AdapterRequestDevice(adapter, &options, {.call = take_handle, .user = &answer});
    wait_for(lib, answer);
    if (answer.status != abi::kSuccess || answer.handle == nullptr)
      return fail(Code::IoError, "{}: no device: {}", driver->info_.name, answer.message);
    driver->device_ = answer.handle;
    driver->queue_ = lib.call.DeviceGetQueue(answer.handle);
    return driver;
  }

  ~NativeDriver() override {
    closing_ = true;
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
    const abi::Flags usage =
        abi::kCopyFrom | abi::kCopyTo | (use == BufferUse::Storage ? abi::kStorage : abi::kUniform);
    LOOM_TRY(const Handle handle, buffer(bytes, usage));
    bytes_ += bytes;
    return buffers_.put({handle, bytes});
  }
  void destroy_buffer(Id id) override {
    bytes_ -= buffers_[id].bytes;
    release(buffers_[id].handle);
    buffers_.drop(id);
  }
  void write(Id id, std::uint64_t offset, std::span<const std::byte> from) override {
    call().QueueWriteBuffer(queue_, buffers_[id].handle, offset, from.data(), from.size());
  }

  Result<Id> create_pipeline(std::string_view name, std::string_view wgsl, std::uint32_t buffers,
                             std::uint32_t read_only) override {
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
      return fail(Code::Unsupported, "{}: the shader {} does not compile: {}", info_.name, name, made.error().message);
    }
    return pipelines_.put({pipeline, layout});
  }

  Id create_group(Id pipeline, Id parameters, std::span<const Id> buffers) override {
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
    call().BindGroupRelease(groups_[group]);
    groups_.drop(group);
  }

  void submit(std::span<const std::uint32_t> words) override {
    const Handle encoder = call().DeviceCreateCommandEncoder(device_, nullptr);
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
    const auto idle = std::ranges::find_if(idle_, [&](const auto& b) { return b.first >= bytes; });
    Read read;
    if (idle != idle_.end()) {
      read.handle = idle->second, read.capacity = idle->first;
      idle_.erase(idle);
    } else {
      read.capacity = std::max<std::uint64_t>(bytes, 4096);
      LOOM_TRY(read.handle, buffer(read.capacity, abi::kMapRead | abi::kCopyTo));
    }
    const Handle encoder = call().DeviceCreateCommandEncoder(device_, nullptr);
    call().CommandEncoderCopyBufferToBuffer(encoder, buffers_[id].handle, offset, read.handle, 0, bytes);
    finish(encoder);
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
    if (!read.answer->come && wait && call().DevicePoll != nullptr) call().DevicePoll(device_, 1, nullptr);
    if (!read.answer->come) call().InstanceProcessEvents(lib_.instance);
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
    if (error_.empty()) return {};
    return fail(Code::IoError, "{}: {}", info_.name, std::exchange(error_, {}));
  }
  std::uint64_t buffer_bytes() const override { return bytes_; }

 private:
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
    std::unique_ptr<Answer> answer;
  };

  NativeDriver(const Library& lib, AdapterInfo info) : lib_(lib), info_(std::move(info)) {}
  const abi::Functions& call() const { return lib_.call; }
  static std::uint64_t bytes_of(std::uint32_t words) { return std::uint64_t{words} * 4; }

  void release(Handle buffer) {
    call().BufferDestroy(buffer);
    call().BufferRelease(buffer);
  }
  void finish(Handle encoder) {
    const Handle commands = call().CommandEncoderFinish(encoder, nullptr);
    call().QueueSubmit(queue_, 1, &commands);
    call().CommandBufferRelease(commands);
    call().CommandEncoderRelease(encoder);
  }

  // Calls f() and waits for what it did wrong.
  template <class F>
  Result<void> guarded(std::uint32_t filter, F&& f) {
    call().DevicePushErrorScope(device_, filter);
    f();
    Answer answer;
    call().DevicePopErrorScope(device_, {.call = take_scope, .user = &answer});
    wait_for(lib_, answer);
    if (answer.status <= abi::kNoError) return {};
    return fail(answer.status == abi::kOutOfMemoryError ? Code::OutOfMemory : Code::Unsupported, "{}", answer.message);
  }

  Result<Handle> buffer(std::uint64_t bytes, abi::Flags usage) {
    Handle handle = nullptr;
    abi::BufferOptions options;
    options.usage = usage, options.size = bytes;
    auto made = guarded(abi::kOutOfMemory, [&] { handle = call().DeviceCreateBuffer(device_, &options); });
    if (made && handle != nullptr) return handle;
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

  void tell(std::string message) {
    if (error_.empty() && !closing_) error_ = std::move(message);
  }
  static void on_lost(const Handle*, std::uint32_t, abi::Text message, void* user, void*) {
    static_cast<NativeDriver*>(user)->tell("the device was lost: " + string(message));
  }
  static void on_error(const Handle*, std::uint32_t, abi::Text message, void* user, void*) {
    static_cast<NativeDriver*>(user)->tell(string(message));
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
  std::string error_;
  bool closing_ = false;
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

Result<std::unique_ptr<Driver>> open_native(const std::string& library, std::size_t number) {
  const Library& lib = library_at(library);
  if (!lib.problem.empty()) return fail(Code::IoError, "{}", lib.problem);
  const std::vector<Handle> adapters = adapters_of(lib);
  for (std::size_t i = 0; i < adapters.size(); ++i)
    if (i != number) lib.call.AdapterRelease(adapters[i]);
  if (number >= adapters.size())
    return fail(Code::IoError, "no graphics adapter of number {}: there are {}", number, adapters.size());
  abi::Limits limits{};
  lib.call.AdapterGetLimits(adapters[number], &limits);
  AdapterInfo info = describe(lib, adapters[number], limits);
  info.library = lib.digest();
  auto driver = NativeDriver::open(lib, adapters[number], std::move(info), limits);
  lib.call.AdapterRelease(adapters[number]);
  return driver;
}

}  // namespace loom::gpu
