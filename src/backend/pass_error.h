#pragma once

#include "backend/exec.h"

namespace loom {

// Returns the error that ended a pass. Errors that a device has noted until then belong to results that nobody reads:
// they are forgotten, so that the next pass does not return them.
inline tl::unexpected<Error> error_of_pass(const Exec& exec) {
  if (exec.arena.device() != nullptr) static_cast<void>(exec.arena.device()->check());
  return tl::make_unexpected(*exec.status);
}

// Returns the error of operations that could not be recorded, if there is one.
inline Result<void> status_of_pass(const Exec& exec) {
  if (exec.status) return error_of_pass(exec);
  return {};
}

}  // namespace loom
