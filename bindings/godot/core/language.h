// LoomModel and LoomChat: a language model that answers, at once or piece by piece.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "object.h"

namespace loom_godot {

// The text of an answer, and the hash that is equal on every machine.
struct Answer {
  std::string text;
  std::string hash;
};

// Settings of answers by name, as numbers.
class Settings {
 public:
  // Returns why a setting is refused; empty if it was taken.
  std::string set(const std::string& name, double value);
  // max_tokens above 0 replaces the setting.
  loom_generation_options generation(std::int64_t max_tokens = 0) const;
  int threads() const { return static_cast<int>(get("threads")); }
  std::uint64_t context_tokens() const { return static_cast<std::uint64_t>(get("context_tokens")); }

 private:
  double get(const std::string& name) const;
  std::map<std::string, double> values_;
};

class Model final : public Object {
 public:
  // Loads a GGUF file, a Hugging Face folder, an .entity or a hub id of the cache, while the caller waits.
  bool load_model(std::string path);
  // Like load_model(), on a thread; `loaded` or `failed` follows.
  bool load_model_async(std::string path);
  bool is_loaded() const { return static_cast<bool>(*model_); }
  // Answers or continues a prompt while the caller waits. Empty after an error.
  std::string generate(std::string prompt, std::int64_t max_tokens);
  // Like generate(), on a thread: `token` for each piece, then `finished` or `failed`.
  bool stream(std::string prompt, std::int64_t max_tokens);
  // Sets temperature, top_k, seed, threads and the like, for answers from now on.
  bool set_option(std::string name, double value);
  // A JSON object: path, format, sizes, context.
  std::string info();
  // The last answer and its hash.
  std::string text() const { return answer_->text; }
  std::string hash() const { return answer_->hash; }

  const Settings& settings() const { return settings_; }
  loom::Model model() const { return *model_; }
  // Makes a session by the settings.
  loom::Result<loom::Session> make_session() const;

 private:
  bool is_ready(std::int64_t max_tokens);
  loom::Result<loom::Generator> begin(const std::string& prompt, std::int64_t max_tokens);
  void on_end(const Event& event) override;

  // Threads fill the second one of each; it is taken over on the main thread.
  std::shared_ptr<loom::Model> model_ = std::make_shared<loom::Model>(), loading_;
  std::shared_ptr<Answer> answer_ = std::make_shared<Answer>(), writing_;
  loom::Session session_;
  Settings settings_;
};

class Chat final : public Object {
 public:
  // Begins a conversation with a model, which the chat shares. The settings are those of the model.
  bool begin(Object* model, std::string system);
  // Answers while the caller waits. Empty after an error.
  std::string ask(std::string text);
  // Like ask(), on a thread: `token` for each piece, then `finished` or `failed`.
  bool say(std::string text);
  // The conversation as JSON: a list of messages with role and content.
  std::string messages();
  bool set_messages(std::string json);
  // Keeps the first so many messages.
  bool rewind(std::int64_t count);
  bool save_chat(std::string path);
  bool load_chat(std::string path);
  std::string text() const { return answer_->text; }
  std::string hash() const { return answer_->hash; }

 private:
  bool is_ready();
  bool done(loom::Result<void> result);
  void on_end(const Event& event) override;

  loom::Chat chat_;
  std::shared_ptr<Answer> answer_ = std::make_shared<Answer>(), writing_;
};

}  // namespace loom_godot
