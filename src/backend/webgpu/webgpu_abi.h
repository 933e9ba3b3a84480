#pragma once
// The part of the C API webgpu.h (webgpu-native/webgpu-headers, as wgpu-native 29 and Dawn have it) that the native
// driver uses: layouts and numbers, under our own names. tests/gpu/abi_test.py compares it with a library's header.

#include <cstddef>
#include <cstdint>

namespace loom::gpu::abi {

struct Opaque;
using Handle = Opaque*;
using Bool = std::uint32_t;
using Flags = std::uint64_t;

struct Chained {
  const Chained* next = nullptr;
  std::uint32_t type = 0;
};
struct Text {
  const char* data = nullptr;
  std::size_t length = 0;
};
struct Future {
  std::uint64_t id;
};
struct Limits {
  const Chained* next = nullptr;
  std::uint32_t textures[4] = {};
  std::uint32_t bind_groups, bind_groups_and_vertex_buffers, bindings_per_group;
  std::uint32_t dynamic_uniforms, dynamic_storages, sampled_textures, samplers;
  std::uint32_t storage_buffers, storage_textures, uniform_buffers;
  std::uint64_t uniform_binding_bytes, storage_binding_bytes;
  std::uint32_t uniform_alignment, storage_alignment, vertex_buffers;
  std::uint64_t buffer_bytes;
  std::uint32_t vertex_attributes, vertex_stride, inter_stage, color_attachments, color_bytes;
  std::uint32_t workgroup_bytes, workgroup_threads, workgroup_x, workgroup_y, workgroup_z, workgroups;
  std::uint32_t immediate_bytes;
};
// Dawn's own: what it is asked for beyond the standard. Numbers of its features change with its versions.
struct Toggles {
  Chained chain{nullptr, 0x5000a};
  std::size_t num_enabled = 0;
  const char* const* enabled = nullptr;
  std::size_t num_disabled = 0;
  const char* const* disabled = nullptr;
};
enum : std::uint32_t { kSubgroups = 0x12, kFirstOfDawn = 0x50000, kLastOfDawn = 0x500ff };  // features
struct AdapterInfo {
  const Chained* next = nullptr;
  Text vendor, architecture, device, description;
  std::uint32_t backend = 0, kind = 0, vendor_id = 0, device_id = 0, subgroup_min = 0, subgroup_max = 0;
};

// A callback, and who asked. The mode: from process_events(), or whenever.
enum : std::uint32_t { kFromProcessEvents = 2, kSpontaneous = 3 };
template <class F>
struct Callback {
  const Chained* next = nullptr;
  std::uint32_t mode = kFromProcessEvents;
  F* call = nullptr;
  void *user = nullptr, *user2 = nullptr;
};
template <class F>
struct ErrorCallback {
  const Chained* next = nullptr;
  F* call = nullptr;
  void *user = nullptr, *user2 = nullptr;
};
using OnHandle = void(std::uint32_t status, Handle handle, Text message, void*, void*);
using OnLost = void(const Handle* device, std::uint32_t reason, Text message, void*, void*);
using OnError = void(const Handle* device, std::uint32_t type, Text message, void*, void*);
using OnMapped = void(std::uint32_t status, Text message, void*, void*);
using OnScope = void(std::uint32_t status, std::uint32_t type, Text message, void*, void*);

struct Named {
  const Chained* next = nullptr;
  Text label{};
};
struct AdapterOptions {
  const Chained* next = nullptr;
  std::uint32_t level = 2, power = 2;
  Bool fallback = 0;
  std::uint32_t backend = 0;
  Handle surface = nullptr;
};
struct DeviceOptions {
  const Chained* next = nullptr;
  Text label{};
  std::size_t num_features = 0;
  const std::uint32_t* features = nullptr;
  const Limits* limits = nullptr;
  Named queue{};
  Callback<OnLost> lost{};
  ErrorCallback<OnError> error{};
};
struct BufferOptions {
  const Chained* next = nullptr;
  Text label{};
  Flags usage = 0;
  std::uint64_t size = 0;
  Bool mapped = 0;
};
struct Wgsl {
  Chained chain{nullptr, 2};
  Text code{};
};
struct BufferLayout {
  const Chained* next = nullptr;
  std::uint32_t type = 0;
  Bool dynamic = 0;
  std::uint64_t min_bytes = 0;
};
struct LayoutEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  Flags visibility = 4;
  std::uint32_t array = 0;
  BufferLayout buffer{};
  struct {
    const Chained* next = nullptr;
    std::uint32_t type = 0;
  } sampler{};
  struct {
    const Chained* next = nullptr;
    std::uint32_t sample = 0, dimension = 0;
    Bool multisampled = 0;
  } texture{};
  struct {
    const Chained* next = nullptr;
    std::uint32_t access = 0, format = 0, dimension = 0;
  } storage_texture{};
};
struct LayoutOptions {
  const Chained* next = nullptr;
  Text label{};
  std::size_t count = 0;
  const LayoutEntry* entries = nullptr;
};
struct GroupEntry {
  const Chained* next = nullptr;
  std::uint32_t binding = 0;
  Handle buffer = nullptr;
  std::uint64_t offset = 0, size = 0;
  Handle sampler = nullptr, texture = nullptr;
};
struct GroupOptions {
  const Chained* next = nullptr;
  Text label{};
  Handle layout = nullptr;
  std::size_t count = 0;
  const GroupEntry* entries = nullptr;
};
struct PipelineLayoutOptions {
  const Chained* next = nullptr;
  Text label{};
  std::size_t count = 0;
  const Handle* layouts = nullptr;
  std::uint32_t immediate_bytes = 0;
};
struct PipelineOptions {
  const Chained* next = nullptr;
  Text label{};
  Handle layout = nullptr;
  struct {
    const Chained* next = nullptr;
    Handle module = nullptr;
    Text entry{};
    std::size_t num_constants = 0;
    const void* constants = nullptr;
  } compute{};
};
struct PassOptions {
  const Chained* next = nullptr;
  Text label{};
  const void* timestamps = nullptr;
};

