#pragma once
// A lock for what is rare and short, where std::mutex may be missing (wasm32 without threads).

#include <atomic>

namespace loom {

class SpinLock {
 public:
  class Guard {
   public:
    explicit Guard(SpinLock& lock) : lock_(lock) {
      while (lock_.taken_.test_and_set(std::memory_order_acquire)) {}
    }
    ~Guard() { lock_.taken_.clear(std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    SpinLock& lock_;
  };

 private:
  std::atomic_flag taken_;
};

}  // namespace loom
