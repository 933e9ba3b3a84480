#include "core/process.h"

#include <atomic>

#if !defined(__wasi__) && !defined(_WIN32)
#include <pthread.h>
#define LOOM_FORKS 1
#endif

namespace loom {
namespace {

std::atomic<std::uint32_t> g_generation{0};

}  // namespace

std::uint32_t process_generation() {
#if defined(LOOM_FORKS)
  static const int watched =
      pthread_atfork(nullptr, nullptr, [] { g_generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);
#endif
  return g_generation.load(std::memory_order_relaxed);
}

void guard_over_fork([[maybe_unused]] void (*lock)(), [[maybe_unused]] void (*unlock)()) {
#if defined(LOOM_FORKS)
  static_cast<void>(pthread_atfork(lock, unlock, unlock));
#endif
}

}  // namespace loom
