#include "io/hostile_test.h"

#include <atomic>
#include <new>

namespace {
std::atomic<std::size_t> g_allocated{0};
}

void* operator new(std::size_t n) {
  g_allocated += n;
  if (void* p = std::malloc(n == 0 ? 1 : n)) return p;
  throw std::bad_alloc();
}
// used by std::stable_sort; the operator delete below frees its memory
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  g_allocated += n;
  return std::malloc(n == 0 ? 1 : n);
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace loom {
std::size_t allocated_bytes() { return g_allocated; }
}  // namespace loom
