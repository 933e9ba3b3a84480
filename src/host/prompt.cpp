#include "host/prompt.h"

#include <algorithm>

#include "core/file.h"
#include "host/conversation.h"
#include "text/tokenizer/plain_text.h"

namespace loom {
namespace {

constexpr std::string_view kOwnVariables[] = {"messages",  "tools",     "add_generation_prompt",
                                              "bos_token", "eos_token", "strftime_now"};

// Marks the control tokens in the texts of a value; names of members stay.
Json marked(const text::PlainTextMarker& marker, const Json& value) {
  if (const std::string* text = as_string(value)) return marker.mark(*text);
  Json out = value;
  if (value.is_structured())
    for (auto& member : out) member = marked(marker, member);
  return out;
}

// The first setting of a request that only a template reads; empty: there is none.
std::string_view template_setting(const PromptRequest& request) {
  if (!request.messages.is_null()) return "messages";
  if (!request.tools.is_null()) return "tools";
  if (!request.variables.empty()) return "template_variables";
  if (request.date) return "date";
  return request.plain_text ? "plain_text" : "";
}

bool uses_template(const LanguageModel& model, const PromptRequest& request) {
  if (request.form != PromptForm::Auto) return request.form == PromptForm::Chat;
  return request.chat_template || has_template(model) || !template_setting(request).empty();
}

// The text that a template wrote. Control tokens that are text are marked (text/tokenizer/plain_text.h).
struct Rendered {
  std::string text;
  ChatTemplate chat_template;
};

Result<Rendered> render(const LanguageModel& model, PromptRequest request, const std::atomic<bool>* cancel) {
  if (!request.chat_template && !has_template(model))
    return fail(Code::NoTemplate, "the model brings no chat template");
  LOOM_TRY_VOID(choose_template(model, request));
  ChatContext context;
  context.messages = request.messages.is_null() ? Json::array({message("user", std::move(request.text))})
                                                : std::move(request.messages);
  context.tools = std::move(request.tools), context.extra = std::move(request.variables);
  context.add_generation_prompt = request.add_generation_prompt;
  context.bos_token = model.bos_token, context.eos_token = model.eos_token;
  context.special_tokens = model.special_tokens;
  const ChatTemplate& chat_template = *request.chat_template;
  if (request.plain_text) {
    LOOM_TRY(const text::Tokenizer* const tokenizer, model.need_tokenizer());
    const text::PlainTextMarker marker(*tokenizer, chat_template.literal_text());
    for (Json* part : {&context.messages, &context.tools, &context.extra}) *part = marked(marker, *part);
  }
  if (request.continue_final_message) {
    LOOM_TRY(std::string text, render_to_continue(chat_template, std::move(context), {.cancel = cancel}, request.date));
    return Rendered{std::move(text), chat_template};
  }
  LOOM_TRY(const Json all, chat_context(context));
  LOOM_TRY(std::string text, chat_template.render(all, {.cancel = cancel}, request.date));
  return Rendered{std::move(text), chat_template};
}

Result<void> check_tools(const Json& tools) {
  if (tools.is_null()) return {};
  if (!tools.is_array()) return fail(Code::CorruptData, "expected a list of tools, got {}", tools.type_name());
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Json* const function = find(tools[i], "function");
    const Json* const name = find(function != nullptr ? *function : tools[i], "name");
    if (name == nullptr || as_string(*name) == nullptr)
      return fail(Code::CorruptData, "/{} has no function with a name", i);
  }
  return {};
}

Receipt::Prompt describe_prompt(const Rendered& rendered, bool plain_text) {
  const std::string& source = rendered.chat_template.source();
  if (!plain_text || !text::has_marks(rendered.text)) return prompt_of_text(rendered.text, false, source);
  Receipt::Prompt out = prompt_of_text(text::without_marks(rendered.text), false, source);
  out.is_exact = false;  // the ids say which parts are plain text
  return out;
}

// encode(most_tokens) -> Result<text::Encoded>
template <class Encode>
Result<void> encode_within(std::size_t context, const Encode& encode, Prompt& prompt) {
  const std::size_t limit = context == 0 ? text::EncodeOptions().max_tokens : kMostContexts * context;
  const Result<text::Encoded> encoded = encode(limit);
  if (!encoded && encoded.error().code == Code::ContextFull)
    return fail(Code::ContextFull, "the prompt has more than {} tokens, the context holds {}", limit, context);
  if (!encoded) return tl::make_unexpected(encoded.error());
  prompt.dropped_bytes = encoded->dropped_bytes;
  return {};
}

}  // namespace

