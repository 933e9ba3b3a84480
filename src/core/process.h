#pragma once
// Which process this is: 0 at first, one more in a child after fork(). A child has none of the threads of its parent,
// so what waits for them would wait for ever.

#include <cstdint>

namespace loom {

std::uint32_t process_generation();

// Holds a lock of the caller's over every fork() from now on, so that a child finds what it guards whole. For locks
// that last as long as the process.
void guard_over_fork(void (*lock)(), void (*unlock)());

}  // namespace loom
