#pragma once
// A device that computes nothing and whose memory faults when the host touches it: a pass that runs on it never asks
// for a value.

#include <sys/mman.h>

#include <vector>

#include "backend/device.h"

namespace loom::test {

class NullDevice : public Device {
 public:
  NullDevice() = default;
  NullDevice(const NullDevice&) = delete;
  NullDevice& operator=(const NullDevice&) = delete;
  ~NullDevice() override {
    for (const auto& [base, bytes] : ranges_) munmap(base, bytes);
  }

  // Addresses of `bytes` bytes, none of which may be read or written.
  std::byte* reserve(std::size_t bytes) {
    bytes = bytes == 0 ? 1 : bytes;
    void* const base = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return nullptr;
    ranges_.push_back({base, bytes});
    return static_cast<std::byte*>(base);
  }
  Result<std::byte*> allocate(std::size_t bytes) override {
    if (std::byte* const base = reserve(bytes); base != nullptr) return base;
    return fail(Code::OutOfMemory, "no addresses for {} bytes", bytes);
  }
  void free(std::byte* /*memory*/, std::size_t /*bytes*/) override {}
  // Nothing is computed, so all there is to read is zeros.
  void read(const std::byte* /*from*/, std::span<std::byte> to) override {
    ++reads;
    std::ranges::fill(to, std::byte{});
  }
  void write(std::byte* /*to*/, std::span<const std::byte> /*from*/) override {}
  void copy(const std::byte* /*from*/, std::size_t /*bytes*/, std::byte* /*to*/) override {}
  void clear(std::byte* /*memory*/, std::size_t /*bytes*/) override {}

  int reads = 0;

 private:
  std::vector<std::pair<void*, std::size_t>> ranges_;
};

}  // namespace loom::test
