#include "object.h"

#include <algorithm>
#include <atomic>
#include <list>

namespace loom_godot {
namespace {

struct Worker {
  std::thread thread;
  loom::Cancel cancel;
  std::shared_ptr<std::atomic<bool>> has_ended;
};
std::mutex workers_mutex;
// Never destroyed: an engine that ends without unloading the library leaves its threads to the system.
std::list<Worker>& workers = *new std::list<Worker>;

}  // namespace

void Mailbox::post(Event event) {
  // The lock is held during the call, so that close() waits for it and the peer is alive.
  const std::lock_guard lock(mutex_);
  if (!peer_) return;
  events_.push_back(std::move(event));
  if (std::exchange(is_scheduled_, true)) return;
  engine_.call_later(peer_);
}

std::vector<Event> Mailbox::take() {
  const std::lock_guard lock(mutex_);
  const auto end = events_.begin() + static_cast<std::ptrdiff_t>(std::min(events_.size(), kEventsOfAFrame));
  std::vector<Event> out(std::make_move_iterator(events_.begin()), std::make_move_iterator(end));
  events_.erase(events_.begin(), end);
  is_scheduled_ = !events_.empty() && peer_;
  if (is_scheduled_) engine_.call_later(peer_);
  return out;
}

void Mailbox::close() {
  const std::lock_guard lock(mutex_);
  peer_ = nullptr;
  events_.clear();
}

bool Mailbox::is_open() {
  const std::lock_guard lock(mutex_);
  return peer_ != nullptr;
}

void Workers::run(loom::Cancel cancel, std::function<void()> work) {
  const std::lock_guard lock(workers_mutex);
  for (auto each = workers.begin(); each != workers.end();) {
    if (each->has_ended->load()) {
      each->thread.join();
      each = workers.erase(each);
    } else {
      ++each;
    }
  }
  auto has_ended = std::make_shared<std::atomic<bool>>(false);
  workers.push_back({std::thread([work = std::move(work), has_ended]() mutable {
                       work();
                       work = nullptr;  // its handles are released before anybody joins
                       has_ended->store(true);
                     }),
                     std::move(cancel), has_ended});
}

void Workers::join_all() {
  const std::lock_guard lock(workers_mutex);
  for (const Worker& each : workers) (void)each.cancel.set(true);
  for (Worker& each : workers) each.thread.join();
  workers.clear();
}

Object::~Object() {
  if (mailbox_) mailbox_->close();
  if (cancel_) (void)cancel_.set(true);
}

void Object::attach(Engine& engine, void* peer) {
  engine_ = &engine;
  peer_ = peer;
  mailbox_ = std::make_shared<Mailbox>(engine, peer);
}

void Object::poll() {
  // A signal's receiver may free the object, so `this` is used only while the mailbox is open.
  const std::shared_ptr<Mailbox> mailbox = mailbox_;
  for (const Event& event : mailbox->take()) {
    if (!mailbox->is_open()) return;
    Engine& engine = *engine_;
    if (event.kind == Event::Kind::kToken) {
      engine.emit(peer_, "token", {event.first});
      continue;
    }
    is_busy_ = false;
    on_end(event);
    switch (event.kind) {
      case Event::Kind::kLoaded: engine.emit(peer_, "loaded", {}); break;
      case Event::Kind::kFinished: engine.emit(peer_, "finished", {event.first}); break;
      default: fail(event.first, event.second);
    }
  }
}

void Object::cancel() {
  if (is_busy_) (void)cancel_.set(true);
}

bool Object::fail(const std::string& code, const std::string& text) {
  error_code_ = code;
  error_text_ = text;
  if (engine_) engine_->emit(peer_, "failed", {code, text});  // `this` may be gone
  return false;
}

bool Object::is_free() {
  return !is_busy_ || fail("Busy", "a thread works for this object: call cancel(), or wait for finished or failed");
}

bool Object::start(Work work) {
  if (!is_free()) return false;
  // A flag per piece of work: one that was cancelled stays so.
  auto cancel = loom::Cancel::create();
  if (!cancel) return fail(cancel.error());
  cancel_ = *cancel;
  is_busy_ = true;
  Workers::run(cancel_, [mailbox = mailbox_, cancel = cancel_, work = std::move(work)] { work(*mailbox, cancel); });
  return true;
}

std::string Object::system_path(const std::string& path) const {
  const bool is_of_engine = path.starts_with("res://") || path.starts_with("user://");
  return is_of_engine && engine_ ? engine_->system_path(path) : path;
}

}  // namespace loom_godot
