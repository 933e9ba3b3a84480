#pragma once
// Scratch memory for an op, or for several, outside a planned pass.

#include "backend/exec.h"

namespace loom {

// exec.arena, cleared, with room for what run(exec) takes: a rehearsal measures it, and the arena is made anew only
// where it is smaller.
template <class F>
Result<void> plan_scratch(const Exec& exec, F&& run) {
  Arena measuring = Arena::measuring();
  run(Exec{exec.pool, exec.kernels, measuring, exec.cancel, exec.activations});
  if (!exec.arena.holds(measuring.peak())) {
    LOOM_TRY(exec.arena, Arena::create(measuring.peak().plus(Buffer::kAlignment), exec.arena.device()));
  }
  exec.arena.clear();
  return {};
}

}  // namespace loom
