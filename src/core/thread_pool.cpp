#include "core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <system_error>
#include <vector>

#include "core/divided_jobs.h"
#include "core/fp_environment.h"
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

constexpr int kSpins = 4000;  // about 50 us: longer than the gap between two ops of a token
constexpr std::uint64_t kPartBits = 32;

std::atomic<std::uint64_t> g_divided_jobs{0};

}  // namespace

std::uint64_t divided_jobs() { return g_divided_jobs.load(std::memory_order_relaxed); }

// Each worker has a share of neighbouring parts and its own counter of them: ops that follow each other over the same
// rows find them in the same core's caches, and taking a part disturbs nobody. Who has finished his share helps the
// others. A counter has the job's generation in its high half, the next part in its low half: a worker that wakes late
// finds the generation changed and cannot touch parts of a newer job with an older body.
struct ThreadPool::Shared {
  struct alignas(64) Counter {
    std::atomic<std::uint64_t> next{0};
  };
  explicit Shared(int threads) : counters(static_cast<std::size_t>(threads)) {}

  std::vector<Counter> counters;                   // one per worker
  alignas(64) std::atomic<std::uint32_t> done{0};  // parts
  alignas(64) std::atomic<std::uint32_t> generation{0};
  std::atomic<int> sleepers{0};
  std::atomic<std::uint32_t> parts{0};
  std::atomic<Call> call{nullptr};
  std::atomic<void*> body{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};  // hands each worker its number
  // A job is running. It lies apart from what workers look at while they spin, so that taking it costs them nothing.
  alignas(64) std::atomic<bool> busy{false};
  const std::uint32_t process = process_generation();  // that has the workers
#if defined(LOOM_HAS_THREADS)
  std::vector<pthread_t> workers;
#endif
};

ThreadPool::ThreadPool(int threads) : threads_(threads), shared_(std::make_unique<Shared>(threads)) {}

// Takes parts of generation `g`, those of the worker's own share first, until none is left.
static void take_parts(auto& s, std::uint32_t g, int worker) {
  const std::uint64_t parts = s.parts.load(std::memory_order_acquire), shares = s.counters.size();
  const auto call = s.call.load(std::memory_order_acquire);
  void* const body = s.body.load(std::memory_order_acquire);
  for (std::uint64_t i = 0; i < shares; ++i) {
    const std::uint64_t share = (static_cast<std::uint64_t>(worker) + i) % shares;
    const auto end = static_cast<std::uint32_t>((share + 1) * parts / shares);
    std::atomic<std::uint64_t>& counter = s.counters[share].next;
    std::uint32_t taken = 0;
    std::uint64_t next = counter.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(next >> kPartBits) == g && static_cast<std::uint32_t>(next) < end) {
      if (!counter.compare_exchange_weak(next, next + 1, std::memory_order_acq_rel)) continue;
      call(body, static_cast<std::uint32_t>(next), worker);
      ++taken;
      next = counter.load(std::memory_order_acquire);
    }
    if (taken != 0) s.done.fetch_add(taken, std::memory_order_acq_rel);
  }
}

void ThreadPool::work(Shared& s, int worker) {
  const FpEnvironment environment;
  std::uint32_t seen = 0;
  for (;;) {
    std::uint32_t now = s.generation.load(std::memory_order_acquire);
    for (int spin = 0; now == seen && spin < kSpins; ++spin) {
      relax();
      now = s.generation.load(std::memory_order_acquire);
    }
    if (now == seen) {
      s.sleepers.fetch_add(1, std::memory_order_seq_cst);
      s.generation.wait(seen, std::memory_order_seq_cst);
      s.sleepers.fetch_sub(1, std::memory_order_seq_cst);
      continue;
    }
    seen = now;
    if (s.stop.load(std::memory_order_acquire)) return;
    take_parts(s, seen, worker);
  }
}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(int threads) {
  if (threads < 1 || threads > kMaxThreads)
    return fail(Code::InvalidArgument, "{} threads asked for, 1 to {} are possible", threads, kMaxThreads);
#if !defined(LOOM_HAS_THREADS)
  threads = 1;
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
  shared_->stop.store(true, std::memory_order_release);
  shared_->generation.fetch_add(1, std::memory_order_seq_cst);
  shared_->generation.notify_all();
  for (const pthread_t worker : shared_->workers) pthread_join(worker, nullptr);
#endif
}

void ThreadPool::run_erased(std::size_t parts, Call call, void* body) {
  LOOM_ASSERT(parts < 0xffffffffu);
  // Waiting for the other job would take as long as working meanwhile, and a job inside of a job would wait for ever.
  if (threads_ == 1 || parts <= 1 || shared_->busy.exchange(true, std::memory_order_acquire)) {
    for (std::size_t part = 0; part < parts; ++part) call(body, part, 0);
    return;
  }
  g_divided_jobs.fetch_add(1, std::memory_order_relaxed);
  if (host_.run != nullptr)
    run_on_host(parts, call, body);
  else
    run_on_workers(parts, call, body);
  shared_->busy.store(false, std::memory_order_release);
}

void ThreadPool::run_on_workers(std::size_t parts, Call call, void* body) {
  Shared& s = *shared_;
  const std::uint32_t g = s.generation.load(std::memory_order_relaxed) + 1;
  const std::uint64_t generation = static_cast<std::uint64_t>(g) << kPartBits, shares = s.counters.size();
  // Close the old generation before its fields change: nobody can take a part while no counter has one to give.
  for (Shared::Counter& counter : s.counters) counter.next.store(generation | 0xffffffffu, std::memory_order_release);
  s.call.store(call, std::memory_order_release);
  s.body.store(body, std::memory_order_release);
  s.parts.store(static_cast<std::uint32_t>(parts), std::memory_order_release);
  s.done.store(0, std::memory_order_release);
  for (std::uint64_t i = 0; i < shares; ++i)
    s.counters[i].next.store(generation | i * parts / shares, std::memory_order_release);
  s.generation.store(g, std::memory_order_seq_cst);
  if (s.sleepers.load(std::memory_order_seq_cst) > 0) s.generation.notify_all();
  take_parts(s, g, 0);
  while (s.done.load(std::memory_order_acquire) != parts) relax();
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

int ThreadPool::default_threads() { return std::min(os::physical_cores(), kMaxThreads); }

}  // namespace loom