// Flags of buffers.
enum : Flags { kMapRead = 1, kCopyFrom = 4, kCopyTo = 8, kUniform = 0x40, kStorage = 0x80 };
enum : std::uint32_t { kUniformBinding = 2, kStorageBinding = 3, kReadOnlyBinding = 4 };
enum : std::uint32_t { kSuccess = 1 };
enum : std::uint32_t { kValidation = 1, kOutOfMemory = 2, kInternal = 3 };           // filters of error scopes
enum : std::uint32_t { kNoError = 1, kValidationError = 2, kOutOfMemoryError = 3 };  // what they tell

// Checks that wgpu-native adds to untrusted shaders: of indices, and of the rounds of loops, which keeps compilers from
// unrolling them.
enum : Flags { kChecksIndices = 1 };

// wgpu-native's own list of adapters; a library without it is asked for one.
struct EnumerateOptions {
  const Chained* next = nullptr;
  Flags backends = 0;
};

// Functions by name, as the library exports them with the prefix "wgpu".
#define LOOM_WEBGPU_FUNCTIONS(X)                                                                                     \
  X(CreateInstance, Handle, (const void* options))                                                                   \
  X(InstanceProcessEvents, void, (Handle instance))                                                                  \
  X(InstanceRequestAdapter, Future, (Handle instance, const AdapterOptions*, Callback<OnHandle>))                    \
  X(InstanceRelease, void, (Handle))                                                                                 \
  X(AdapterGetInfo, std::uint32_t, (Handle adapter, AdapterInfo*))                                                   \
  X(AdapterGetLimits, std::uint32_t, (Handle adapter, Limits*))                                                      \
  X(AdapterRequestDevice, Future, (Handle adapter, const DeviceOptions*, Callback<OnHandle>))                        \
  X(AdapterInfoFreeMembers, void, (AdapterInfo))                                                                     \
  X(AdapterRelease, void, (Handle))                                                                                  \
  X(DeviceGetQueue, Handle, (Handle device))                                                                         \
  X(DeviceCreateBuffer, Handle, (Handle device, const BufferOptions*))                                               \
  X(DeviceCreateShaderModule, Handle, (Handle device, const Named*))                                                 \
  X(DeviceCreateBindGroupLayout, Handle, (Handle device, const LayoutOptions*))                                      \
  X(DeviceCreatePipelineLayout, Handle, (Handle device, const PipelineLayoutOptions*))                               \
  X(DeviceCreateComputePipeline, Handle, (Handle device, const PipelineOptions*))                                    \
  X(DeviceCreateBindGroup, Handle, (Handle device, const GroupOptions*))                                             \
  X(DeviceCreateCommandEncoder, Handle, (Handle device, const Named*))                                               \
  X(DevicePushErrorScope, void, (Handle device, std::uint32_t filter))                                               \
  X(DevicePopErrorScope, Future, (Handle device, Callback<OnScope>))                                                 \
  X(DeviceRelease, void, (Handle))                                                                                   \
  X(QueueWriteBuffer, void, (Handle queue, Handle buffer, std::uint64_t offset, const void* data, std::size_t size)) \
  X(QueueSubmit, void, (Handle queue, std::size_t count, const Handle* commands))                                    \
  X(QueueRelease, void, (Handle))                                                                                    \
  X(BufferMapAsync, Future, (Handle, Flags mode, std::size_t offset, std::size_t size, Callback<OnMapped>))          \
  X(BufferGetConstMappedRange, const void*, (Handle, std::size_t offset, std::size_t size))                          \
  X(BufferUnmap, void, (Handle))                                                                                     \
  X(BufferDestroy, void, (Handle))                                                                                   \
  X(BufferRelease, void, (Handle))                                                                                   \
  X(BindGroupRelease, void, (Handle))                                                                                \
  X(BindGroupLayoutRelease, void, (Handle))                                                                          \
  X(PipelineLayoutRelease, void, (Handle))                                                                           \
  X(ShaderModuleRelease, void, (Handle))                                                                             \
  X(ComputePipelineRelease, void, (Handle))                                                                          \
  X(CommandEncoderBeginComputePass, Handle, (Handle encoder, const PassOptions*))                                    \
  X(CommandEncoderCopyBufferToBuffer, void,                                                                          \
    (Handle encoder, Handle from, std::uint64_t from_at, Handle to, std::uint64_t to_at, std::uint64_t size))        \
  X(CommandEncoderClearBuffer, void, (Handle encoder, Handle buffer, std::uint64_t offset, std::uint64_t size))      \
  X(CommandEncoderFinish, Handle, (Handle encoder, const Named*))                                                    \
  X(CommandEncoderRelease, void, (Handle))                                                                           \
  X(CommandBufferRelease, void, (Handle))                                                                            \
  X(ComputePassEncoderSetPipeline, void, (Handle pass, Handle pipeline))                                             \
  X(ComputePassEncoderSetBindGroup, void,                                                                            \
    (Handle pass, std::uint32_t index, Handle group, std::size_t count, const std::uint32_t* offsets))               \
  X(ComputePassEncoderDispatchWorkgroups, void, (Handle pass, std::uint32_t x, std::uint32_t y, std::uint32_t z))    \
  X(ComputePassEncoderEnd, void, (Handle pass))                                                                      \
  X(ComputePassEncoderRelease, void, (Handle))

struct Functions {
#define LOOM_DECLARE(name, result, arguments) result(*name) arguments = nullptr;
  LOOM_WEBGPU_FUNCTIONS(LOOM_DECLARE)
#undef LOOM_DECLARE
  // Dawn has it; null in other libraries.
  Bool (*AdapterHasFeature)(Handle adapter, std::uint32_t feature) = nullptr;
  // Of wgpu-native alone; may be null.
  std::size_t (*InstanceEnumerateAdapters)(Handle instance, const EnumerateOptions*, Handle* adapters) = nullptr;
  Handle (*DeviceCreateShaderModuleTrusted)(Handle device, const Named*, Flags checks) = nullptr;
  Bool (*DevicePoll)(Handle device, Bool wait, const std::uint64_t* submission) = nullptr;
  std::uint64_t (*QueueSubmitForIndex)(Handle queue, std::size_t count, const Handle* commands) = nullptr;
};

}  // namespace loom::gpu::abi
