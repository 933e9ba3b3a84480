#include "capi/guard.h"

#include <exception>
#include <new>
#include <string>

#include "core/fp_environment.h"

namespace loom::capi {
namespace {

thread_local std::string t_last_error;

loom_status failed(const Error& error) {
  t_last_error = error.text();
  return static_cast<loom_status>(error.code);
}

}  // namespace

loom_status run_guarded(Result<void> (*call)(void*), void* body) {
  try {
    const FpEnvironment environment;
    const Result<void> done = call(body);
    return done ? LOOM_OK : failed(done.error());
  } catch (const std::bad_alloc&) {
    t_last_error.assign("out of memory");
    return LOOM_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    return failed({Code::InvalidState, e.what()});
  } catch (...) {
    return failed({Code::InvalidState, "an unknown exception"});
  }
}

const char* last_error() { return t_last_error.c_str(); }

}  // namespace loom::capi
