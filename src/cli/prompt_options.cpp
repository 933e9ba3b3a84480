#include "cli/prompt_options.h"

#include <algorithm>

#include "core/file.h"
#include "host/conversation.h"

namespace loom::cli {
namespace {

Result<Json> read_tools(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path, kLongestPromptFile));
  auto tools = tools_from_json(text);
  if (!tools) return at(path, std::move(tools).error());
  return tools;
}

Result<void> add_variable(const std::string& entry, Json& variables) {
  const std::size_t equals = entry.find('=');
  if (equals == entry.npos || equals == 0)
    return fail(Code::InvalidArgument, "--template-var {}: expected NAME=JSON", entry);
  const std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
  if (is_own_variable(name))
    return fail(Code::InvalidArgument,
                "--template-var {}: Loom sets {} itself; --messages, --tools and --date give what it takes", entry,
                name);
  auto json = parse_json(value);
  if (!json)
    return fail(Code::InvalidArgument, "--template-var {}: the value is no JSON; a text needs quotes: {}='\"...\"'",
                entry, name);
  variables[name] = std::move(*json);
  return {};
}

// Returns whether the name stands between {{ }} or {% %} as a word: a template cannot read other names.
bool mentions(std::string_view source, std::string_view name) {
  const auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  // A tag ends at its first closer, and the search goes on after it: a template may be 16 MB of tags.
  for (const auto& [opener, closer] : {std::pair("{{", "}}"), std::pair("{%", "%}")})
    for (std::size_t begin = 0, end = 0; (begin = source.find(opener, end)) != source.npos;) {
      end = std::min(source.find(closer, begin + 2), source.size());
      const std::string_view to_end = source.substr(0, end);
      for (std::size_t i = begin + 2; (i = to_end.find(name, i)) != to_end.npos; ++i)
        if (!in_word(source[i - 1]) && (i + name.size() == source.size() || !in_word(source[i + name.size()])))
          return true;
    }
  return false;
}

void warn_of_unread(const PromptFlags& flags, const PromptRequest& request) {
  const std::string& source = request.chat_template->source();
  const auto check = [&](const std::string& option, const std::string& name) {
    if (!mentions(source, name)) warn(fmt::format("{} has no effect: the chat template reads no {}", option, name));
  };
  if (!request.tools.empty()) check("--tools", "tools");
  if (!flags.date.empty()) check("--date", "strftime_now");
  for (const auto& [name, value] : request.variables.items()) check("--template-var " + name, name);
}

}  // namespace

void PromptFlags::add(CLI::App& app) {
  auto* const first = app.add_option("--system", system, "System message");
  add_path(app, "--messages", messages,
           "JSON file: a list of messages with role and content, as OpenAI's interface takes them, or what /save wrote")
      ->type_name("FILE")
      ->excludes(first);
  add_path(app, "--tools", tools, "JSON file: a list of functions that the template describes to the model")
      ->type_name("FILE");
  add_path(app, "--chat-template", chat_template,
           "In place of the model's default: a file, a name of another template of the model (as tool_use), or one of "
           "chatml, llama2, llama3, mistral, tinyllama, zephyr, plain, bitnet_instruction, bitnet_microsoft")
      ->type_name("FILE|NAME");
  app.add_option("--template-var", variables,
                 "NAME=JSON, a variable of the template, as enable_thinking=false; may be repeated");
  app.add_flag(
      "--plain-text", plain_text,
      "Control tokens in messages, tools and variables (as <|im_end|>) are read as text: for texts of strangers");
  app.add_option("--date", date,
                 "YYYY-MM-DD, for templates that write the day (default: none is given, and many templates bring one)")
      ->check(not_empty());
}

Result<PromptRequest> prompt_request(const PromptFlags& flags, const LanguageModel& model,
                                     const CommonOptions& common) {
  PromptRequest out;
  out.plain_text = flags.plain_text;
  if (!flags.tools.empty()) {
    LOOM_TRY(out.tools, read_tools(flags.tools));
  }
  if (!flags.chat_template.empty()) {
    auto chosen = chosen_template(model, flags.chat_template, TemplateSetting::FileOrName);
    if (!chosen && chosen.error().code == Code::NotFound) return at("--chat-template", std::move(chosen).error());
    LOOM_TRY(out.chat_template, std::move(chosen));
  } else if (has_template(model)) {
    LOOM_TRY_VOID(choose_template(model, out));
  }
  for (const std::string& entry : flags.variables) LOOM_TRY_VOID(add_variable(entry, out.variables));
  if (!flags.date.empty()) {
    auto date = parse_template_date(flags.date);
    if (!date) return at("--date", std::move(date).error());
    out.date = *date;
  }
  if (out.chat_template && !common.quiet) warn_of_unread(flags, out);
  return out;
}

Error with_flags(Error error, bool has_date) {
  if (error.code == Code::NoTemplate)
    error.message += "; --chat-template names one, loom generate --raw continues text";
  if (error.code == Code::TemplateError && !has_date && error.text().find("strftime_now") != std::string::npos)
    error.message += "; the template asks for the day: give it with --date YYYY-MM-DD";
  return error;
}

Result<Json> first_messages(const PromptFlags& flags) {
  if (!flags.messages.empty()) return read_conversation(flags.messages);
  Json out = Json::array();
  if (!flags.system.empty()) out.push_back(message("system", flags.system));
  return out;
}

}  // namespace loom::cli
