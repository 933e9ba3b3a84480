// Pages, stacks and cores on macOS. Linked by tools/wheel, never run by us.

#include <pthread.h>
#include <sys/mman.h>
#include <sys/sysctl.h>

#include <algorithm>

#include "core/system.h"

namespace loom::os {

bool can_open_libraries() { return true; }

std::byte* take_pages(std::size_t bytes, bool) {
  void* const begin = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return begin == MAP_FAILED ? nullptr : static_cast<std::byte*>(begin);
}

std::vector<int> memory_nodes() { return {}; }
bool interleave_pages(std::byte*, std::size_t, std::span<const int>) { return false; }

// madvise() leaves the pages in memory on this system, so that other ones take their addresses.
void empty_addresses(std::byte* begin, std::size_t bytes) noexcept {
  ::mmap(begin, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

Stack stack_of_thread() {
  Stack out;
  out.high = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  out.low = out.high - pthread_get_stacksize_np(pthread_self());
  return out;
}

namespace {
int counted(const char* name) {
  int cores = 0;
  std::size_t bytes = sizeof cores;
  return ::sysctlbyname(name, &cores, &bytes, nullptr, 0) == 0 ? cores : 0;
}
}  // namespace

int physical_cores() { return std::max(counted("hw.physicalcpu"), 1); }
int performance_cores() {
  const int fast = counted("hw.perflevel0.physicalcpu");  // processors of Apple have levels, the fastest first
  return fast > 0 ? fast : physical_cores();
}

}  // namespace loom::os
