#include "core/stack_limit.h"

#include "core/system.h"

namespace loom {

StackLimit::StackLimit(std::size_t reserve) {
  thread_local const os::Stack known = os::stack_of_thread();  // of the main thread of Linux this reads a file
  const std::uintptr_t now = here();
  // Outside of the thread's own stack: a coroutine of the host.
  const std::uintptr_t low = now > known.low && now < known.high ? known.low : now - (std::uintptr_t{768} << 10);
  lowest_ = low + reserve;
}

}  // namespace loom
