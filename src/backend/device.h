#pragma once
// Where the tensors of a session lie and its ops run. Without a device that is this computer. On a device the host must not touch tensors inside a
// pass: ops record what is to be done (Exec::computes()), and results are read when the pass has ended.

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "backend/exec.h"

namespace loom {

class Device {
 public:
  virtual ~Device() = default;
  // OutOfMemory when the device cannot give as much.
  virtual Result<Arena> arena(const Arena::Mark& bytes) = 0;
  // Zeros. The address is one that tensors can begin at or behind.
  virtual Result<std::byte*> allocate(std::size_t bytes) = 0;
  virtual void free(std::byte* memory, std::size_t bytes) = 0;
  // Between passes.
  virtual void read(const std::byte* from, std::span<std::byte> to) = 0;
  virtual void write(std::byte* to, std::span<const std::byte> from) = 0;
};

// Memory that lasts longer than a pass, where a session's tensors lie: states of layers, gradients, running statistics. Ops read and write it in a
// pass; the host does between passes, by read() and write().
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_), std::swap(data_, other.data_), std::swap(size_, other.size_), std::swap(here_, other.here_);
    return *this;
  }
  ~Memory() {
    if (device_ != nullptr && data_ != nullptr) device_->free(data_, size_);
  }

  // `bytes` zeroed bytes of the device, or of this computer without one. OutOfMemory.
  static Result<Memory> create(Device* device, std::size_t bytes) {
    Memory m;
    m.device_ = device, m.size_ = bytes;
    if (device == nullptr) {
      LOOM_TRY(m.here_, Buffer::create(bytes));
      m.data_ = m.here_.data();
    } else {
      LOOM_TRY(m.data_, device->allocate(bytes));
    }
    return m;
  }

  // Address of the first byte, for tensors.
  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }

  void read(std::size_t offset, std::span<std::byte> to) const {
    LOOM_ASSERT(offset <= size_ && to.size() <= size_ - offset);
    device_ != nullptr ? device_->read(data_ + offset, to) : void(std::copy_n(data_ + offset, to.size(), to.data()));
  }
  void write(std::size_t offset, std::span<const std::byte> from) {
    LOOM_ASSERT(offset <= size_ && from.size() <= size_ - offset);
    device_ != nullptr ? device_->write(data_ + offset, from) : void(std::copy_n(from.data(), from.size(), data_ + offset));
  }
  void clear() {
    if (device_ == nullptr) return void(std::fill_n(data_, size_, std::byte{}));
    const std::vector<std::byte> zeros(size_);
    device_->write(data_, zeros);
  }

 private:
  Device* device_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Buffer here_;
};

}  // namespace loom
