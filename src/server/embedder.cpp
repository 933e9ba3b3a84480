#include "server/embedder.h"

#include <utility>

namespace loom::server {

Embedder::Embedder(TextEncoder encoder, std::string name, std::size_t most_waiting)
    : encoder_(std::move(encoder)), name_(std::move(name)), most_waiting_(most_waiting), thread_([this] { run(); }) {}

Embedder::~Embedder() {
  is_stopped_ = true;
  {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

Result<void> Embedder::submit(Work work) {
  const std::scoped_lock lock(mutex_);
  if (is_stopped_) return fail(Code::Cancelled, "the server ends");
  if (queue_.size() >= most_waiting_)
    return fail(Code::Busy, "{} requests wait, at most {} may; try again later", queue_.size(), most_waiting_);
  queue_.push_back(std::move(work));
  changed_.notify_all();
  return {};
}

std::size_t Embedder::under_way() const {
  const std::scoped_lock lock(mutex_);
  return queue_.size() + (is_running_ ? 1 : 0);
}

void Embedder::run() {
  for (;;) {
    Work work;
    {
      std::unique_lock lock(mutex_);
      is_running_ = false;
      changed_.wait(lock, [this] { return is_stopped_ || !queue_.empty(); });
      if (is_stopped_) break;
      work = std::move(queue_.front());
      queue_.pop_front();
      is_running_ = true;
    }
    if (work.is_wanted())
      work.on_end(encoder_.embed(work.inputs, &is_stopped_));
    else
      work.on_end(fail(Code::Cancelled, "the client has left"));
  }
  const std::scoped_lock lock(mutex_);
  for (; !queue_.empty(); queue_.pop_front()) queue_.front().on_end(fail(Code::Cancelled, "the server ends"));
}

}  // namespace loom::server
