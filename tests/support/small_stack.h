#pragma once
// Runs something in a thread with as little stack as musl gives one.

#include <pthread.h>

#include <cstddef>
#include <functional>

namespace loom::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kSmallStack = std::size_t{1} << 20;  // their frames are several times as large
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr std::size_t kSmallStack = std::size_t{1} << 20;
#else
inline constexpr std::size_t kSmallStack = std::size_t{128} << 10;
#endif
#else
inline constexpr std::size_t kSmallStack = std::size_t{128} << 10;
#endif

inline void on_small_stack(const std::function<void()>& work, std::size_t bytes = kSmallStack) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  const auto run = [](void* f) -> void* {
    (*static_cast<const std::function<void()>*>(f))();
    return nullptr;
  };
  if (pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)) == 0)
    pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace loom::test
