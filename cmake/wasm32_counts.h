#pragma once
// Counts of std::shared_ptr that workers on shared memory may change at the same time: libc++ for wasm32, which is built
// without threads, would count without atomics. Included before any other header (cmake/LoomModules.cmake); the
// overloads are preferred to libc++'s templates of these names.

#include <__config>

_LIBCPP_BEGIN_NAMESPACE_STD
inline long __libcpp_atomic_refcount_increment(long& count) noexcept {
  return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}
inline long __libcpp_atomic_refcount_decrement(long& count) noexcept {
  return __atomic_add_fetch(&count, -1, __ATOMIC_ACQ_REL);
}
_LIBCPP_END_NAMESPACE_STD
