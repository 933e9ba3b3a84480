#pragma once
// guard() runs the body of a function of loom.h in the engine's floating-point environment, turns its error into a
// status and a text for the calling thread, and catches exceptions of libraries, so that nothing unwinds into a host
// that may not know exceptions.

#include <loom/loom.h>

#include <cstdint>
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

// Returns whether a callback answered 1, continue. An answer that is neither 0 nor 1 counts as 0, and the call that the
// callback came in fails with InvalidArgument.
bool continues(std::int32_t answer, const char* callback);
// InvalidArgument after such an answer, for calls that would give results although a callback ended them.
Result<void> need_answers();

}  // namespace loom::capi
