#include "core/process.h"

#include <atomic>

#include "core/system.h"

namespace loom {
namespace {

std::atomic<std::uint32_t> g_generation{0};

}  // namespace

std::uint32_t process_generation() {
  static const bool watched =
      os::watch_forks(nullptr, nullptr, [] { g_generation.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(watched);
  return g_generation.load(std::memory_order_relaxed);
}

void guard_over_fork(void (*lock)(), void (*unlock)()) { static_cast<void>(os::watch_forks(lock, unlock, unlock)); }

}  // namespace loom
