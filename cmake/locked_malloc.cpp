// Parts of the C and C++ libraries for wasm32 that know one thread, for workers on shared memory (cmake/LoomWasm.cmake):
// the heap, by --wrap for each of its functions, and the first use of a function's statics.

#include <cstddef>
#include <cstdint>

#include "core/mutex.h"

namespace {
loom::Mutex heap;
}

extern "C" {
void* __real_malloc(std::size_t bytes);
void* __real_calloc(std::size_t count, std::size_t bytes);
void* __real_realloc(void* memory, std::size_t bytes);
void* __real_aligned_alloc(std::size_t alignment, std::size_t bytes);
int __real_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes);
void __real_free(void* memory);

void* __wrap_malloc(std::size_t bytes) {
  const loom::Mutex::Guard lock(heap);
  return __real_malloc(bytes);
}
void* __wrap_calloc(std::size_t count, std::size_t bytes) {
  const loom::Mutex::Guard lock(heap);
  return __real_calloc(count, bytes);
}
void* __wrap_realloc(void* memory, std::size_t bytes) {
  const loom::Mutex::Guard lock(heap);
  return __real_realloc(memory, bytes);
}
void* __wrap_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const loom::Mutex::Guard lock(heap);
  return __real_aligned_alloc(alignment, bytes);
}
int __wrap_posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  const loom::Mutex::Guard lock(heap);
  return __real_posix_memalign(memory, alignment, bytes);
}
void __wrap_free(void* memory) {
  const loom::Mutex::Guard lock(heap);
  __real_free(memory);
}
}

extern "C" {
// Guards of statics (Itanium C++ ABI 3.3.3, with the 32-bit words of wasm32): bit 0 is read by compiled code and says
// that the static is made; kBusy, that a thread is making it.
static constexpr std::uint32_t kMade = 1, kBusy = 0x100;

int __cxa_guard_acquire(std::uint32_t* guard) {
  for (;;) {
    std::uint32_t seen = 0;
    if (__atomic_compare_exchange_n(guard, &seen, kBusy, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return 1;
    if ((seen & kMade) != 0) return 0;
    __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(guard), static_cast<int>(seen), -1);
  }
}
void __cxa_guard_release(std::uint32_t* guard) {
  __atomic_store_n(guard, kMade, __ATOMIC_RELEASE);
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(guard), ~0u);
}
void __cxa_guard_abort(std::uint32_t* guard) {
  __atomic_store_n(guard, 0, __ATOMIC_RELEASE);
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(guard), ~0u);
}
}
