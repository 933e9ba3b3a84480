#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "core/divided_jobs.h"
#include "core/fp_environment.h"
#include "core/lent_threads.h"
#include "core/process.h"
#include "core/system.h"

#if !defined(__wasi__)
#include <pthread.h>
#define LOOM_HAS_THREADS 1
#endif
#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace loom {
namespace {

inline void relax() {
#if defined(__SSE2__)
  _mm_pause();
#elif defined(__aarch64__) || defined(__arm__)
  __asm__ volatile("yield");
#endif
}

// About 50 us: longer than the gap between two ops of a token.
#if defined(__wasm__)
constexpr int kSpins = 40000;  // there is no instruction that pauses
#else
constexpr int kSpins = 4000;
#endif
constexpr std::uint64_t kPartBits = 32;

std::atomic<std::uint64_t> g_divided_jobs{0};

#if defined(__wasm__)  // its C++ library, which knows no threads, would spin
void wait_for_change(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  __builtin_wasm_memory_atomic_wait32(reinterpret_cast<int*>(&word), static_cast<int>(seen), -1);
}
void wake_all(std::atomic<std::uint32_t>& word) {
  __builtin_wasm_memory_atomic_notify(reinterpret_cast<int*>(&word), ~0u);
}
#else
void wait_for_change(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  word.wait(seen, std::memory_order_seq_cst);
}
void wake_all(std::atomic<std::uint32_t>& word) { word.notify_all(); }
#endif

// Each worker has a share of neighbouring parts and its own counter of them: ops that follow each other over the same
// rows find them in the same core's caches, and taking a part disturbs nobody. Who has finished his share helps the
// others. A counter has the job's generation in its high half, the next part in its low half: a worker that wakes late
// finds the generation changed and cannot touch parts of a newer job with an older body.
struct Jobs {
  using Call = void (*)(void*, std::size_t, int);
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> next{0};
  };
  explicit Jobs(int threads) : counters(static_cast<std::size_t>(threads)) {}
  void take_parts(std::uint32_t generation, int worker);
  void serve(int worker);  // takes parts of every job until it is to stop
  void end();

  std::vector<Counter> counters;                   // one per worker
  alignas(64) std::atomic<std::uint32_t> done{0};  // parts
  alignas(64) std::atomic<std::uint32_t> generation{0};
  std::atomic<int> sleepers{0};
  std::atomic<std::uint32_t> parts{0};
  std::atomic<std::uint32_t> workers{0};  // that the job may have: those with lower numbers
  std::atomic<Call> call{nullptr};
  std::atomic<void*> body{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<bool> failed{false};  // a lent thread died in a part, which nobody will end
  // A job is running. It has a cache line apart from what workers read while they spin, so that taking it costs them
  // nothing.
  alignas(64) std::atomic<bool> busy{false};
};

#if !defined(LOOM_HAS_THREADS)
std::shared_ptr<Jobs>& lent_jobs() {
  static auto* const jobs = new std::shared_ptr<Jobs>(std::make_shared<Jobs>(1));
  return *jobs;
}
#endif

}  // namespace

std::uint64_t divided_jobs() { return g_divided_jobs.load(std::memory_order_relaxed); }

struct ThreadPool::Shared {
#if defined(LOOM_HAS_THREADS)
  explicit Shared(int threads) : jobs(std::make_shared<Jobs>(threads)) {}
#else
  explicit Shared(int) : jobs(lent_jobs()) {}
#endif

  std::shared_ptr<Jobs> jobs;
  std::atomic<int> started{0};                         // hands each worker its number
  const std::uint32_t process = process_generation();  // that has the workers
#if defined(LOOM_HAS_THREADS)
  std::vector<pthread_t> workers;
#endif
};

ThreadPool::ThreadPool(int threads) : threads_(threads), shared_(std::make_unique<Shared>(threads)) {}