Result<void> check_request(const PromptRequest& request) {
  if (request.form == PromptForm::Raw) {
    const std::string_view unread = request.chat_template ? "chat_template" : template_setting(request);
    if (!unread.empty())
      return fail(Code::InvalidArgument, "{} has no effect on a raw prompt, which uses no chat template", unread);
  }
  if (request.continue_final_message && request.messages.is_null())
    return fail(Code::InvalidArgument, "continue_final_message continues a message of a conversation: give messages");
  LOOM_TRY_VOID(check_tools(request.tools));
  for (const auto& [name, value] : request.variables.items())
    if (is_own_variable(name))
      return fail(Code::InvalidArgument,
                  "template_variables: Loom sets {} itself; messages, tools and date give what it takes", name);
  return {};
}

Result<Prompt> make_prompt(const LanguageModel& model, PromptRequest request, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_request(request));
  LOOM_TRY(const text::Tokenizer* const tokenizer, model.need_tokenizer());
  Prompt out;
  if (!uses_template(model, request)) {
    out.described = prompt_of_text(request.text, true);
    const auto encode = [&](std::size_t limit) {
      return tokenizer->encode(request.text, {.max_tokens = limit}, out.ids);
    };
    LOOM_TRY_VOID(encode_within(request.context_tokens, encode, out));
    out.text = std::move(request.text);
    return out;
  }
  const bool plain_text = request.plain_text;
  const std::size_t context = request.context_tokens;
  LOOM_TRY(const Rendered rendered, render(model, std::move(request), cancel));
  out.described = describe_prompt(rendered, plain_text);
  const auto encode = [&](std::size_t limit) {
    if (plain_text) return text::encode_marked(*tokenizer, rendered.text, limit, out.ids);
    return tokenizer->encode(rendered.text, {.add_special_tokens = false, .max_tokens = limit}, out.ids);
  };
  LOOM_TRY_VOID(encode_within(context, encode, out));
  out.text = text::without_marks(rendered.text);
  return out;
}

Json to_json(const Prompt& prompt) {
  return Json{{"prompt", prompt.text},
              {"ids", prompt.ids},
              {"prompt_tokens", prompt.ids.size()},
              {"dropped_bytes", prompt.dropped_bytes}};
}

Result<std::string> render_prompt(const LanguageModel& model, PromptRequest request, const std::atomic<bool>* cancel) {
  LOOM_TRY_VOID(check_request(request));
  if (!uses_template(model, request)) return std::move(request.text);
  const bool plain_text = request.plain_text;
  LOOM_TRY(Rendered rendered, render(model, std::move(request), cancel));
  return plain_text ? text::without_marks(rendered.text) : std::move(rendered.text);
}

bool has_template(const LanguageModel& model) {
  return model.chat_template || model.template_error || !model.named_templates.empty();
}

Result<void> choose_template(const LanguageModel& model, PromptRequest& request) {
  if (request.chat_template) return {};
  const bool for_tools = !request.tools.is_null() && model.named_templates.contains(std::string(kToolTemplate));
  LOOM_TRY(const ChatTemplate* const chosen, model.need_template(for_tools ? kToolTemplate : kDefaultTemplate));
  request.chat_template = *chosen;
  return {};
}

Result<ChatTemplate> named_template(const LanguageModel& model, const std::string& name) {
  if (model.named_templates.contains(name) || (name == kDefaultTemplate && model.need_template())) {
    LOOM_TRY(const ChatTemplate* const chosen, model.need_template(name));
    return *chosen;
  }
  LOOM_TRY(const std::string_view builtin, builtin_template(name));
  return ChatTemplate::parse(std::string(builtin));
}

Result<ChatTemplate> chosen_template(const LanguageModel& model, const std::string& given, TemplateSetting setting) {
  const bool reads_files = setting == TemplateSetting::FileOrName;
  if (reads_files && is_file(given)) {
    LOOM_TRY(std::string source, read_text_file(given, kLongestPromptFile));
    auto parsed = ChatTemplate::parse(std::move(source));
    if (!parsed) return at(given, std::move(parsed).error());
    return parsed;
  }
  auto named = named_template(model, given);
  if (named || named.error().code != Code::NoTemplate) return named;
  if (reads_files) return fail(Code::NotFound, "{}: no such file, and {}", given, named.error().text());
  return given.find('{') == given.npos ? named : ChatTemplate::parse(given);
}

Result<Json> tools_from_json(std::string_view text) {
  LOOM_TRY(Json tools, parse_json(text));
  LOOM_TRY_VOID(check_tools(tools));
  return tools;
}

bool is_own_variable(std::string_view name) {
  return std::ranges::find(kOwnVariables, name) != std::end(kOwnVariables);
}

}  // namespace loom
