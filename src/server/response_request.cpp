#include "server/response_request.h"

#include <algorithm>
#include <charconv>

#include "core/config_reader.h"
#include "host/conversation.h"
#include "server/generation_members.h"

namespace loom::server {
namespace {

Result<std::string> text_of(const Json& item, std::string_view member, const std::string& place) {
  const Json* const value = find(item, member);
  const std::string* const text = value == nullptr ? nullptr : as_string(*value);
  if (text == nullptr) return fail(Code::CorruptData, "{}/{}: expected a text", place, member);
  return *text;
}

// A text, or a list of parts {"type", "text"}.
Result<std::string> content_of(const Json& content, const std::string& place) {
  if (const std::string* text = as_string(content)) return *text;
  if (!content.is_array())
    return fail(Code::CorruptData, "{}: {}", place, expected("a text or a list of parts", content));
  std::string out;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const std::string here = fmt::format("{}/{}", place, i);
    LOOM_TRY(const std::string type, text_of(content[i], "type", here));
    if (type != "input_text" && type != "output_text" && type != "text")
      return fail(Code::Unsupported, "{}: parts of type \"{}\" are not read, only text", here, type);
    LOOM_TRY(const std::string text, text_of(content[i], "text", here));
    LOOM_TRY_VOID(check_part(content[i], here));
    out += text;
  }
  return out;
}

// The texts of the content of a reasoning item, or of its summary where it has none.
Result<std::string> thoughts_of(const Json& item, const std::string& place) {
  std::string out;
  for (const char* const member : {"content", "summary"}) {
    const Json* const parts = find(item, member);
    if (parts == nullptr || parts->is_null()) continue;
    if (!parts->is_array())
      return fail(Code::CorruptData, "{}/{}: {}", place, member, expected("a list of parts", *parts));
    for (std::size_t i = 0; i < parts->size(); ++i) {
      LOOM_TRY(const std::string text, text_of((*parts)[i], "text", fmt::format("{}/{}/{}", place, member, i)));
      out += text;
    }
    if (!out.empty()) break;
  }
  return out;
}

// Members of items that are no messages: those that are read, and those that servers add and clients send back.
Result<void> check_members(const Json& item, const std::string& place, std::initializer_list<std::string_view> read) {
  constexpr std::string_view kOfAll[] = {"type", "id", "status", "created_by"};
  for (const auto& [key, value] : item.items()) {
    if (value.is_null() || std::ranges::find(kOfAll, key) != std::end(kOfAll)) continue;
    if (std::ranges::find(read, key) == read.end())
      return fail(Code::UnknownKey, "{}/{}: is not read, expected {}", place, printable(key), fmt::join(read, ", "));
  }
  return {};
}

// Copies members of a message that a chat has too, so that they are read or refused alike.
void copy_members(const Json& item, Json& to) {
  constexpr std::string_view kOwn[] = {"type", "role", "content", "id", "status", "phase", "created_by"};
  for (const auto& [key, value] : item.items())
    if (!value.is_null() && std::ranges::find(kOwn, key) == std::end(kOwn)) to[key] = value;
}

Result<void> add_item(const Json& item, const std::string& place, Json& messages) {
  const Json* const type = find(item, "type");
  // Thoughts, text and calls of one answer are one message.
  const auto is_open = [&messages] {
    return !messages.empty() && messages.back()["role"] == "assistant" && !messages.back().contains("tool_calls");
  };
  if (type != nullptr && *type == "reasoning") {
    LOOM_TRY_VOID(check_members(item, place, {"content", "summary", "encrypted_content"}));
    const Json* const sealed = find(item, "encrypted_content");
    if (sealed != nullptr && !sealed->is_null())
      return fail(Code::Unsupported, "{}/encrypted_content: thoughts of another server cannot be read", place);
    LOOM_TRY(std::string thoughts, thoughts_of(item, place));
    if (thoughts.empty()) return {};
    messages.push_back(message("assistant", ""));
    messages.back()["reasoning_content"] = std::move(thoughts);
    return {};
  }
  if (type == nullptr || *type == "message") {
    LOOM_TRY(std::string role, text_of(item, "role", place));
    const Json* const content = find(item, "content");
    LOOM_TRY(std::string text, content_of(content == nullptr ? Json() : *content, place + "/content"));
    const bool follows_thoughts = role == "assistant" && is_open() && messages.back().contains("reasoning_content") &&
                                  messages.back()["content"] == "";
    if (follows_thoughts)
      messages.back()["content"] = std::move(text);
    else
      messages.push_back(message(role, std::move(text)));
    copy_members(item, messages.back());
    return {};
  }
  if (*type == "function_call") {
    LOOM_TRY_VOID(check_members(item, place, {"call_id", "name", "arguments", "parsed_arguments"}));
    LOOM_TRY(std::string id, text_of(item, "call_id", place));
    LOOM_TRY(std::string name, text_of(item, "name", place));
    LOOM_TRY(std::string arguments, text_of(item, "arguments", place));
    // Calls join the assistant's text in front of them, as the model wrote them.
    if (messages.empty() || messages.back()["role"] != "assistant") messages.push_back(message("assistant", ""));
    messages.back()["tool_calls"].push_back(
        {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}});
    return {};
  }
  if (*type == "function_call_output") {
    LOOM_TRY_VOID(check_members(item, place, {"call_id", "output", "name"}));
    LOOM_TRY(std::string id, text_of(item, "call_id", place));
    const Json* const output = find(item, "output");
    LOOM_TRY(std::string text, content_of(output == nullptr ? Json() : *output, place + "/output"));
    Json result = message("tool", std::move(text));
    result["tool_call_id"] = std::move(id);
    messages.push_back(std::move(result));
    return {};
  }
  return fail(Code::Unsupported, "{}/type: expected message, reasoning, function_call or function_call_output, got {}",
              place, shown(*type));
}

