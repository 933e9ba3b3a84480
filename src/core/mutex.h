#pragma once
// A lock whose waiters sleep, so that it may be held while memory is asked for or weights are packed. WebAssembly's C++
// library has no mutex: its lock is a word that threads wait on.

#if defined(__wasi__)
#include <atomic>
#include <cstdint>
#else
#include <mutex>
#endif

namespace loom {

#if defined(__wasi__)
namespace detail {
// 0: free, 1: taken, 2: taken and somebody may be asleep.
class WordLock {
 public:
  void lock() {
    std::uint32_t seen = 0;
    if (word_.compare_exchange_strong(seen, 1, std::memory_order_acquire)) return;
    while (word_.exchange(2, std::memory_order_acquire) != 0)
      __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word_), 2, -1);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2)
      __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word_), 1);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};
// The address of a thread-local variable identifies the thread.
class RecursiveWordLock {
 public:
  void lock() {
    static thread_local char mine;
    if (owner_.load(std::memory_order_relaxed) != &mine) {
      lock_.lock();
      owner_.store(&mine, std::memory_order_relaxed);
    }
    ++depth_;
  }
  void unlock() {
    if (--depth_ != 0) return;
    owner_.store(nullptr, std::memory_order_relaxed);
    lock_.unlock();
  }

 private:
  WordLock lock_;
  std::atomic<const char*> owner_{nullptr};
  int depth_ = 0;
};
}  // namespace detail
using SystemMutex = detail::WordLock;
using SystemRecursiveMutex = detail::RecursiveWordLock;
#else
using SystemMutex = std::mutex;
using SystemRecursiveMutex = std::recursive_mutex;
#endif

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

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  SystemMutex mutex_;
};

// One that its holder may lock again.
class RecursiveMutex {
 public:
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  SystemRecursiveMutex mutex_;
};

}  // namespace loom
