#include "telemetry/line_queue.h"

#include <atomic>
#include <vector>

#if !defined(__wasi__)
#include <pthread.h>

#include <ctime>
#endif

namespace loom {

#if !defined(__wasi__)

struct LineQueue::Shared {
  std::vector<std::string> ring;  // guarded, like what follows, by `mutex`
  std::size_t first = 0, count = 0;
  bool busy = false, stop = false;
  std::function<bool(const std::string&)> deliver;
  std::atomic<std::uint64_t> sent{0}, dropped{0};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t wake = PTHREAD_COND_INITIALIZER, idle = PTHREAD_COND_INITIALIZER;
  pthread_t thread{};

  void run() {
    pthread_mutex_lock(&mutex);
    while (!stop) {
      if (count == 0) {
        pthread_cond_wait(&wake, &mutex);
        continue;
      }
      const std::string line = std::move(ring[first]);
      first = (first + 1) % ring.size(), --count;
      busy = true;
      pthread_mutex_unlock(&mutex);
      (deliver(line) ? sent : dropped).fetch_add(1, std::memory_order_relaxed);
      pthread_mutex_lock(&mutex);
      busy = false;
      if (count == 0) pthread_cond_broadcast(&idle);
    }
    pthread_mutex_unlock(&mutex);
  }
};

Result<std::unique_ptr<LineQueue>> LineQueue::create(std::size_t capacity,
                                                     std::function<bool(const std::string&)> deliver) {
  std::unique_ptr<LineQueue> queue(new LineQueue);
  auto shared = std::make_unique<Shared>();
  shared->ring.resize(capacity < 1 ? 1 : capacity);
  shared->deliver = std::move(deliver);
  const auto entry = [](void* s) -> void* { return static_cast<Shared*>(s)->run(), nullptr; };
  if (pthread_create(&shared->thread, nullptr, entry, shared.get()) != 0)
    return fail(Code::OutOfMemory, "cannot start the thread of a queue");
  queue->shared_ = std::move(shared);
  return queue;
}

LineQueue::~LineQueue() {
  if (!shared_) return;
  pthread_mutex_lock(&shared_->mutex);
  shared_->stop = true;
  pthread_cond_broadcast(&shared_->wake);
  pthread_mutex_unlock(&shared_->mutex);
  pthread_join(shared_->thread, nullptr);
}

bool LineQueue::offer(std::string line) {
  Shared& s = *shared_;
  pthread_mutex_lock(&s.mutex);  // held by the other side for a move of a string only
  const bool fits = s.count < s.ring.size();
  if (fits) s.ring[(s.first + s.count++) % s.ring.size()] = std::move(line);
  pthread_cond_signal(&s.wake);
  pthread_mutex_unlock(&s.mutex);
  if (!fits) s.dropped.fetch_add(1, std::memory_order_relaxed);
  return fits;
}

bool LineQueue::drain(int milliseconds) {
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += milliseconds / 1000, until.tv_nsec += milliseconds % 1000 * 1000000L;
  if (until.tv_nsec >= 1000000000L) ++until.tv_sec, until.tv_nsec -= 1000000000L;
  Shared& s = *shared_;
  pthread_mutex_lock(&s.mutex);
  int rc = 0;
  while ((s.count != 0 || s.busy) && rc == 0) rc = pthread_cond_timedwait(&s.idle, &s.mutex, &until);
  const bool done = s.count == 0 && !s.busy;
  pthread_mutex_unlock(&s.mutex);
  return done;
}

std::uint64_t LineQueue::sent() const { return shared_->sent.load(std::memory_order_relaxed); }
std::uint64_t LineQueue::dropped() const { return shared_->dropped.load(std::memory_order_relaxed); }

#else

struct LineQueue::Shared {};
Result<std::unique_ptr<LineQueue>> LineQueue::create(std::size_t, std::function<bool(const std::string&)>) {
  return fail(Code::Unsupported, "a queue of lines is unavailable: this system has no threads");
}
LineQueue::~LineQueue() = default;
bool LineQueue::offer(std::string) { return false; }
bool LineQueue::drain(int) { return true; }
std::uint64_t LineQueue::sent() const { return 0; }
std::uint64_t LineQueue::dropped() const { return 0; }

#endif

}  // namespace loom
