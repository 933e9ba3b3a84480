#pragma once
// The one planner of memory: a pass is rehearsed on an arena that measures, and its real arena is made as large.

#include "backend/exec.h"

namespace loom {

// Address of inputs that a rehearsal does not have. It is never dereferenced. It is not null because ops do pointer
// arithmetic on it, and it is above every address of a measuring arena.
inline const void* rehearsal_input() { return reinterpret_cast<const void*>((~std::uintptr_t{0} >> 2) * 3 / 64 * 64); }

// Memory that pass(exec) takes with the threads, kernels and settings of `like`. Returns the first error of the
// pass, or OutOfMemory.
template <class F>
Result<Arena::Mark> rehearse(const Exec& like, F&& pass) {
  Arena measuring = Arena::measuring(like.arena.device());
  const Exec exec{like.pool, like.kernels, measuring, nullptr, like.activations};
  pass(exec);
  if (exec.status) return tl::make_unexpected(*std::move(exec.status));
  if (measuring.overflowed()) return fail(Code::OutOfMemory, "a pass takes more memory than addresses can count");
  return measuring.peak();
}

// Clears exec.arena and makes sure that pass(exec) fits, for an op or several outside a planned pass. A new arena
// is made only where it is too small.
template <class F>
Result<void> plan_scratch(const Exec& exec, F&& pass) {
  LOOM_TRY(const Arena::Mark needed, rehearse(exec, pass));
  if (!exec.arena.holds(needed)) {
    LOOM_TRY(exec.arena, Arena::create(needed.plus(Buffer::kAlignment), exec.arena.device()));
  }
  exec.arena.clear();
  return {};
}

}  // namespace loom
