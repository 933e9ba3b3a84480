#include "backend/webgpu/gpu_memory.h"

#include <algorithm>

#include "core/checked.h"
#include "core/system.h"

namespace loom::gpu {
namespace {

constexpr auto kMostAddresses = static_cast<std::size_t>(std::uint64_t{1} << (sizeof(std::size_t) > 4 ? 42 : 30));
constexpr std::size_t kAlignment = 256;               // of tensors
constexpr std::size_t kSmall = std::size_t{1} << 18;  // smaller pieces of memory share a buffer
constexpr std::uint64_t kSmallHeap = 1 << 20, kFirstWeightHeap = 4 << 20, kLargestWeightHeap = 8 << 20;
constexpr std::string_view kWhenFull =
    "free memory on the card, take a smaller context, batch or model, or run with --device cpu";

}  // namespace

GpuMemory::GpuMemory(Connection& connection, Shaders& shaders, std::size_t addresses)
    : connection_(connection), shaders_(shaders), num_addresses_(addresses == 0 ? kMostAddresses : addresses) {}

GpuMemory::~GpuMemory() {
  if (addresses_ != nullptr) os::give_addresses_back(addresses_, num_addresses_);
}

Result<void> GpuMemory::reserve() {
  addresses_ = os::reserve_addresses(num_addresses_);
  if (addresses_ == nullptr) return fail(Code::OutOfMemory, "no addresses for the memory of a graphics card");
  return {};
}

// ---- heaps and addresses ----

Result<std::size_t> GpuMemory::new_heap(std::uint64_t bytes) {
  const AdapterInfo& adapter = connection_.adapter();
  if (const std::uint64_t most = std::min(adapter.limits.binding_bytes, adapter.limits.buffer_bytes); bytes > most)
    return fail(Code::OutOfMemory, "{}: {} bytes in one piece, the device binds {} at most: {}", adapter.name, bytes,
                most, kWhenFull);
  auto made = connection_.check_lost(connection_.driver().create_buffer(bytes, BufferUse::Storage));
  if (!made && made.error().code == Code::OutOfMemory)
    return fail(Code::OutOfMemory, "{}: {}", made.error().message, kWhenFull);
  LOOM_TRY(const Id buffer, std::move(made));
  const auto unused = std::ranges::find(heaps_, Id{0}, &Heap::buffer);
  const auto heap = static_cast<std::size_t>(unused - heaps_.begin());
  if (unused == heaps_.end()) heaps_.emplace_back();
  heaps_[heap] = {buffer, bytes, 0, 0};
  return heap;
}

void GpuMemory::drop_heap(std::size_t heap) {
  const Id buffer = heaps_[heap].buffer;
  if (!connection_.is_lost()) {
    shaders_.drop_groups(buffer);
    connection_.driver().destroy_buffer(buffer);
  }
  heaps_[heap] = {};
  if (small_heap_ == heap) small_heap_ = kNone;
  if (weight_heap_ == heap) weight_heap_ = kNone;
}

// Returns addresses after all that were handed out before, so that a stale pointer is noticed for as long as possible;
// when there are no more, the first free ones that suffice. Null without such.
std::byte* GpuMemory::find_addresses(std::size_t bytes) {
  if (bytes <= num_addresses_ - next_address_) return addresses_ + std::exchange(next_address_, next_address_ + bytes);
  const std::byte* begin = addresses_;
  const auto suffice = [&](const std::byte* end) {
    return begin <= end && bytes <= static_cast<std::size_t>(end - begin);
  };
  for (const auto& [at, range] : ranges_) {
    if (suffice(at)) break;
    begin = at + round_up(std::max<std::size_t>(range.bytes, 1), kAlignment) + kAlignment;
  }
  return suffice(addresses_ + num_addresses_) ? const_cast<std::byte*>(begin) : nullptr;
}

// Takes memory at the end of the open heap, or of a new one; pieces as large as half a heap have their own.
Result<std::byte*> GpuMemory::take(std::size_t bytes, std::size_t& open_heap, std::uint64_t heap_bytes) {
  if (connection_.is_lost()) return connection_.loss();
  const std::uint64_t room = round_up(std::max<std::size_t>(bytes, 1), kAlignment);
  std::byte* const at = find_addresses(static_cast<std::size_t>(room) + kAlignment);
  if (at == nullptr) return fail(Code::OutOfMemory, "no addresses left for the memory of a graphics card");
  std::size_t heap = open_heap;
  if (heap == kNone || heaps_[heap].bytes - heaps_[heap].used < room) {
    LOOM_TRY(heap, new_heap(std::max(room, heap_bytes)));
    if (room < heap_bytes / 2) open_heap = heap;
  }
  ranges_[at] = {bytes, heap, heaps_[heap].used};
  heaps_[heap].used += room;
  ++heaps_[heap].live;
  return at;
}

Result<std::byte*> GpuMemory::allocate(std::size_t bytes) {
  if (bytes < kSmall) return take(bytes, small_heap_, kSmallHeap);
  std::size_t alone = kNone;
  return take(bytes, alone, 0);
}

void GpuMemory::free(std::byte* memory) {
  const auto range = ranges_.find(memory);
  LOOM_ASSERT(range != ranges_.end());
  const std::size_t heap = range->second.heap;
  ranges_.erase(range);
  std::ranges::fill(found_, Found{});
  if (--heaps_[heap].live == 0) drop_heap(heap);
}

const GpuMemory::Ranges::value_type* GpuMemory::find_range(const void* address) const {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  Found& found = found_[reinterpret_cast<std::uintptr_t>(address) * kSpread >> (64 - kFoundBits)];
  if (found.address == address && address != nullptr) return found.range;
  const auto* const at = static_cast<const std::byte*>(address);
  const auto after = ranges_.upper_bound(at);
  if (after == ranges_.begin()) return nullptr;
  const auto& range = *std::prev(after);
  if (static_cast<std::size_t>(at - range.first) > range.second.bytes) return nullptr;
  found = {address, &range};
  return &range;
}

std::optional<GpuMemory::Spot> GpuMemory::find_spot(const void* address) const {
  const auto* const range = find_range(address);
  if (range == nullptr) return {};
  return spot_in(*range, address);
}

GpuMemory::Spot GpuMemory::spot_of(const void* address) const {
  const auto spot = find_spot(address);
  LOOM_ASSERT(spot);
  return *spot;
}

const std::byte* GpuMemory::end_of_range(const void* address) const {
  const auto* const range = find_range(address);
  return range->first + range->second.bytes;
}

// ---- copies of weights ----

const std::byte* GpuMemory::find_copy(const std::shared_ptr<const void>& owner,
                                      std::span<const std::byte> bytes) const {
  const auto copy = copies_.find(bytes.data());
  if (copy == copies_.end()) return nullptr;
  const auto& [of, at, size] = copy->second;
  const bool is_same = size == bytes.size() && !of.expired() && !of.owner_before(owner) && !owner.owner_before(of);
  return is_same ? at : nullptr;
}

std::vector<std::byte*> GpuMemory::forget_old_copies(const std::byte* host) {
  std::vector<std::byte*> old;
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const bool is_old = copy->second.owner.expired() || copy->first == host;
    if (is_old) old.push_back(copy->second.at);
    copy = is_old ? copies_.erase(copy) : std::next(copy);
  }
  return old;
}

Result<const std::byte*> GpuMemory::add_copy(const std::shared_ptr<const void>& owner,
                                             std::span<const std::byte> bytes) {
  if (next_weight_heap_ == 0) next_weight_heap_ = kFirstWeightHeap;
  const std::size_t before = weight_heap_;
  LOOM_TRY(std::byte* const at, take(bytes.size(), weight_heap_, next_weight_heap_));
  if (weight_heap_ != before) next_weight_heap_ = std::min(kLargestWeightHeap, 2 * next_weight_heap_);
  const Spot spot = spot_of(at);
  const std::size_t whole = bytes.size() / 4 * 4;
  connection_.driver().write(spot.buffer, spot.offset, bytes.first(whole));
  if (whole != bytes.size()) {
    std::byte last[4] = {};
    std::ranges::copy(bytes.subspan(whole), last);
    connection_.driver().write(spot.buffer, spot.offset + whole, last);
  }
  copies_[bytes.data()] = {owner, at, bytes.size()};
  ranges_[at].of_host = const_cast<std::byte*>(bytes.data());
  return at;
}

}  // namespace loom::gpu