// `places`: of each message in the request.
Result<Json> read_input(const ResponseFields& fields, std::vector<std::string>& places) {
  Json messages = Json::array();
  if (!fields.instructions.empty()) {
    messages.push_back(message("system", fields.instructions));
    places.emplace_back("/instructions");
  }
  if (const std::string* text = as_string(fields.input)) {
    messages.push_back(message("user", *text));
    places.emplace_back("/input");
    return messages;
  }
  if (!fields.input.is_array() || fields.input.empty())
    return fail(Code::InvalidConfig, "/input: {}", expected("a text or a list of items", fields.input));
  for (std::size_t i = 0; i < fields.input.size(); ++i) {
    const std::string place = fmt::format("/input/{}", i);
    LOOM_TRY_VOID(add_item(fields.input[i], place, messages));
    places.resize(messages.size(), place);
  }
  return messages;
}

// Refuses members that would change the answer and have no meaning to Loom.
Result<void> refuse_unsupported(const ResponseFields& fields) {
  if (!fields.previous_response_id.empty())
    return fail(Code::Unsupported,
                "/previous_response_id: responses are not stored; give the conversation in \"input\"");
  if (fields.background) return fail(Code::Unsupported, "/background: answers are given at once, expected false");
  if (!fields.include.empty()) return fail(Code::Unsupported, "/include: expected an empty list");
  return {};
}

// "text" is {"format": {...}}.
Result<Json> read_text_format(const Json& text) {
  Json format, verbosity;
  if (text.is_null()) return format;
  LOOM_TRY_VOID(
      read_config(text, [&](ConfigVisitor& v) { v.json("format", format), v.json("verbosity", verbosity); }, {"text"}));
  if (!verbosity.is_null() && verbosity != "medium")
    return fail(Code::Unsupported, "/text/verbosity: {}", expected("medium", verbosity));
  return format;
}

}  // namespace

Error placed_in_input(Error error, const std::vector<std::string>& places) {
  constexpr std::string_view kMessages = "/messages/";
  const std::string text = error.text();
  if (!text.starts_with(kMessages)) return error;
  const std::size_t end = std::min(text.find_first_not_of("0123456789", kMessages.size()), text.size());
  std::size_t index = 0;
  std::from_chars(text.data() + kMessages.size(), text.data() + end, index);
  return index < places.size() ? Error{error.code, places[index] + text.substr(end)} : error;
}

Result<ResponseRequest> read_response_request(std::string_view body) {
  LOOM_TRY(const ResponseFields fields, read_fields<ResponseFields>(body));
  LOOM_TRY_VOID(refuse_unsupported(fields));
  ResponseRequest out;
  ChatRequest& chat = out.chat;
  chat.model = fields.model, chat.stream = fields.stream;
  chat.generation.max_tokens = fields.max_output_tokens, chat.length_member = "/max_output_tokens";
  LOOM_TRY_VOID(read_answer_members(fields, chat.generation));
  LOOM_TRY(const Json format, read_text_format(fields.text));
  LOOM_TRY(chat.generation.grammar, read_grammar(fields, "text/format", format));
  LOOM_TRY(Tools tools, read_tools(fields.tools, fields.tool_choice, ToolFamily::Flat));
  tools.is_parallel = fields.parallel_tool_calls;
  Json shown_tools = Json::array();
  for (const Function& function : tools.functions) {
    Json tool{{"type", "function"}, {"strict", function.strict}};
    tool.update(function.shown);
    shown_tools.push_back(std::move(tool));
  }
  std::vector<std::string> places;
  LOOM_TRY(const Json messages, read_input(fields, places));
  if (auto read = read_conversation_members(messages, std::move(tools), chat); !read)
    return tl::make_unexpected(placed_in_input(std::move(read).error(), places));
  out.places = std::move(places);
  const bool has_limit = fields.max_output_tokens != kMostTokens;
  out.echo = Json{{"instructions", fields.instructions.empty() ? Json() : Json(fields.instructions)},
                  {"max_output_tokens", has_limit ? Json(fields.max_output_tokens) : Json()},
                  {"parallel_tool_calls", fields.parallel_tool_calls},
                  {"previous_response_id", nullptr},
                  {"temperature", fields.sampling.temperature},
                  {"text", {{"format", format.is_null() ? Json{{"type", "text"}} : format}}},
                  {"tool_choice", fields.tool_choice.is_null() ? Json("auto") : fields.tool_choice},
                  {"tools", std::move(shown_tools)},
                  {"top_p", fields.sampling.top_p},
                  {"truncation", "disabled"},
                  {"metadata", Json::object()}};
  return out;
}

}  // namespace loom::server
