#include "core/buffer.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/checked.h"
#include "core/hooks.h"
#include "core/system.h"

namespace loom {
namespace {

// In place of the size of a mapping: the memory came from the host. In front of the data stands which hook it was,
// since the host may have set another one by the time the memory goes back.
constexpr std::size_t kFromHost = 1;
constexpr std::size_t kHostHead = Buffer::kAlignment;
struct HostHead {
  const MemoryHook* from;
};

Result<std::byte*> ask_host(const MemoryHook& host, std::size_t bytes) {
  LOOM_TRY(const std::size_t whole, checked_add(bytes, kHostHead));
  auto* const memory = static_cast<std::byte*>(host.allocate(host.user, whole, Buffer::kAlignment));
  if (memory == nullptr) return fail(Code::OutOfMemory, "the host has no {} bytes", whole);
  new (memory) HostHead{&host};
  std::memset(memory + kHostHead, 0, bytes);
  return memory + kHostHead;
}

void give_back(std::byte* data, std::size_t bytes) {
  std::byte* const memory = data - kHostHead;
  const MemoryHook* const from = std::launder(reinterpret_cast<const HostHead*>(memory))->from;
  from->free(from->user, memory, bytes + kHostHead);
}

}  // namespace

Buffer::Buffer(Buffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

Buffer::~Buffer() {
  if (mapped_ == kFromHost) {
    give_back(data_, size_);
    return;
  }
  if (mapped_ != 0) {
    os::give_pages_back(data_, mapped_);
    return;
  }
  os::give_aligned_back(data_);
}

Result<Buffer> Buffer::create(std::size_t bytes) { return create(bytes, true); }
Result<Buffer> Buffer::create_sparse(std::size_t bytes) { return create(bytes, false); }

Result<Buffer> Buffer::create(std::size_t bytes, bool huge_pages) {
  Buffer out;
  out.size_ = bytes;
  if (bytes == 0) return out;
  if (const MemoryHook* const host = memory_hook()) {
    LOOM_TRY(out.data_, ask_host(*host, bytes));
    out.mapped_ = kFromHost;
    return out;
  }
  LOOM_TRY(const std::size_t padded, checked_add(bytes, kAlignment));
  if (bytes >= os::kHugePage) {
    // Whole huge pages only where they are filled: the last part stays on small pages so that no memory is wasted.
    out.mapped_ = round_up(bytes, 4096);
    out.data_ = os::take_pages(out.mapped_, huge_pages);
    if (out.data_ != nullptr) return out;
    out.mapped_ = 0;
    return fail(Code::OutOfMemory, "cannot reserve {} bytes", bytes);
  }
  out.data_ = os::take_aligned(round_up(padded, kAlignment), kAlignment);
  if (out.data_ == nullptr) return fail(Code::OutOfMemory, "cannot allocate {} bytes", bytes);
  std::memset(out.data_, 0, bytes);
  return out;
}

}  // namespace loom
