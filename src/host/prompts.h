#pragma once
// From the messages of a conversation to the text that a model reads.

#include <atomic>
#include <optional>
#include <string>

#include "core/json.h"
#include "host/receipt.h"
#include "lm/language_model.h"

namespace loom {

// A chat template with all that it is rendered with but the messages.
struct Prompts {
  std::optional<ChatTemplate> chat_template;  // absent: there is none
  Json tools = nullptr;                       // a list of functions that the template tells the model about
  Json variables = Json::object();            // of the template, beside those that Loom sets
  std::optional<TemplateTime> date;           // for templates that write the day
  std::string bos_token, eos_token;
  NamedTexts special_tokens;  // others by name
  bool add_generation_prompt = true;
  // Control tokens in messages, tools and variables are read as text: for texts of strangers. What render() returns is
  // then marked, see text/tokenizer/plain_text.h.
  bool plain_text = false;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // of the model
  bool continue_final_message = false;  // the model continues the last message; no generation prompt follows it

  // The model's default template.
  static Prompts of(const LanguageModel& model);
  // Takes the model's template of that name; where the name is empty, the one for tools if there are tools and the
  // model has one, else the default one. NoTemplate with the names that the model has, or why it cannot be read.
  Result<void> choose(const LanguageModel& model, std::string_view name = {});
  // NoTemplate without a template; what a template refuses; Cancelled when `*cancel` was set.
  Result<std::string> render(const Json& messages, const std::atomic<bool>* cancel = nullptr) const;
  // Encodes what render() returned. ContextFull beyond `max_tokens`.
  Result<text::Encoded> encode(std::string_view rendered, std::size_t max_tokens, std::vector<std::int32_t>& ids) const;
  // Describes it for a receipt.
  Receipt::Prompt describe(std::string_view rendered) const;
};

}  // namespace loom
