#pragma once
// What stands between a function of loom.h and the engine: the engine's floating-point environment, its errors as a
// status and a text for the calling thread, and a catch for whatever a library throws, so that nothing unwinds into a
// host that may not know exceptions.

#include <loom/loom.h>

#include <type_traits>

#include "core/error.h"

namespace loom::capi {

// Runs body(), which returns Result<void>.
loom_status run_guarded(Result<void> (*call)(void*), void* body);

template <class F>
loom_status guard(F&& body) {
  using Body = std::remove_reference_t<F>;
  return run_guarded([](void* b) { return (*static_cast<Body*>(b))(); },
                     const_cast<void*>(static_cast<const void*>(&body)));
}

const char* last_error();

}  // namespace loom::capi
