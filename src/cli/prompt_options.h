#pragma once
// From messages to a prompt: the template flags of chat and generate, and rendering.

#include <string>
#include <vector>

#include "cli/common.h"
#include "host/prompt.h"

namespace loom::cli {

struct PromptFlags {
  std::string system, messages, tools, chat_template, date;
  std::vector<std::string> variables;
  bool plain_text = false;

  void add(CLI::App& app);
  bool need_template() const {
    return !(system.empty() && messages.empty() && tools.empty() && date.empty() && variables.empty() && !plain_text);
  }
};

// Returns a request with all that the flags say but the messages. InvalidArgument for flags that cannot be read, and
// for variables that Loom sets. A template of the model that does not parse is an error, unless another one is asked
// for. Warns, unless --quiet, of what the template never reads.
Result<PromptRequest> prompt_request(const PromptFlags& flags, const LanguageModel& model, const CommonOptions& common);
// An error of rendering, with the flags that would help.
Error with_flags(Error error, bool has_date);

// The messages that the flags give: of --messages, or of --system alone.
Result<Json> first_messages(const PromptFlags& flags);

}  // namespace loom::cli
