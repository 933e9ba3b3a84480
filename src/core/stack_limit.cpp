#include "core/stack_limit.h"

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#define LOOM_KNOWS_STACK 1
#endif

namespace loom {
namespace {

struct StackBounds {
  std::uintptr_t low = 0, high = 0;
};

#ifdef LOOM_KNOWS_STACK
StackBounds ask_system() {
  StackBounds out;
#ifdef __APPLE__
  out.high = reinterpret_cast<std::uintptr_t>(pthread_get_stackaddr_np(pthread_self()));
  out.low = out.high - pthread_get_stacksize_np(pthread_self());
#else
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return out;
  void* low = nullptr;
  std::size_t size = 0, guard = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0 && pthread_attr_getguardsize(&attributes, &guard) == 0) {
    out.low = reinterpret_cast<std::uintptr_t>(low) + guard;  // some systems count the guard pages in, some do not
    out.high = reinterpret_cast<std::uintptr_t>(low) + size;
  }
  pthread_attr_destroy(&attributes);
#endif
  return out;
}
#endif

StackBounds bounds() {
#ifdef LOOM_KNOWS_STACK
  thread_local const StackBounds known = ask_system();  // of the main thread this reads a file
  return known;
#else
  return {};
#endif
}

}  // namespace

StackLimit::StackLimit(std::size_t reserve) {
  const StackBounds b = bounds();
  const std::uintptr_t now = here();
  // Outside of the thread's own stack: a coroutine of the host.
  const std::uintptr_t low = now > b.low && now < b.high ? b.low : now - (std::uintptr_t{768} << 10);
  lowest_ = low + reserve;
}

}  // namespace loom
