// Preloaded into the program (LD_PRELOAD): destroys the device of a WebGPU library after the submit that LOOM_LOSE_AT
// counts to, from 1, as when a card is gone.

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

namespace {

using Symbol = void* (*)(void* library, const char* name);
void* real_symbol(void* library, const char* name) {
  static const auto real = [] {
    void* const newest = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
    return reinterpret_cast<Symbol>(newest != nullptr ? newest : dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  }();
  return real(library, name);
}

void* (*g_get_queue)(void* device) = nullptr;
void (*g_submit)(void* queue, size_t count, const void* commands) = nullptr;
uint64_t (*g_submit_for_index)(void* queue, size_t count, const void* commands) = nullptr;
void (*g_destroy)(void* device) = nullptr;
std::atomic<void*> g_device{nullptr};
std::atomic<long> g_submits{0};

void* get_queue(void* device) {
  g_device = device;
  return g_get_queue(device);
}
void count_submit() {
  const char* const at = getenv("LOOM_LOSE_AT");
  if (at != nullptr && ++g_submits == atol(at)) g_destroy(g_device);
}
void submit(void* queue, size_t count, const void* commands) {
  g_submit(queue, count, commands);
  count_submit();
}
uint64_t submit_for_index(void* queue, size_t count, const void* commands) {
  const uint64_t index = g_submit_for_index(queue, count, commands);
  count_submit();
  return index;
}

template <class F>
void* in_place(void* library, const char* name, F*& real, F* ours) {
  real = reinterpret_cast<F*>(real_symbol(library, name));
  return reinterpret_cast<void*>(ours);
}

}  // namespace

extern "C" void* dlsym(void* library, const char* name) noexcept {
  if (strcmp(name, "wgpuDeviceGetQueue") == 0) return in_place(library, name, g_get_queue, get_queue);
  const bool has_index = strcmp(name, "wgpuQueueSubmitForIndex") == 0;
  if (!has_index && strcmp(name, "wgpuQueueSubmit") != 0) return real_symbol(library, name);
  g_destroy = reinterpret_cast<void (*)(void*)>(real_symbol(library, "wgpuDeviceDestroy"));
  return has_index ? in_place(library, name, g_submit_for_index, submit_for_index)
                   : in_place(library, name, g_submit, submit);
}
