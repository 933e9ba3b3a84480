#include "host/chat.h"

#include <utility>

#include "host/conversation.h"
#include "lm/kv_file.h"

namespace loom {

Result<Chat> Chat::create(const LanguageModel& model, Session& session, ChatOptions options) {
  LOOM_TRY_VOID(model.need_tokenizer());
  if (options.prompt.continue_final_message)
    return fail(Code::InvalidArgument, "continue_final_message has no effect in a chat, which answers messages");
  Chat chat(model, session);
  chat.request_ = std::move(options.prompt), chat.generation_ = std::move(options.generation);
  chat.request_.form = PromptForm::Chat, chat.request_.messages = Json::array();
  LOOM_TRY_VOID(choose_template(model, chat.request_));
  LOOM_TRY_VOID(check_request(chat.request_));
  chat.system_ = std::move(options.system);
  if (!chat.system_.empty()) chat.request_.messages.push_back(message("system", chat.system_));
  return chat;
}

Result<void> Chat::check_idle() const {
  return is_answering_ ? fail(Code::InvalidState, "an answer runs: stop() ends it") : Result<void>();
}

// The tokens of the conversation that the session does not hold yet; it forgets what it holds beside them.
Result<std::vector<std::int32_t>> Chat::unread_tokens(const std::atomic<bool>* cancel) {
  dropped_bytes_ = 0;
  const std::size_t context = request_.context_tokens = session_->context_tokens();
  LOOM_TRY(Prompt prompt, make_prompt(*model_, request_, cancel));
  dropped_bytes_ = prompt.dropped_bytes, prompt_ = std::move(prompt.described);
  std::vector<std::int32_t> ids = std::move(prompt.ids);
  if (ids.empty()) return fail(Code::InvalidArgument, "the prompt has no tokens");
  LOOM_TRY(const std::size_t same, keep_common(*session_, ids));
  if (ids.size() >= context)
    return fail(Code::ContextFull, "the conversation has {} tokens, the context holds {}", ids.size(), context);
  ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(same));
  return ids;
}

Result<void> Chat::begin_answer(const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_idle());
  const auto ids = unread_tokens(cancel);
  if (!ids && ids.error().code == Code::Cancelled) {
    last_ = {}, prompt_tokens_ = 0;
    last_.stop_reason = StopReason::Cancelled;
    request_.messages.push_back(message("assistant", ""));
    return {};
  }
  if (!ids) return tl::make_unexpected(ids.error());
  LOOM_TRY(Generator generator, Generator::create(*session_, *model_, *ids, generation_));
  generator_.emplace(std::move(generator));
  prompt_tokens_ = ids->size();
  is_answering_ = true, said_ = false;
  return {};
}

Result<void> Chat::say(std::string text, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_idle());
  request_.messages.push_back(message("user", std::move(text)));
  if (auto begun = begin_answer(cancel); !begun) {
    request_.messages.erase(request_.messages.size() - 1);
    return begun;
  }
  said_ = is_answering_;
  return {};
}

Result<Generator::Step> Chat::next(const std::atomic<bool>* cancel) {
  if (!is_answering_) return fail(Code::InvalidState, "no answer runs");
  auto step = generator_->next(cancel);
  if (step && !step->done) return step;
  last_ = generator_->result();
  is_answering_ = false;
  // one that was stopped has no receipt
  if (auto receipt = receipt_of(*model_, *session_, generator_->options(), last_, std::move(prompt_)); step && receipt)
    receipts_.add(request_.messages.size(), std::move(*receipt));
  generator_.reset();
  if (step)
    request_.messages.push_back(message("assistant", last_.text));
  else if (said_)
    request_.messages.erase(request_.messages.size() - 1);
  return step;
}

Result<Generation> Chat::ask(std::string text, const std::function<bool(std::string_view)>& on_text,
                             const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(say(std::move(text), cancel));
  while (is_answering_) {
    LOOM_TRY(const Generator::Step step, next(cancel));
    if (on_text && !step.text.empty() && !on_text(step.text) && is_answering_) LOOM_TRY_VOID(stop());
  }
  return last_;
}

Result<void> Chat::stop() {
  if (!is_answering_) return {};
  const std::atomic<bool> cancel = true;
  LOOM_TRY_VOID(next(&cancel));
  return {};
}

Result<void> Chat::push(const Json& message) {
  LOOM_TRY_VOID(check_idle());
  LOOM_TRY(const Json checked, conversation_from_json(Json::array({message})));
  request_.messages.push_back(checked[0]);
  return {};
}

Result<void> Chat::set_messages(const Json& messages) {
  LOOM_TRY_VOID(check_idle());
  LOOM_TRY(request_.messages, conversation_from_json(messages));
  receipts_.keep(0);
  find_system();
  return {};
}

Result<void> Chat::rewind(std::size_t count) {
  LOOM_TRY_VOID(check_idle());
  if (count > request_.messages.size())
    return fail(Code::OutOfRange, "{} messages of a conversation of {}", count, request_.messages.size());
  while (request_.messages.size() > count) request_.messages.erase(request_.messages.size() - 1);
  receipts_.keep(count);
  return {};
}

Result<void> Chat::edit(std::size_t index, std::string content) {
  LOOM_TRY_VOID(check_idle());
  if (index >= request_.messages.size())
    return fail(Code::OutOfRange, "message {} of a conversation of {}", index, request_.messages.size());
  LOOM_TRY_VOID(rewind(index + 1));
  receipts_.keep(index);
  request_.messages[index]["content"] = std::move(content);
  find_system();
  return {};
}

Result<void> Chat::reset() {
  LOOM_TRY_VOID(check_idle());
  request_.messages = Json::array();
  receipts_.keep(0);
  if (!system_.empty()) request_.messages.push_back(message("system", system_));
  return session_->rewind(0);
}

Result<void> Chat::set_system(std::string text) {
  LOOM_TRY_VOID(check_idle());
  system_ = std::move(text);
  return reset();
}

void Chat::find_system() {
  const std::string* const role = request_.messages.empty() ? nullptr : as_string(request_.messages[0]["role"]);
  const bool is_first = role != nullptr && (*role == "system" || *role == "developer");
  system_ = is_first ? content_text(request_.messages[0]) : "";
}

Result<void> Chat::save(const std::string& path) {
  const auto receipts = receipts_.sealed();
  Json beside = Json::object();
  if (!receipts)
    beside["receipts_error"] = receipts.error().text();
  else if (!receipts->empty())
    beside["receipts"] = *receipts;
  return write_conversation(path, request_.messages, beside);
}

Result<Json> Chat::receipt() { return receipts_.last(); }

Result<void> Chat::load(const std::string& path) {
  LOOM_TRY_VOID(check_idle());
  LOOM_TRY(request_.messages, read_conversation(path));
  receipts_.load(path);
  find_system();
  return {};
}

Result<void> Chat::use(Session& session) {
  LOOM_TRY_VOID(check_idle());
  session_ = &session;
  return {};
}

}  // namespace loom
