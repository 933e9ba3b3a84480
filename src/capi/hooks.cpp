// Hooks of loom.h: messages, memory of tensors, the end of the process.

#include "core/hooks.h"

#include "capi/guard.h"

using namespace loom;
using namespace loom::capi;

loom_status loom_set_log(loom_on_log log, void* user) {
  return guard([&]() -> Result<void> {
    set_log_hook({user, log});
    return {};
  });
}

loom_status loom_set_memory(loom_allocate_memory allocate, loom_free_memory free, void* user) {
  return guard([&]() -> Result<void> {
    if ((allocate == nullptr) != (free == nullptr))
      return fail(Code::InvalidArgument, "expected both functions or none, got {} alone",
                  free == nullptr ? "allocate" : "free");
    set_memory_hook({user, allocate, free});
    return {};
  });
}

loom_status loom_set_fatal(loom_on_fatal fatal, void* user) {
  return guard([&]() -> Result<void> {
    set_fatal_hook({user, fatal});
    return {};
  });
}
