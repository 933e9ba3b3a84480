// The base of the classes that scripts see: errors as signals, work on a thread of its own whose events reach the main
// thread by a deferred call.
#pragma once

#include <loom/loom.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "value.h"

namespace loom_godot {

// Services of an engine.
class Engine {
 public:
  virtual ~Engine() = default;
  // Emits a signal of an object, on the main thread. The object may be gone afterwards.
  virtual void emit(void* peer, const char* signal, const std::vector<Value>& arguments) = 0;
  // Calls poll() of an object later, on the main thread. Called from any thread.
  virtual void call_later(void* peer) = 0;
  // Returns the path of the system for one that begins with res:// or user://.
  virtual std::string system_path(const std::string& path) = 0;
};

// A report of a thread to the main thread.
struct Event {
  enum class Kind { kLoaded, kToken, kFinished, kFailed } kind;
  std::string first;   // text; of kFailed the code
  std::string second;  // of kFailed the text
};

// Events between a thread and the object that started it. It outlives both.
class Mailbox {
 public:
  Mailbox(Engine& engine, void* peer) : engine_(engine), peer_(peer) {}

  // Adds an event, from any thread; nothing once the object is gone.
  void post(Event event);
  // Takes the oldest events, on the main thread. Further ones are left for the next frame.
  std::vector<Event> take();
  // The object is gone: no call reaches it from now on.
  void close();
  bool is_open();

 private:
  // A frame handles so many events; a model draws far fewer.
  static constexpr std::size_t kEventsOfAFrame = 64;

  Engine& engine_;
  std::mutex mutex_;
  void* peer_;
  std::deque<Event> events_;
  bool is_scheduled_ = false;
};

// Threads of all objects. Nobody waits for one until the library is unloaded.
class Workers {
 public:
  static void run(loom::Cancel cancel, std::function<void()> work);
  // Cancels all work and waits for it.
  static void join_all();
};

class Object {
 public:
  virtual ~Object();
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // The object of the engine.
  void* peer() const { return peer_; }
  // Connects the object with its peer in the engine, once.
  void attach(Engine& engine, void* peer);

  // Emits what threads have reported. The engine calls it by a deferred call; a script may call it too.
  void poll();
  // Ends the work that runs; `failed` follows with the code Cancelled.
  void cancel();
  // Whether a thread works for the object. It ends with `loaded`, `finished` or `failed`.
  bool is_busy() const { return is_busy_; }
  // The code and text of the last error.
  std::string error_code() const { return error_code_; }
  std::string error_text() const { return error_text_; }

  // Reports an error: keeps it, emits `failed`. Always false.
  bool fail(const std::string& code, const std::string& text);
  bool fail(const loom::Error& error) { return fail(loom_status_name(error.code()), error.what()); }

 protected:
  // Runs on a thread and posts events, the last one of which is not kToken.
  using Work = std::function<void(Mailbox&, const loom::Cancel&)>;
  // Starts work on a thread of its own.
  bool start(Work work);
  // False, with an error, while a thread works for the object.
  bool is_free();
  // Returns the path of the system for res:// and user://; other paths as they are.
  std::string system_path(const std::string& path) const;
  // Takes over what a thread has computed, before its event is emitted.
  virtual void on_end(const Event&) {}

 private:
  Engine* engine_ = nullptr;
  void* peer_ = nullptr;
  std::shared_ptr<Mailbox> mailbox_;
  loom::Cancel cancel_;
  bool is_busy_ = false;
  std::string error_code_;
  std::string error_text_;
};

// The event of a failed call.
inline Event failed_with(const loom::Error& error) {
  return {Event::Kind::kFailed, loom_status_name(error.code()), error.what()};
}

}  // namespace loom_godot
