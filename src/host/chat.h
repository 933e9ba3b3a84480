#pragma once
// A conversation with a language model: messages in, answers out piece by piece. The session holds the tokens of the
// conversation so far, and a message feeds only what it does not hold yet.

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "host/chat_receipts.h"
#include "host/prompt.h"
#include "lm/generator.h"

namespace loom {

struct ChatOptions {
  std::string system{};            // message; empty: none
  PromptRequest prompt{};          // of every answer, but for the messages, the form and the limit, which the chat sets
  GenerationOptions generation{};  // of every answer
};

class Chat {
 public:
  // Model and session outlive the chat, and nobody else feeds the session's first sequence while an answer runs. Tokens
  // that it holds are not read again where the conversation begins with them. NotFound, NoTemplate for a model that
  // brings no tokenizer or no template.
  static Result<Chat> create(const LanguageModel& model, Session& session, ChatOptions options = {});

  // Adds a message of the user and begins the answer, which next() then brings. After an error the conversation is as
  // before: ContextFull, what a template refuses, InvalidState while an answer runs. Setting `*cancel` while the
  // template is rendered ends the answer at once, with no text.
  Result<void> say(std::string text, const std::atomic<bool>* cancel = nullptr);
  // Begins an answer to the messages as they stand: after push(), rewind() or edit().
  Result<void> begin_answer(const std::atomic<bool>* cancel = nullptr);
  // One bounded piece of work, as Generator::next(). With the last one the answer joins the conversation, also when
  // `*cancel` has ended it early. InvalidState without an answer that runs. An error ends the answer, and a message
  // that say() added is taken away.
  Result<Generator::Step> next(const std::atomic<bool>* cancel = nullptr);
  // say(), and next() until the answer is done; `on_text` returning false stops it after that piece.
  Result<Generation> ask(std::string text, const std::function<bool(std::string_view)>& on_text = {},
                         const std::atomic<bool>* cancel = nullptr);
  // Ends an answer that runs, as a cancel would.
  Result<void> stop();
  bool is_answering() const { return is_answering_; }
  // The answer that runs, or the last one.
  const Generation& answer() const { return generator_ ? generator_->result() : last_; }
  // Tokens of the answer's prompt that are read, as the session holds the others; bytes that have no token.
  std::size_t prompt_tokens() const { return prompt_tokens_; }
  std::size_t dropped_bytes() const { return dropped_bytes_; }

  // The conversation, each message with role and content (host/conversation.h). None of these while an answer runs:
  // InvalidState. The session finds out by itself, with the next answer, which of its tokens still hold.
  const Json& messages() const { return request_.messages; }
  Result<void> push(const Json& message);           // of any role: a tool's, an answer that was given elsewhere
  Result<void> set_messages(const Json& messages);  // replaces all of them
  Result<void> rewind(std::size_t count);           // to the first `count`; OutOfRange
  Result<void> edit(std::size_t index, std::string content);  // and forgets what follows; OutOfRange
  Result<void> reset();                                       // to the system message alone
  Result<void> set_system(std::string text);                  // and empties the conversation; empty: none
  const std::string& system() const { return system_; }
  // Transcripts as files, with a receipt for each answer (host/receipt.h); where one cannot be written,
  // "receipts_error" says why. Errors of read_conversation() and write_conversation().
  Result<void> save(const std::string& path);
  Result<void> load(const std::string& path);
  // The receipt of the last answer. InvalidState before one that was complete; errors of seal().
  Result<Json> receipt();

  // Goes on with another session of the model, as when adapters have changed: the next answer reads the whole
  // conversation into it.
  Result<void> use(Session& session);
  GenerationOptions& generation() { return generation_; }
  const GenerationOptions& generation() const { return generation_; }

 private:
  Chat(const LanguageModel& model, Session& session) : model_(&model), session_(&session) {}
  Result<void> check_idle() const;
  Result<std::vector<std::int32_t>> unread_tokens(const std::atomic<bool>* cancel);
  void find_system();

  const LanguageModel* model_;
  Session* session_;
  PromptRequest request_;  // with the conversation so far
  GenerationOptions generation_;
  std::string system_;
  ChatReceipts receipts_;
  Receipt::Prompt prompt_;  // of the answer that runs
  std::optional<Generator> generator_;
  Generation last_;  // of the answer before the one that runs
  std::size_t prompt_tokens_ = 0, dropped_bytes_ = 0;
  bool is_answering_ = false, said_ = false;  // said_: the last message came by say()
};

}  // namespace loom
