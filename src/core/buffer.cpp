#include "core/buffer.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "core/checked.h"
#include "core/hooks.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace loom {
namespace {

[[maybe_unused]] constexpr std::size_t kHugePage = std::size_t{2} << 20;

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
#if defined(__linux__)
  if (mapped_ != 0) {
    ::munmap(data_, mapped_);
    return;
  }
#endif
  std::free(data_);
}

Result<Buffer> Buffer::create(std::size_t bytes) { return create(bytes, true); }
Result<Buffer> Buffer::create_sparse(std::size_t bytes) { return create(bytes, false); }

Result<Buffer> Buffer::create(std::size_t bytes, [[maybe_unused]] bool huge_pages) {
  Buffer out;
  out.size_ = bytes;
  if (bytes == 0) return out;
  if (const MemoryHook* const host = memory_hook()) {
    LOOM_TRY(out.data_, ask_host(*host, bytes));
    out.mapped_ = kFromHost;
    return out;
  }
  LOOM_TRY(const std::size_t padded, checked_add(bytes, kAlignment));
#if defined(__linux__)
  if (bytes >= kHugePage) {
    // Over-reserve so that the start can be moved to a huge-page boundary, then give the ends back.
    LOOM_TRY(const std::size_t reserve, checked_add(bytes, 2 * kHugePage));
    void* raw = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return fail(Code::OutOfMemory, "cannot reserve {} bytes", bytes);
    auto* const begin = static_cast<std::byte*>(raw);
    const std::size_t lead =
        round_up(reinterpret_cast<std::uintptr_t>(begin), kHugePage) - reinterpret_cast<std::uintptr_t>(begin);
    // Whole huge pages only where they are filled: the last part stays on small pages so that no memory is wasted.
    out.mapped_ = round_up(bytes, 4096);
    out.data_ = begin + lead;
    if (lead != 0) ::munmap(begin, lead);
    const std::size_t tail = reserve - lead - out.mapped_;
    if (tail != 0) ::munmap(out.data_ + out.mapped_, tail);
    ::madvise(out.data_, out.mapped_, huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    return out;
  }
#endif
  out.data_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, round_up(padded, kAlignment)));
  if (out.data_ == nullptr) return fail(Code::OutOfMemory, "cannot allocate {} bytes", bytes);
  std::memset(out.data_, 0, bytes);
  return out;
}

}  // namespace loom
