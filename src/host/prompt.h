#pragma once
// From a question, a text or a conversation to the tokens that a model reads: the one way for the command line, chats
// and the C interface.

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.h"
#include "host/receipt.h"
#include "lm/language_model.h"

namespace loom {

// Auto asks a model that has a chat template, or where the request has what only a template reads; other texts are
// continued. Raw continues the text. Chat is NoTemplate for a model without a template.
enum class PromptForm : std::uint8_t { Auto, Raw, Chat };

struct PromptRequest {
  Json messages = nullptr;  // a conversation as conversation_from_json() returns it; null: `text` is the prompt
  std::string text{};       // a question of the user, or a text to continue
  PromptForm form = PromptForm::Auto;
  std::optional<ChatTemplate> chat_template{};  // absent: the model's own
  Json tools = nullptr;                // functions that the template describes to the model (tools_from_json())
  Json variables = Json::object();     // of the template, beside those that Loom sets
  std::optional<TemplateTime> date{};  // for templates that write the day
  bool add_generation_prompt = true;
  bool continue_final_message = false;  // the model continues the last message; no generation prompt follows it
  // Control tokens in messages, tools and variables are read as text: for texts of strangers.
  bool plain_text = false;
  std::size_t context_tokens = 0;  // encoding ends after kMostContexts times as many; 0: no limit
};
// The error of a text that is a little too long still says how long it is.
inline constexpr std::size_t kMostContexts = 4;
// Bytes of a file of a template or of tools.
inline constexpr std::size_t kLongestPromptFile = std::size_t{16} << 20;

struct Prompt {
  std::string text;  // that the model reads
  std::vector<std::int32_t> ids;
  std::size_t dropped_bytes = 0;  // of the text that have no token in the vocabulary
  Receipt::Prompt described{};    // for a receipt
};

// NoTemplate; what a template refuses; ContextFull beyond the limit; Cancelled when `*cancel` was set; InvalidArgument
// for settings without effect on a raw text and for variables that Loom sets; CorruptData for tools, with the place.
Result<Prompt> make_prompt(const LanguageModel& model, PromptRequest request,
                           const std::atomic<bool>* cancel = nullptr);
Json to_json(const Prompt& prompt);
// Returns the text alone, of a model without a tokenizer too.
Result<std::string> render_prompt(const LanguageModel& model, PromptRequest request,
                                  const std::atomic<bool>* cancel = nullptr);

// The errors of make_prompt() that need no model.
Result<void> check_request(const PromptRequest& request);
// Returns whether the model brings a template, if only one that cannot be read.
bool has_template(const LanguageModel& model);
// Takes the template of the model for a request that has none: the one for tools if there are tools and the model has
// one, else the default one. NoTemplate, or why it cannot be read.
Result<void> choose_template(const LanguageModel& model, PromptRequest& request);
// Returns another template of the model, or one of Loom's own (builtin_template()), by its name. NoTemplate.
Result<ChatTemplate> named_template(const LanguageModel& model, const std::string& name);
// Returns the template that a setting names: a file's where files are read, a named_template(), or the template that
// the setting itself is where texts are taken. NotFound where files are read, else NoTemplate.
enum class TemplateSetting : std::uint8_t { FileOrName, NameOrText };
Result<ChatTemplate> chosen_template(const LanguageModel& model, const std::string& given, TemplateSetting setting);

// The tools of a JSON text: null, or a list of functions with names. CorruptData with the place.
Result<Json> tools_from_json(std::string_view text);
// Returns whether Loom sets the variable of this name in every template.
bool is_own_variable(std::string_view name);

}  // namespace loom
