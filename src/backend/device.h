#pragma once
// A device holds the tensors of a session and runs its ops. Without one, that is this computer. On a device the host
// must not touch tensors inside a pass: ops record what is to be done (Exec::computes()), and results are read when the
// pass has ended.

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

// What results of a device are worth: the bits of every other device, or those of a compiler that was left free, which
// are close to them and may be others with the next driver.
enum class Precision : std::uint8_t { Strict, Fast };
constexpr std::string_view name(Precision precision) { return precision == Precision::Fast ? "fast" : "strict"; }

class Device {
 public:
  virtual ~Device() = default;
  // Zeros. The address is one that tensors can begin at or behind. OutOfMemory.
  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory, std::size_t bytes) = 0;
  // The host calls these between passes, when all that was recorded is done.
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
  virtual void copy(const std::byte* from, std::size_t bytes, std::byte* to) = 0;
  virtual void clear(std::byte* memory, std::size_t bytes) = 0;
  // Where the device has a copy of bytes of the host that stay as they are while `owner` lives: weights. It is made
  // when it is first asked for. OutOfMemory.
  virtual Result<const std::byte*> place(const std::shared_ptr<const void>& /*owner*/,
                                         std::span<const std::byte> bytes) {
    return bytes.data();
  }
  // What went wrong on the device since the last call; asked when a pass has been read.
  virtual Result<void> check() { return {}; }
  virtual Precision precision() const { return Precision::Strict; }
  // The recorder of ops of a device that computes; null for one that does not.
  virtual gpu::GpuDevice* gpu() { return nullptr; }
  // See DeviceTurn; nothing on a device of one thread.
  virtual void enter() {}
  virtual void leave() {}
};

// Null: this computer.
inline Precision precision_of(const Device* device) {
  return device == nullptr ? Precision::Strict : device->precision();
}

// A pass and the reading of its results, of a device that several threads share: others wait. A thread may take a turn
// within its own. Null: this computer, where nobody waits.
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

// Memory of a session, where its tensors lie. Ops read and write it in a pass; the host does between passes, by the
// functions here.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_), std::swap(size_, other.size_),
        std::swap(here_, other.here_);
    return *this;
  }
  ~Memory() {
    if (device_ != nullptr && data_ != nullptr) device_->free(data_, size_);
  }

  // `bytes` zeroed bytes of the device, or of this computer without one. OutOfMemory. On this computer `sparse` ones
  // are resident only where they have been written.
  static Result<Memory> create(Device* device, std::size_t bytes, bool sparse = false) {
    Memory m;
    m.device_ = device, m.size_ = bytes;
    if (device == nullptr) {
      LOOM_TRY(m.here_, sparse ? Buffer::create_sparse(bytes) : Buffer::create(bytes));
      m.data_ = m.here_.data();
    } else {
      LOOM_TRY(m.data_, device->allocate(bytes));
    }
    return m;
  }

  // Memory of this computer that somebody else holds.
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
  Buffer here_;
};

}  // namespace loom
