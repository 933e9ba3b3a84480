#include "server/chat_request.h"

#include <algorithm>
#include <limits>

#include "host/conversation.h"
#include "server/generation_members.h"

namespace loom::server {
namespace {

Result<void> read_stream_options(const Json& options, ChatRequest& to) {
  if (options.is_null()) return {};
  if (!to.stream) return fail(Code::InvalidConfig, "/stream_options: has no effect without \"stream\": true");
  return read_config(options, [&](ConfigVisitor& v) { v("include_usage", to.include_usage); }, {"stream_options"});
}

Result<TextPrompt> read_prompt(const Json& prompt, const std::string& place) {
  TextPrompt out;
  if (const std::string* text = as_string(prompt)) {
    out.text = *text;
    return out;
  }
  if (!prompt.is_array())
    return fail(Code::InvalidConfig, "{}: {}", place, expected("a text, a list of ids, or a list of them", prompt));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const auto id = as_int(prompt[i]);
    if (!id || *id < 0 || *id > std::numeric_limits<std::int32_t>::max())
      return fail(Code::InvalidConfig, "{}/{}: {}", place, i, expected("a token's id", prompt[i]));
    out.ids.push_back(static_cast<std::int32_t>(*id));
  }
  if (out.ids.empty()) return fail(Code::InvalidConfig, "{}: expected at least one id, got an empty list", place);
  return out;
}

// One prompt, or a list of them.
Result<void> read_prompts(const Json& given, ChatRequest& to) {
  constexpr std::size_t kMostPrompts = 128;
  if (given.is_null()) return fail(Code::InvalidConfig, "/prompt: is missing");
  const bool is_list = given.is_array() && !given.empty() && (given[0].is_string() || given[0].is_array());
  if (is_list && given.size() > kMostPrompts)
    return fail(Code::InvalidConfig, "/prompt: expected at most {} prompts, got {}", kMostPrompts, given.size());
  for (std::size_t i = 0; i < (is_list ? given.size() : 1); ++i) {
    LOOM_TRY(TextPrompt prompt,
             is_list ? read_prompt(given[i], fmt::format("/prompt/{}", i)) : read_prompt(given, "/prompt"));
    if (i == 0)
      to.text = std::move(prompt.text), to.ids = std::move(prompt.ids);
    else
      to.more_prompts.push_back(std::move(prompt));
  }
  return {};
}

// Settles what the members of chat and text completions mean together.
Result<void> settle(const CompletionFields& fields, ChatRequest& to) {
  to.generation.max_tokens = fields.max_tokens, to.choices = fields.n;
  to.model = fields.model, to.stream = fields.stream, to.wants_receipt = fields.receipt;
  LOOM_TRY_VOID(read_answer_members(fields, to.generation));
  return read_stream_options(fields.stream_options, to);
}

}  // namespace

Result<void> check_part(const Json& part, const std::string& place) {
  constexpr std::string_view kKnown[] = {
      "type", "text", "annotations", "logprobs", "parsed", "cache_control", "prompt_cache_breakpoint"};
  for (const auto& [key, value] : part.items())
    if (!value.is_null() && std::ranges::find(kKnown, key) == std::end(kKnown))
      return fail(Code::UnknownKey, "{}/{}: is not read, expected type and text", place, printable(key));
  return {};
}

Result<void> read_conversation_members(const Json& messages, Tools tools, ChatRequest& to) {
  if (!messages.is_array() || messages.empty())
    return fail(Code::InvalidConfig, "/messages: {}", expected("a list of at least one message", messages));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json *const role = find(messages[i], "role"), *const content = find(messages[i], "content");
    // An assistant's message may consist of calls.
    if (role != nullptr && *role != "assistant" && content != nullptr && content->is_null())
      return fail(Code::InvalidConfig, "/messages/{}/content: {}", i, expected("a text or a list of parts", *content));
  }
  LOOM_TRY(to.messages, conversation_from_json(Json{{"messages", messages}}));
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json* const content = find(messages[i], "content");
    for (std::size_t k = 0; content != nullptr && content->is_array() && k < content->size(); ++k)
      LOOM_TRY_VOID(check_part((*content)[k], fmt::format("/messages/{}/content/{}", i, k)));
  }
  LOOM_TRY_VOID(check_calls(to.messages));
  to.tools = std::move(tools);
  if (to.generation.grammar && to.tools.are_offered())
    return fail(Code::Unsupported,
                "/tools: the form of the answer is given already, so no function can be called; expected one of both");
  return {};
}

Result<ChatRequest> read_chat_request(std::string_view body) {
  LOOM_TRY(const ChatFields fields, read_fields<ChatFields>(body));
  ChatRequest request;
  LOOM_TRY_VOID(settle(fields, request));
  if (fields.top_logprobs != 0 && !fields.logprobs)
    return fail(Code::InvalidConfig, "/top_logprobs: has no effect without \"logprobs\": true");
  // One is the least with which a generation reports the drawn token.
  request.generation.logprobs = fields.logprobs ? std::max<std::size_t>(fields.top_logprobs, 1) : 0;
  request.lists_others = fields.top_logprobs != 0;
  LOOM_TRY(request.generation.grammar, read_grammar(fields, "response_format", fields.response_format));
  if (!fields.chat_template_kwargs.is_null()) {
    if (!fields.chat_template_kwargs.is_object())
      return fail(Code::InvalidConfig, "/chat_template_kwargs: {}", expected("an object", fields.chat_template_kwargs));
    request.variables = fields.chat_template_kwargs, request.are_variables_checked = true;
  }
  LOOM_TRY(Tools tools, read_tools(fields.tools, fields.tool_choice, ToolFamily::Nested));
  tools.is_parallel = fields.parallel_tool_calls;
  LOOM_TRY_VOID(read_conversation_members(fields.messages, std::move(tools), request));
  return request;
}

Result<ChatRequest> read_completion_request(std::string_view body) {
  Json given;
  LOOM_TRY(const TextFields fields, read_fields<TextFields>(body, &given));
  ChatRequest request;
  request.has_standard_length = !given.contains("max_tokens") && !given.contains("max_completion_tokens");
  LOOM_TRY_VOID(read_prompts(fields.prompt, request));
  LOOM_TRY_VOID(settle(fields, request));
  LOOM_TRY(request.generation.grammar, read_grammar(fields, {}, nullptr));
  return request;
}

}  // namespace loom::server