// Takes parts of generation `g`, those of the worker's own share first, until none is left.
void Jobs::take_parts(std::uint32_t g, int worker) {
  const std::uint32_t shares = workers.load(std::memory_order_acquire);
  if (static_cast<std::uint32_t>(worker) >= shares) return;
  const std::uint64_t count = parts.load(std::memory_order_acquire);
  const auto run = call.load(std::memory_order_acquire);
  void* const with = body.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < shares; ++i) {
    const std::uint32_t share = (static_cast<std::uint32_t>(worker) + i) % shares;
    const auto end = static_cast<std::uint32_t>((share + 1) * count / shares);
    std::atomic<std::uint64_t>& counter = counters[share].next;
    std::uint32_t taken = 0;
    std::uint64_t next = counter.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(next >> kPartBits) == g && static_cast<std::uint32_t>(next) < end) {
      if (!counter.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel)) continue;
      run(with, static_cast<std::uint32_t>(next), worker);
      ++taken;
      next = counter.load(std::memory_order_acquire);
    }
    if (taken != 0) done.fetch_add(taken, std::memory_order_acq_rel);
  }
}

void Jobs::serve(int worker) {
  const FpEnvironment environment;
  std::uint32_t seen = 0;
  for (;;) {
    std::uint32_t now = generation.load(std::memory_order_acquire);
    for (int spin = 0; now == seen && spin < kSpins; ++spin) {
      relax();
      now = generation.load(std::memory_order_acquire);
    }
    if (now == seen) {
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      wait_for_change(generation, seen);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
      continue;
    }
    seen = now;
    if (stop.load(std::memory_order_acquire)) return;
    take_parts(seen, worker);
  }
}

void Jobs::end() {
  stop.store(true, std::memory_order_release);
  generation.fetch_add(1, std::memory_order_seq_cst);
  wake_all(generation);
}

void ThreadPool::work(Shared& s, int worker) { s.jobs->serve(worker); }

#if !defined(LOOM_HAS_THREADS)
void expect_lent_threads(int threads) {
  lent_jobs() = std::make_shared<Jobs>(std::clamp(threads, 0, ThreadPool::kMaxThreads - 1) + 1);
}
void lend_thread(int worker) { lent_jobs()->serve(worker); }
void end_lent_threads() { lent_jobs()->end(); }
void fail_lent_thread() { lent_jobs()->failed.store(true, std::memory_order_relaxed); }
#endif

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  if (threads < 1 || threads > kMaxThreads)
    return fail(Code::InvalidArgument, "{} threads asked for, 1 to {} are possible", threads, kMaxThreads);
#if !defined(LOOM_HAS_THREADS)
  threads = std::min(threads, default_threads());
#endif
  std::unique_ptr<ThreadPool> pool(new ThreadPool(threads));
#if defined(LOOM_HAS_THREADS)
  pool->shared_->workers.reserve(static_cast<std::size_t>(threads));
  for (int i = 1; i < threads; ++i) {
    pthread_t worker{};
    const auto entry = [](void* p) -> void* {
      auto* self = static_cast<ThreadPool*>(p);
      self->work(*self->shared_, self->shared_->started.fetch_add(1) + 1);
      return nullptr;
    };
    if (pthread_create(&worker, nullptr, entry, pool.get()) != 0)
      return fail(Code::OutOfMemory, "cannot start thread {} of {}", i + 1, threads);
    pool->shared_->workers.push_back(worker);
  }
#endif
  return pool;
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(const HostWorkers& workers) {
  if (workers.threads < 1 || workers.threads > kMaxThreads)
    return fail(Code::InvalidArgument, "{} workers of the host, 1 to {} are possible", workers.threads, kMaxThreads);
  if (workers.run == nullptr) return fail(Code::InvalidArgument, "workers of the host without a function to run them");
  std::unique_ptr<ThreadPool> pool(new ThreadPool(workers.threads));
  pool->host_ = workers;
  return pool;
}

Result<std::shared_ptr<ThreadPool>> ThreadPool::given_or_new(std::shared_ptr<ThreadPool> given, int threads) {
  if (given != nullptr) return given;
  LOOM_TRY(std::shared_ptr<ThreadPool> made, create(threads > 0 ? threads : default_threads()));
  return made;
}

