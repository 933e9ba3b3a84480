#pragma once
// The narrow interface to WebGPU: buffers, pipelines, and streams of commands. A native driver calls a library with the
// C API webgpu.h (native.h); in a browser the same streams go to navigator.gpu. No call waits: reads are begun and
// polled. A device that is lost does nothing from then on: what returns a Result gives DeviceLost with the reason.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::gpu {

struct Limits {
  std::uint64_t binding_bytes = 0, buffer_bytes = 0;
  std::uint32_t storage_buffers = 0;  // of one pipeline
  std::uint32_t workgroup_bytes = 0;  // of memory that a workgroup shares
  std::uint32_t threads = 0;          // of a workgroup
  std::uint32_t workgroups = 0;       // along one axis of a dispatch
};

inline constexpr Limits kNoLimits{~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint32_t{0},
                                  ~std::uint32_t{0}, ~std::uint32_t{0}, ~std::uint32_t{0}};

struct AdapterInfo {
  std::string name, driver, backend, kind;  // "Vulkan", "discrete"
  Limits limits;
  std::string library = {};            // the digest of its file, of a device that is open; empty where it is not known
  std::uint32_t subgroup_threads = 0;  // 0: they differ, or are unknown
  // Whether subgroups of 32 threads multiply matrices of bytes, 16 x 32 by 32 x 16, into i32 (WGSL's extension
  // chromium_experimental_subgroup_matrix). False of a device that is not open.
  bool has_matrix_units = false;
};

// Numbers of buffers, pipelines and groups, and of reads; from 1.
using Id = std::uint32_t;
using Ticket = std::uint32_t;

enum class BufferUse : std::uint8_t { Storage, Parameters };

// Parameters of a dispatch: so many bytes of the parameter buffer, at a multiple of as many.
inline constexpr std::uint32_t kParameterBytes = 256;

// A stream of 32-bit words: a command and its operands. Offsets and sizes are in words of 4 bytes, but for the offset
// of parameters, in bytes.
enum class Command : std::uint32_t {
  Dispatch,  // pipeline, group, offset of the parameters, workgroups along x, along y
  Copy,      // from, offset, to, offset, words
  Clear,     // buffer, offset, words
};

class Driver {
 public:
  virtual ~Driver() = default;
  virtual const AdapterInfo& adapter() const = 0;
  // Zeros. OutOfMemory.
  virtual Result<Id> create_buffer(std::uint64_t bytes, BufferUse use) = 0;
  virtual void destroy_buffer(Id buffer) = 0;
  virtual void write(Id buffer, std::uint64_t offset, std::span<const std::byte> from) = 0;
  // Compiles a shader with the entry point "main". Binding 0 holds the parameters, bindings 1 to `buffers` storage; bit
  // i of `read_only` is set where binding i + 1 is only read. Unsupported, with what the compiler says.
  virtual Result<Id> create_pipeline(std::string_view name, std::string_view wgsl, std::uint32_t buffers,
                                     std::uint32_t read_only) = 0;
  // The buffers that a dispatch of a pipeline finds: parameters first, then storage.
  virtual Id create_group(Id pipeline, Id parameters, std::span<const Id> buffers) = 0;
  virtual void destroy_group(Id group) = 0;
  // Runs commands after all that was written and submitted before.
  virtual void submit(std::span<const std::uint32_t> commands) = 0;
  // Begins to read `bytes` bytes of a buffer, as they are after all that was submitted before.
  virtual Result<Ticket> begin_read(Id buffer, std::uint64_t offset, std::uint64_t bytes) = 0;
  // Returns whether the bytes are in `to`; the ticket is then used up, as it is by an error (IoError). With `wait` it
  // may sleep until there is news.
  virtual Result<bool> poll(Ticket ticket, std::span<std::byte> to, bool wait) = 0;
  // The first error that the device has reported since the last call: a command that was not valid (IoError), memory
  // that was missing (OutOfMemory).
  virtual Result<void> check() = 0;
  // The device does not answer: from now on nothing is asked of it, or waited for, not even at the end.
  virtual void abandon() {}
  // Bytes of the buffers that exist now.
  virtual std::uint64_t buffer_bytes() const = 0;
};

}  // namespace loom::gpu
