#include "server/engine.h"

#include <utility>

#include "lm/kv_file.h"

namespace loom::server {

Result<std::unique_ptr<Engine>> Engine::start(LanguageModel model, std::unique_ptr<Session> session,
                                              std::size_t most_waiting) {
  LOOM_TRY_VOID(model.need_tokenizer());
  return std::unique_ptr<Engine>(new Engine(std::move(model), std::move(session), most_waiting));
}

Engine::Engine(LanguageModel model, std::unique_ptr<Session> session, std::size_t most_waiting)
    : model_(std::move(model)), session_(std::move(session)), most_waiting_(most_waiting), thread_([this] { run(); }) {}

Engine::~Engine() {
  is_stopped_ = true;
  {
    const std::scoped_lock lock(mutex_);
    changed_.notify_all();
  }
  thread_.join();
}

std::size_t Engine::under_way() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size() + (is_answering_ ? 1 : 0);
}

Result<void> Engine::submit(Request request) {
  if (request.prompt.empty()) return fail(Code::InvalidArgument, "the prompt has no tokens");
  if (request.prompt.size() > context_tokens())
    return fail(Code::ContextFull, "the prompt has {} tokens, the context holds {}", request.prompt.size(),
                context_tokens());
  LOOM_TRY_VOID(check(request.options.sampling, static_cast<std::size_t>(model_.decoder->config.vocab_size)));
  const std::scoped_lock lock(mutex_);
  if (is_stopped_) return fail(Code::Cancelled, "the server ends");
  if (waiting_.size() >= most_waiting_)
    return fail(Code::Busy, "{} requests are waiting, which is the limit; try again later", waiting_.size());
  waiting_.push_back(std::move(request));
  changed_.notify_all();
  return {};
}

void Engine::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    is_answering_ = false;
    changed_.wait(lock, [this] { return is_stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const Request request = std::move(waiting_.front());
    waiting_.pop_front();
    is_answering_ = true;
    lock.unlock();
    if (is_stopped_)
      request.on_end(fail(Code::Cancelled, "the server ends"));
    else
      request.on_end(answer(request));
  }
}

Result<Answer> Engine::answer(const Request& request) {
  Answer out;
  LOOM_TRY(out.cached_tokens, keep_common(*session_, request.prompt));
  const auto unread = std::span(request.prompt).subspan(out.cached_tokens);
  LOOM_TRY(Generator generator, Generator::create(*session_, model_, unread, request.options));
  // Set before the step that sees it: a client that is gone costs one token at most.
  std::atomic<bool> is_unwanted = false;
  while (!generator.done()) {
    if (is_stopped_ || (request.is_wanted && !request.is_wanted())) is_unwanted = true;
    LOOM_TRY(const Generator::Step step, generator.next(&is_unwanted));
    if (!step.text.empty() && request.on_text && !request.on_text(step.text)) is_unwanted = true;
  }
  out.generation = generator.result();
  return out;
}

}  // namespace loom::server
