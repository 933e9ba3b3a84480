#include "http/http_reply.h"

#include <utility>

namespace loom {

void HttpReply::begin(HttpReplyHead head) {
  std::unique_lock lock(mutex_);
  waiting_.head = std::move(head);
  changed(std::move(lock));
}

bool HttpReply::write(std::string_view part) {
  std::unique_lock lock(mutex_);
  if (is_closed_) return false;
  if (part.size() > kMostWaiting - waiting_.text.size()) {
    is_closed_ = true;
    return false;
  }
  waiting_.text += part;
  changed(std::move(lock));
  return true;
}

void HttpReply::finish() {
  std::unique_lock lock(mutex_);
  waiting_.is_last = true;
  finished_.notify_all();
  changed(std::move(lock));
}

void HttpReply::send(HttpReplyHead head, std::string_view body) {
  std::unique_lock lock(mutex_);
  waiting_ = {std::move(head), std::string(body), true};
  finished_.notify_all();
  changed(std::move(lock));
}

bool HttpReply::is_open() const {
  const std::scoped_lock lock(mutex_);
  return !is_closed_;
}

HttpReply::Parts HttpReply::take() {
  const std::scoped_lock lock(mutex_);
  Parts parts = std::move(waiting_);
  waiting_ = {.head = std::nullopt, .text = {}, .is_last = parts.is_last};
  return parts;
}

HttpReply::Parts HttpReply::take_all() {
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return waiting_.is_last; });
  return std::move(waiting_);
}

void HttpReply::on_change(std::function<void()> wake) {
  const std::scoped_lock lock(mutex_);
  wake_ = std::move(wake);
}

void HttpReply::close() {
  const std::scoped_lock lock(mutex_);
  is_closed_ = true;
  wake_ = nullptr;
}

// Wakes under the lock, so that on_change() and close() return after the last call.
void HttpReply::changed(std::unique_lock<std::mutex> lock) {
  if (wake_) wake_();
  lock.unlock();
}

}  // namespace loom
