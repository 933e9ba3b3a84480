// WASI has no maps, users, locks, other processes or sizes of stacks: maps become copies.

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/system.h"

// Objects that were compiled with atomics take errno for thread-local, wasi-libc's objects for a variable: this one is
// both, since the main thread's variables stay where the module has them. With wasi-libc's own, they would write into
// the heap.
thread_local int errno = 0;

namespace loom::os {

// Hosts keep a program inside the folders that it was given.
std::string resolved(const std::string&) { return {}; }

Lock lock(int) { return Lock::taken; }
bool has_name(int) { return true; }
bool keep_permissions(int, const std::string&) { return true; }
void remove_left_over(const std::string&) {}

const std::byte* map(int file, std::size_t bytes) {
  auto* const copy = static_cast<std::byte*>(std::malloc(bytes));
  for (std::size_t done = 0; copy != nullptr && done < bytes;) {
    const std::int64_t got = read(file, {copy + done, bytes - done});
    if (got <= 0) {
      if (got == 0) errno = EIO;  // the file became shorter
      std::free(copy);
      return nullptr;
    }
    done += static_cast<std::size_t>(got);
  }
  return copy;
}
void unmap(const std::byte* begin, std::size_t) noexcept { std::free(const_cast<std::byte*>(begin)); }
void release_pages(const std::byte*, std::size_t) {}

std::byte* take_pages(std::size_t bytes, bool) {
  constexpr std::size_t kPage = 65536;
  std::byte* const begin = take_aligned(bytes, kPage);
  if (begin != nullptr) std::memset(begin, 0, bytes);
  return begin;
}
void give_pages_back(std::byte* begin, std::size_t) noexcept { give_aligned_back(begin); }
std::vector<int> memory_nodes() { return {}; }
bool interleave_pages(std::byte*, std::size_t, std::span<const int>) { return false; }

// Memory is as large as its addresses and never becomes smaller. So addresses are pages that the memory grows by, which
// cost nothing until they are touched; what was given back is handed out again. Where the memory may not grow so far,
// they are those of the upper half, where it never reaches, and which can never be backed with memory.
namespace {
constexpr std::uintptr_t kUpperHalf = std::uintptr_t{1} << 31;
struct Grown {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  bool is_taken = false;
} grown;
}  // namespace

std::byte* reserve_addresses(std::size_t bytes) {
  if (grown.is_taken || bytes > kUpperHalf) return nullptr;
  if (grown.bytes < bytes) {
    const std::size_t pages = (bytes + kAddressPiece - 1) / kAddressPiece;
    const std::size_t before = __builtin_wasm_memory_grow(0, pages);
    if (before == SIZE_MAX) return reinterpret_cast<std::byte*>(kUpperHalf);
    grown = {reinterpret_cast<std::byte*>(before * kAddressPiece), pages * kAddressPiece, false};
  }
  grown.is_taken = true;
  return grown.begin;
}
void give_addresses_back(std::byte* begin, std::size_t) noexcept {
  if (begin == grown.begin) grown.is_taken = false;
}
bool fill_addresses(std::byte* begin, std::size_t bytes) {
  const auto inside = reinterpret_cast<std::uintptr_t>(begin) - reinterpret_cast<std::uintptr_t>(grown.begin);
  if (inside >= grown.bytes || bytes > grown.bytes - inside) return false;
  std::memset(begin, 0, bytes);
  return true;
}
void empty_addresses(std::byte*, std::size_t) noexcept {}
std::size_t page_bytes() { return 0; }

bool can_open_libraries() { return false; }
void* open_library(const char*) { return nullptr; }
void* symbol_of(void*, const char*) { return nullptr; }
std::string file_of_symbol(void*) { return {}; }

Stack stack_of_thread() { return {}; }
int physical_cores() { return 1; }
int performance_cores() { return 1; }
bool watch_forks(void (*)(), void (*)(), void (*)()) { return false; }

}  // namespace loom::os
