#pragma once

#include "backend/exec.h"

namespace loom {

// The error that has ended a pass. What a card has noted of its values until then is of results that nobody reads: the
// next pass is not to hear of it.
inline tl::unexpected<Error> error_of_pass(const Exec& exec) {
  if (exec.arena.device() != nullptr) static_cast<void>(exec.arena.device()->check());
  return tl::make_unexpected(*exec.status);
}

}  // namespace loom
