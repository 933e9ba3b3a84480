#pragma once
// A device holds the tensors of a session and runs its ops; a null Device is the host. On a device the host must not
// read or write tensors inside a pass: ops record their work (Exec::records()), and results are read after the pass.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "core/buffer.h"

namespace loom {

namespace gpu {
class GpuDevice;
}

// Strict: results have the same bits as on every other device. Fast: shaders are compiled freely, so results are close
// to these, and the next driver may give other bits.
enum class Precision : std::uint8_t { Strict, Fast };
constexpr std::string_view name(Precision precision) { return precision == Precision::Fast ? "fast" : "strict"; }

// A read that begin_read() has begun.
using ReadTicket = std::uint32_t;

// Work of a device since it was opened; zeros for a device that records no ops.
struct DeviceCounters {
  std::uint64_t rehearsed = 0;  // kernels of passes that were planned
  std::uint64_t dispatches = 0, submits = 0, pipelines = 0, bytes_read = 0, bytes_written = 0;
  double submit_ms = 0, wait_ms = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  // Zeros. Tensors can begin at the address or after it. OutOfMemory.
  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory, std::size_t bytes) = 0;
  // The host calls these between passes, after all that was recorded is done.
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void copy(const std::byte* from, std::size_t bytes, std::byte* to) = 0;
  virtual void clear(std::byte* memory, std::size_t bytes) = 0;
  // Returns the address of the device's copy of bytes of the host that do not change while `owner` lives: weights. The
  // first call makes the copy. OutOfMemory.
  virtual Result<const std::byte*> place(const std::shared_ptr<const void>& /*owner*/,
                                         std::span<const std::byte> bytes) {
    return bytes.data();
  }
  // Returns the first error on the device since the last call. Call after a pass has been read.
  virtual Result<void> check() { return {}; }
  virtual Precision precision() const { return Precision::Strict; }
  // See DeviceTurn; nothing on a device of one thread.
  virtual void enter() {}
  virtual void leave() {}

  // ---- for devices that record ops ----

  // Returns whether ops record their work on the device, which computes it. If not, the device only holds memory.
  virtual bool records() const { return false; }
  // The recorder of forms of ops; null where records() is false.
  virtual gpu::GpuDevice* gpu() { return nullptr; }
  // Begins to read whole words as they are after all that was recorded; the host may record more before finish_read(),
  // which waits for the words. Each read is finished once.
  virtual Result<ReadTicket> begin_read(const std::byte* /*from*/, std::size_t /*bytes*/) { return no_recorder(); }
  virtual Result<void> finish_read(ReadTicket /*ticket*/, std::span<std::byte> /*to*/) { return no_recorder(); }
  // Read and write tensors in the middle of a pass, after all that was recorded of it: the inputs and the results of an
  // operation that the host computes. Numbers that were uploaded for later kernels of the pass stay.
  virtual Result<void> read_in_pass(const std::byte* /*from*/, std::span<std::byte> /*to*/) { return no_recorder(); }
  virtual Result<void> write_in_pass(std::byte* /*to*/, std::span<const std::byte> /*from*/) { return no_recorder(); }
  // Counts a call of an operation that has no form for the device, so that the host computes it; reports name it.
  virtual void count_host_call(std::string_view /*operation*/) {}
  // Sets whether recorded work may be submitted before it is read, to an idle device. Returns the setting before.
  virtual bool set_submits_early(bool /*submits_early*/) { return false; }
  virtual DeviceCounters counters() const { return {}; }
  // Names the adapter of a graphics card.
  virtual std::string_view adapter_name() const { return {}; }
  // Returns whether a CPU computes the work of the device.
  virtual bool is_software() const { return false; }
  // From now on each dispatch is submitted and waited for alone, so that its time is known.
  virtual void time_kernels() {}

 private:
  static tl::unexpected<Error> no_recorder() { return fail(Code::Unsupported, "the device records no operations"); }
};

// While it lives, recorded work is submitted when it is read: the device has work until then.
class SubmitOnRead {
 public:
  explicit SubmitOnRead(Device& device) : device_(device), before_(device.set_submits_early(false)) {}
  ~SubmitOnRead() { device_.set_submits_early(before_); }
  SubmitOnRead(const SubmitOnRead&) = delete;
  SubmitOnRead& operator=(const SubmitOnRead&) = delete;

 private:
  Device& device_;
  bool before_;
};

// The precision of a device; null is the host.
inline Precision precision_of(const Device* device) {
  return device == nullptr ? Precision::Strict : device->precision();
}

// Exclusive use of a shared device for one pass and the reads after it: other threads wait. A thread may take a turn
// within its own. Null is the host, where nobody waits.
class DeviceTurn {
 public:
  explicit DeviceTurn(Device* device) : device_(device) {
    if (device_ != nullptr) device_->enter();
  }
  ~DeviceTurn() {
    if (device_ != nullptr) device_->leave();
  }
  DeviceTurn(DeviceTurn&& other) noexcept : device_(std::exchange(other.device_, nullptr)) {}
  DeviceTurn& operator=(DeviceTurn&&) = delete;

 private:
  Device* device_;
};

// Memory of a session, which holds its tensors. Ops read and write it in a pass, the host between passes with these
// functions.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_), std::swap(size_, other.size_),
        std::swap(on_host_, other.on_host_);
    return *this;
  }
  ~Memory() {
    if (device_ != nullptr && data_ != nullptr) device_->free(data_, size_);
  }

  // `bytes` zeroed bytes of the device, or of the host without one. OutOfMemory. `sparse` bytes of the host are
  // resident only where they have been written.
  static Result<Memory> create(Device* device, std::size_t bytes, bool sparse = false) {
    Memory m;
    m.device_ = device, m.size_ = bytes;
    if (device == nullptr) {
      LOOM_TRY(m.on_host_, sparse ? Buffer::create_sparse(bytes) : Buffer::create(bytes));
      m.data_ = m.on_host_.data();
    } else {
      LOOM_TRY(m.data_, device->allocate(bytes));
    }
    return m;
  }

  // Memory of the host that the caller owns.
  static Memory borrowed(std::byte* data, std::size_t bytes) {
    Memory m;
    m.data_ = data, m.size_ = bytes;
    return m;
  }

  // Address of the first byte, for tensors.
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  Device* device() const { return device_; }

  void read(std::size_t offset, std::span<std::byte> to) const {
    LOOM_ASSERT(offset <= size_ && to.size() <= size_ - offset);
    device_ != nullptr ? device_->read(data_ + offset, to) : void(std::copy_n(data_ + offset, to.size(), to.data()));
  }
  void write(std::size_t offset, std::span<const std::byte> from) {
    LOOM_ASSERT(offset <= size_ && from.size() <= size_ - offset);
    device_ != nullptr ? device_->write(data_ + offset, from)
                       : void(std::copy_n(from.data(), from.size(), data_ + offset));
  }
  // Copies from other memory of the same device.
  void copy(std::size_t offset, const Memory& from, std::size_t from_offset, std::size_t bytes) {
    LOOM_ASSERT(from.device_ == device_ && offset <= size_ && bytes <= size_ - offset && from_offset <= from.size_ &&
                bytes <= from.size_ - from_offset);
    device_ != nullptr ? device_->copy(from.data_ + from_offset, bytes, data_ + offset)
                       : void(std::copy_n(from.data_ + from_offset, bytes, data_ + offset));
  }
  void clear() { device_ != nullptr ? device_->clear(data_, size_) : void(std::fill_n(data_, size_, std::byte{})); }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Buffer on_host_;
};

}  // namespace loom