ThreadPool::~ThreadPool() {
#if defined(LOOM_HAS_THREADS)
  if (shared_->process != process_generation()) return;  // a child after fork(): there are no threads to wait for
  shared_->jobs->end();
  for (const pthread_t worker : shared_->workers) pthread_join(worker, nullptr);
#endif
}

void ThreadPool::run_erased(std::size_t parts, Call call, void* body) {
  LOOM_ASSERT(parts < 0xffffffffu);
  // Waiting for the other job would take as long as working meanwhile, and a job inside of a job would wait for ever.
  if (threads_ == 1 || parts <= 1 || shared_->jobs->busy.exchange(true, std::memory_order_acquire)) {
    for (std::size_t part = 0; part < parts; ++part) call(body, part, 0);
    return;
  }
  g_divided_jobs.fetch_add(1, std::memory_order_relaxed);
  if (host_.run != nullptr)
    run_on_host(parts, call, body);
  else
    run_on_workers(parts, call, body);
  shared_->jobs->busy.store(false, std::memory_order_release);
}

void ThreadPool::run_on_workers(std::size_t parts, Call call, void* body) {
  Jobs& s = *shared_->jobs;
  const std::uint32_t g = s.generation.load(std::memory_order_relaxed) + 1;
  const std::uint64_t generation = static_cast<std::uint64_t>(g) << kPartBits;
  const auto shares = static_cast<std::uint32_t>(threads_);
  // Close the old generation before its fields change: nobody can take a part while no counter has one to give.
  for (Jobs::Counter& counter : s.counters) counter.next.store(generation | 0xffffffffu, std::memory_order_release);
  s.call.store(call, std::memory_order_release);
  s.body.store(body, std::memory_order_release);
  s.parts.store(static_cast<std::uint32_t>(parts), std::memory_order_release);
  s.workers.store(shares, std::memory_order_release);
  s.done.store(0, std::memory_order_release);
  for (std::uint32_t i = 0; i < shares; ++i)
    s.counters[i].next.store(generation | static_cast<std::uint64_t>(i) * parts / shares, std::memory_order_release);
  s.generation.store(g, std::memory_order_seq_cst);
  if (s.sleepers.load(std::memory_order_seq_cst) > 0) wake_all(s.generation);
  s.take_parts(g, 0);
  while (s.done.load(std::memory_order_acquire) != parts) {
    relax();
#if defined(__wasm__)
    if (s.failed.load(std::memory_order_relaxed)) std::abort();
#endif
  }
}

// Workers take parts until none is left, so that one alone could do them all.
struct ThreadPool::HostJob {
  Call call;
  void* body;
  std::size_t parts;
  int workers;
  std::atomic<std::size_t> next{0};

  void take(int worker) {
    for (std::size_t part = next.fetch_add(1, std::memory_order_relaxed); part < parts;
         part = next.fetch_add(1, std::memory_order_relaxed))
      call(body, part, worker);
  }
  static void work(void* self, int worker) {
    auto& job = *static_cast<HostJob*>(self);
    if (worker < 0 || worker >= job.workers) return;  // there is no scratch memory of that number
    const FpEnvironment environment;                  // the thread is the host's, and so are its settings
    job.take(worker);
  }
};

void ThreadPool::run_on_host(std::size_t parts, Call call, void* body) {
  const int workers = static_cast<int>(std::min(parts, static_cast<std::size_t>(threads_)));
  HostJob job{call, body, parts, workers};
  host_.run(host_.user, HostJob::work, &job, workers);
  job.take(0);  // what a host leaves that called no worker, as one that is shutting down
}

#if defined(LOOM_HAS_THREADS)
int ThreadPool::default_threads() { return std::min(os::performance_cores(), kMaxThreads); }
#else
int ThreadPool::default_threads() { return static_cast<int>(lent_jobs()->counters.size()); }
#endif

}  // namespace loom
