#pragma once
// The thread that owns a session and answers requests one after the other, in the order in which they came.

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "lm/generator.h"
#include "lm/language_model.h"
#include "lm/session.h"

namespace loom::server {

struct Answer {
  Generation generation;
  std::size_t cached_tokens = 0;  // of the prompt, that the session still held from the request before
};

// Calls come from the engine's thread.
struct Request {
  std::vector<std::int32_t> prompt;
  GenerationOptions options;
  std::function<bool(std::string_view)> on_text{};  // text that can no longer change; false: nobody listens
  std::function<bool()> is_wanted{};                // asked while the prompt is read
  std::function<void(Result<Answer>)> on_end{};     // once, whatever happens
};

class Engine {
 public:
  // The model must have a tokenizer; `most_waiting` requests wait beside the one that is answered.
  static Result<std::unique_ptr<Engine>> start(LanguageModel model, std::unique_ptr<Session> session,
                                               std::size_t most_waiting);
  // Ends the request under way with what it has written, and those that wait with Cancelled.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Checks the request and puts it last. Busy when too many wait; else what Generator::create() would give.
  Result<void> submit(Request request);

  const LanguageModel& model() const { return model_; }
  std::size_t context_tokens() const { return session_->context_tokens(); }
  // Requests that wait or are answered, now.
  std::size_t under_way() const;

 private:
  Engine(LanguageModel model, std::unique_ptr<Session> session, std::size_t most_waiting);
  void run();
  Result<Answer> answer(const Request& request);

  LanguageModel model_;
  std::unique_ptr<Session> session_;
  const std::size_t most_waiting_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  bool is_answering_ = false;
  std::atomic<bool> is_stopped_ = false;
  std::thread thread_;
};

}  // namespace loom::server
