#pragma once
// A fixed set of workers that divide the parts of one job. Which worker runs which part never shows in a result: every
// part has its own outputs. Between jobs that follow closely (the ops of one token) workers spin; after ~50 us they
// sleep.

#include <cstddef>
#include <memory>
#include <type_traits>

#include "core/error.h"

namespace loom {

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  // `threads` counts the caller: 1 makes no worker. InvalidArgument outside 1..256, OutOfMemory when a thread cannot
  // start.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  ~ThreadPool();

  int threads() const { return threads_; }

  // Calls body(part) or body(part, worker) for every part in [0, parts) and returns when all are done. `worker`, below
  // threads(), names the scratch memory that the call may use. Not reentrant; body must not throw.
  template <class F>
  void run(std::size_t parts, F&& body) {
    using Body = std::remove_reference_t<F>;
    const Call call = [](void* f, std::size_t part, int worker) {
      if constexpr (std::is_invocable_v<Body&, std::size_t, int>)
        (*static_cast<Body*>(f))(part, worker);
      else
        (*static_cast<Body*>(f))(part);
    };
    run_erased(parts, call, const_cast<void*>(static_cast<const void*>(&body)));
  }

  // Physical cores that this process may use.
  static int default_threads();

 private:
  struct Shared;
  using Call = void (*)(void*, std::size_t, int);
  explicit ThreadPool(int threads);
  void run_erased(std::size_t parts, Call call, void* body);
  void work(Shared& shared, int worker);

  int threads_ = 1;
  std::unique_ptr<Shared> shared_;
};

}  // namespace loom
