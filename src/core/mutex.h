#pragma once
// A lock whose waiters sleep, so that it may be held while memory is asked for or weights are packed. Where there are
// no threads (wasm32) there is none to wait.

#if !defined(__wasi__)
#include <mutex>
#endif

namespace loom {

class Mutex {
 public:
  class Guard {
   public:
    explicit Guard(Mutex& mutex) : mutex_(mutex) { mutex_.lock(); }
    ~Guard() { mutex_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Mutex& mutex_;
  };

 private:
#if defined(__wasi__)
  void lock() {}
  void unlock() {}
#else
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }
  std::mutex mutex_;
#endif
};

// One that its holder may lock again.
class RecursiveMutex {
 public:
#if defined(__wasi__)
  void lock() {}
  void unlock() {}
#else
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
#endif
};

}  // namespace loom
