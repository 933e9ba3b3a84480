#include "cli/prompt_options.h"

#include <algorithm>

#include "core/file.h"
#include "host/conversation.h"

namespace loom::cli {
namespace {

constexpr std::size_t kLongestTemplate = std::size_t{16} << 20;

// A file, or one of Loom's own.
Result<ChatTemplate> named_template(const std::string& name) {
  auto source = [&]() -> Result<std::string> {
    if (!is_file(name))
      if (const auto builtin = builtin_template(name)) return std::string(*builtin);
    auto text = read_text_file(name, kLongestTemplate);
    if (!text && text.error().code == Code::NotFound)
      return fail(Code::NotFound, "--chat-template {}: no such file, and {}", name,
                  builtin_template(name).error().text());
    return text;
  }();
  if (!source) return tl::make_unexpected(std::move(source).error());
  auto parsed = ChatTemplate::parse(std::move(*source));
  if (!parsed) return at(name, std::move(parsed).error());
  return parsed;
}

Result<Json> read_tools(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path, kLongestTemplate));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  if (json->is_null()) return json;  // none; an empty list is one without tools
  if (!json->is_array())
    return fail(Code::CorruptData, "{}: expected a list of tools, got {}", path, json->type_name());
  for (std::size_t i = 0; i < json->size(); ++i) {
    const Json* const function = find((*json)[i], "function");
    const Json* const name = find(function ? *function : (*json)[i], "name");
    if (!name || !as_string(*name)) return fail(Code::CorruptData, "{}: /{} has no function with a name", path, i);
  }
  return json;
}

// Variables of every template that have options of their own or come from the model.
constexpr std::string_view kOwnVariables[] = {"messages",  "tools",     "add_generation_prompt",
                                              "bos_token", "eos_token", "strftime_now"};

Result<void> add_variable(const std::string& entry, Json& variables) {
  const std::size_t equals = entry.find('=');
  if (equals == entry.npos || equals == 0)
    return fail(Code::InvalidArgument, "--template-var {}: expected NAME=JSON", entry);
  const std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
  if (std::ranges::find(kOwnVariables, name) != std::end(kOwnVariables))
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

// Returns whether the name stands between {{ }} or {% %} as a word: what does not cannot be read there.
bool mentions(std::string_view source, std::string_view name) {
  const auto in_word = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  // A tag ends at its first closer, and the search goes on behind that end: a template may be 16 MB of tags.
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

void warn_of_unread(const PromptFlags& flags, const Prompts& prompts) {
  const std::string& source = prompts.chat_template->source();
  const auto check = [&](const std::string& option, const std::string& name) {
    if (!mentions(source, name)) warn(fmt::format("{} has no effect: the chat template reads no {}", option, name));
  };
  if (!prompts.tools.empty()) check("--tools", "tools");
  if (!flags.date.empty()) check("--date", "strftime_now");
  for (const auto& [name, value] : prompts.variables.items()) check("--template-var " + name, name);
}

}  // namespace

void PromptFlags::add(CLI::App& app) {
  auto* const first = app.add_option("--system", system, "System message");
  add_path(app, "--messages", messages,
           "JSON file: a list of messages with role and content, as OpenAI's interface takes them, or what /save wrote")
      ->type_name("FILE")
      ->excludes(first);
  add_path(app, "--tools", tools, "JSON file: a list of functions that the template tells the model about")
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

Result<Prompts> make_prompts(const PromptFlags& flags, const LanguageModel& model, const CommonOptions& common) {
  Prompts out = Prompts::of(model);
  out.plain_text = flags.plain_text;
  if (!flags.tools.empty()) {
    LOOM_TRY(out.tools, read_tools(flags.tools));
  }
  const std::string& wanted = flags.chat_template;
  const bool is_of_model =
      model.named_templates.contains(wanted) || (wanted == kDefaultTemplate && model.need_template());
  const bool has_template = model.chat_template || model.template_error || !model.named_templates.empty();
  if (!wanted.empty() && (is_file(wanted) || !is_of_model)) {
    LOOM_TRY(out.chat_template, named_template(wanted));
  } else if (has_template) {
    LOOM_TRY_VOID(out.choose(model, wanted));
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
