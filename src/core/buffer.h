#pragma once
// Aligned memory that reports OutOfMemory instead of throwing. Large buffers ask for 2 MiB pages: one-stream reads of
// weights gain 24-40 % from them.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/error.h"

namespace loom {

class Buffer {
 public:
  static constexpr std::size_t kAlignment = 64;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  // `bytes` zeroed bytes at a multiple of 64 (2 MiB from 2 MiB on). OutOfMemory when the system refuses.
  static Result<Buffer> create(std::size_t bytes);

  // Like create(), for memory that is filled step by step: small pages, resident only after a write.
  static Result<Buffer> create_sparse(std::size_t bytes);

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  static Result<Buffer> create(std::size_t bytes, bool huge_pages);
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;  // bytes of the anonymous mapping, 0 of the heap, 1 of the host
};

}  // namespace loom
