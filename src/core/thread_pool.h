#pragma once
// A fixed set of workers that divide the parts of one job. Which worker runs which part never shows in a result: every
// part has its own outputs. Between jobs that follow closely (the ops of one token) workers spin; after ~50 us they
// sleep. Many sessions may share one pool, also from several threads at once.

#include <cstddef>
#include <memory>
#include <type_traits>

#include "core/error.h"

namespace loom {

// Threads of a host that lends them, such as the job system of a game, in place of threads of our own.
struct HostWorkers {
  int threads = 0;       // most workers that a job may have, 1 to 256
  void* user = nullptr;  // first argument of run
  // Calls work(job, w) once for each w in [0, workers), in any order, on any threads, also one after the other, and
  // returns when all of these calls have returned. It may itself be called from several threads at once when several
  // pools are made of it.
  void (*run)(void* user, void (*work)(void* job, int worker), void* job, int workers) = nullptr;
};

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 256;

  // `threads` counts the caller: 1 makes no worker. InvalidArgument outside 1..256, OutOfMemory when a thread cannot
  // start.
  static Result<std::unique_ptr<ThreadPool>> create(int threads);
  // Jobs run on the host's workers, which outlive the pool; the pool starts no thread. InvalidArgument outside 1..256
  // threads, or without `run`.
  static Result<std::unique_ptr<ThreadPool>> create(const HostWorkers& workers);
  // The pool that options name, or else a new one of `threads`, where 0 stands for default_threads().
  static Result<std::shared_ptr<ThreadPool>> given_or_new(std::shared_ptr<ThreadPool> given, int threads);
  ~ThreadPool();

  int threads() const { return threads_; }

  // Calls body(part) or body(part, worker) for every part in [0, parts) and returns when all are done. `worker`, below
  // threads(), names the scratch memory that the call may use, which belongs to who calls run() and not to the pool:
  // a caller that finds the pool busy with a job of somebody else runs its parts alone, as worker 0. Hence no part may
  // wait for another, and the body may use the pool again with scratch memory of another owner. It must not throw.
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
  struct HostJob;
  using Call = void (*)(void*, std::size_t, int);
  explicit ThreadPool(int threads);
  void run_erased(std::size_t parts, Call call, void* body);
  void run_on_workers(std::size_t parts, Call call, void* body);
  void run_on_host(std::size_t parts, Call call, void* body);
  void work(Shared& shared, int worker);

  int threads_ = 1;
  HostWorkers host_;  // without `run`: the pool has threads of its own
  std::unique_ptr<Shared> shared_;
};

}  // namespace loom
