#pragma once
// From a request of any family to the engine and back: the prompt with its tools, the form of forced calls, limits.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/mutex.h"
#include "host/prompt.h"
#include "server/call_form.h"
#include "server/call_reader.h"
#include "server/chat_request.h"
#include "server/engine.h"
#include "server/known_forms.h"
#include "server/notary.h"
#include "server/thought_reader.h"
#include "text/template/chat_template.h"

namespace loom::server {

// Takes the choices of an answer. Calls come from the engine's thread.
class AnswerReceiver {
 public:
  virtual ~AnswerReceiver() = default;
  // Text that can no longer change. Returns false when nobody reads any more.
  virtual bool on_text(std::size_t choice, std::string_view text) = 0;
  virtual bool is_wanted() const = 0;
  // Once for each choice. An error of one choice ends the others.
  virtual void on_end(std::size_t choice, Result<Answer> answer) = 0;
};

struct AnswerOptions {
  std::string name;                             // of the model, for clients
  std::optional<ChatTemplate> chat_template{};  // absent: the model's own
  std::size_t most_tokens = 0;                  // of an answer; 0: no limit but the context's
  std::chrono::milliseconds timeout{0};         // of an answer, waiting included; 0: none
};

// A request whose prompt is ready.
struct Prepared {
  ChatRequest request;
  // A prompt as the model reads it, and its description for a receipt.
  struct Reading {
    std::vector<std::int32_t> ids;
    Receipt::Prompt described;
  };
  std::vector<Reading> prompts;             // at least one; request.choices answers to each
  std::optional<CallForm> form;             // absent: no function can be called
  std::string id_seed;                      // of the prompt and the draws: for ids of calls
  std::optional<ThoughtReader> thoughts{};  // for each choice; absent where the answer has none

  std::size_t num_choices() const { return prompts.size() * request.choices; }
  // Finds the calls of one choice; absent where there can be none.
  std::optional<CallReader> reader() const;
};

class Answers {
 public:
  Answers(std::shared_ptr<Engine> engine, AnswerOptions options);

  // NotFound for another model; the errors of prompts, schemas and limits.
  Result<Prepared> prepare(ChatRequest request) const;
  // One request for each choice, those to the first prompt first; all of them or none. Busy, Cancelled.
  Result<void> submit(const Prepared& prepared, const std::shared_ptr<AnswerReceiver>& receiver) const;

  // "name:latest" is the model too, for clients of Ollama.
  bool is_served(std::string_view model) const;
  Result<void> check_model(std::string_view model) const;
  // UnknownKey for members of messages that neither Loom nor the chat template reads.
  Result<void> check_messages(const Json& messages) const;
  Result<Prompt> prompt_of(ChatRequest& request, bool add_generation_prompt = true,
                           bool add_special_tokens = true) const;
  const Engine& engine() const { return *engine_; }
  const AnswerOptions& options() const { return options_; }
  // The form of calls of the template that describes tools.
  const Result<CallForm>& form() const { return form_; }
  // Whether the chat template is one of a model that writes thoughts in front of its answers.
  bool thinks() const { return template_source_.find(ThoughtReader::kClose) != std::string::npos; }

 private:
  Result<void> check_variables(const ChatRequest& request) const;
  void separate_thoughts(const Prompt& prompt, ChatRequest& request, Prepared& to) const;
  Result<void> limit(ChatRequest& request) const;
  Result<void> offer_tools(ChatRequest& request, std::optional<CallForm>& form) const;
  // Lets a request end with a receipt of its answer.
  void attest(Request& request, const Receipt::Prompt& prompt, std::function<bool()> is_wanted) const;

  const std::shared_ptr<Engine> engine_;
  const AnswerOptions options_;
  Result<CallForm> form_;
  const std::string template_source_;  // empty: none
  const std::shared_ptr<Notary> notary_ = std::make_shared<Notary>();
  mutable Mutex known_mutex_;
  mutable KnownForms known_calls_;  // under known_mutex_: an agent sends the same functions with every turn
};

}  // namespace loom::server
