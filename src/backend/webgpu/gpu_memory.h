#pragma once
// The memory of a graphics card: buffers that tensors share (heaps), the addresses of tensors, and the card's copies of
// weights. Addresses come from a range that holds no memory, so that layers add to pointers as everywhere and a host
// that reads a tensor faults at once.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backend/webgpu/connection.h"
#include "backend/webgpu/shaders.h"

namespace loom::gpu {

class GpuMemory {
 public:
  struct Range {
    std::size_t bytes = 0, heap = 0;
    std::uint64_t offset = 0;          // of the first byte in the heap
    std::byte* of_host = nullptr;      // the host's bytes that it is a copy of (add_copy())
    mutable bool was_written = false;  // by a kernel, since it was allocated
  };
  using Ranges = std::map<const std::byte*, Range>;
  // Where an address is in the buffers of the driver.
  struct Spot {
    Id buffer = 0;
    std::uint64_t offset = 0;
  };

  // `addresses`: how many bytes of addresses to reserve; 0: as many as the system has.
  GpuMemory(Connection& connection, Shaders& shaders, std::size_t addresses);
  ~GpuMemory();
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  // Reserves the addresses. OutOfMemory.
  Result<void> reserve();

  // Zeros. OutOfMemory.
  Result<std::byte*> allocate(std::size_t bytes);
  // The caller has submitted all commands that name the memory.
  void free(std::byte* memory);

  // The card's copy of bytes of the host that belong to `owner`; null without one.
  const std::byte* find_copy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes) const;
  // Forgets the copies whose owners have expired, and the one of earlier bytes at `host`. The caller frees them.
  std::vector<std::byte*> forget_old_copies(const std::byte* host);
  Result<const std::byte*> add_copy(const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes);

  // The range that contains an address, or that ends at it; null without one.
  const Ranges::value_type* find_range(const void* address) const;
  std::optional<Spot> find_spot(const void* address) const;
  // The spot of an address that is known to be one of the card's.
  Spot spot_of(const void* address) const;
  Spot spot_in(const Ranges::value_type& range, const void* address) const {
    const auto inside = static_cast<std::size_t>(static_cast<const std::byte*>(address) - range.first);
    return {heaps_[range.second.heap].buffer, range.second.offset + inside};
  }
  // The end of the range that contains an address.
  const std::byte* end_of_range(const void* address) const;
  // The first of all addresses.
  std::byte* addresses() const { return addresses_; }

 private:
  // A buffer, handed out front to back; it is destroyed when all of its ranges are free.
  struct Heap {
    Id buffer = 0;
    std::uint64_t bytes = 0, used = 0;
    std::size_t live = 0;  // ranges
  };
  struct Copy {
    std::weak_ptr<const void> owner;
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  static constexpr std::size_t kNone = ~std::size_t{0};

  Result<std::byte*> take(std::size_t bytes, std::size_t& open_heap, std::uint64_t heap_bytes);
  Result<std::size_t> new_heap(std::uint64_t bytes);
  void drop_heap(std::size_t heap);
  std::byte* find_addresses(std::size_t bytes);

  Connection& connection_;
  Shaders& shaders_;
  std::byte* addresses_ = nullptr;
  std::size_t num_addresses_, next_address_ = 0;
  Ranges ranges_;
  // Recent results of find_range(), each at an index that its address gives: a token asks for the same thousand again.
  struct Found {
    const void* address = nullptr;
    const Ranges::value_type* range = nullptr;
  };
  static constexpr unsigned kFoundBits = 12;
  mutable std::vector<Found> found_ = std::vector<Found>(std::size_t{1} << kFoundBits);
  std::vector<Heap> heaps_;
  std::size_t small_heap_ = kNone, weight_heap_ = kNone;  // the heaps that have room
  std::uint64_t next_weight_heap_ = 0;                    // bytes
  std::map<const std::byte*, Copy> copies_;               // by the address of the host's bytes
};

}  // namespace loom::gpu
