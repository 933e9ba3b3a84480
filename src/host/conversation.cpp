#include "host/conversation.h"

#include <algorithm>
#include <array>

#include "core/base64.h"
#include "core/file.h"
#include "core/json.h"
#include "text/unicode/utf8.h"

namespace loom {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::array<std::string_view, 5> kRoles = {"system", "developer", "user", "assistant", "tool"};

Result<std::string> content_of(const Json& content, const std::string& place) {
  if (const std::string* text = as_string(content)) return *text;
  if (!content.is_array()) return fail(Code::CorruptData, "{}/content is neither a text nor a list of parts", place);
  std::string joined;
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Json *type = find(content[i], "type"), *text = find(content[i], "text");
    if (!type || !as_string(*type)) return fail(Code::CorruptData, "{}/content/{} has no type", place, i);
    if (*as_string(*type) != "text")
      return fail(Code::Unsupported, "{}/content/{}: parts of type \"{}\" are not read, only text", place, i,
                  *as_string(*type));
    if (!text || !as_string(*text)) return fail(Code::CorruptData, "{}/content/{} has no text", place, i);
    joined += *as_string(*text);
  }
  return joined;
}

Result<Json> calls_of(const Json& calls, const std::string& place) {
  if (!calls.is_array()) return fail(Code::CorruptData, "{}/tool_calls is no list", place);
  Json out = calls;
  for (std::size_t i = 0; i < out.size(); ++i) {
    Json* const function = out[i].is_object() && out[i].contains("function") ? &out[i]["function"] : nullptr;
    const Json* const name = function ? find(*function, "name") : nullptr;
    if (!name || !as_string(*name))
      return fail(Code::CorruptData, "{}/tool_calls/{} has no function with a name", place, i);
    if (!function->contains("arguments")) continue;
    Json& arguments = (*function)["arguments"];
    if (arguments.is_null()) continue;
    if (const std::string* text = as_string(arguments)) {
      auto parsed = text->empty() ? Result<Json>(Json::object()) : parse_json(*text);
      if (!parsed) return at(fmt::format("{}/tool_calls/{}/function/arguments", place, i), std::move(parsed).error());
      arguments = std::move(*parsed);
    }
    if (!arguments.is_object())
      return fail(Code::CorruptData, "{}/tool_calls/{}/function/arguments is no object", place, i);
  }
  return out;
}

// The exact bytes of a content whose readable form stands beside it.
Result<std::string> exact_bytes(const Json& bytes, const std::string& content, const std::string& place) {
  const std::string* const text = as_string(bytes);
  if (!text) return fail(Code::CorruptData, "{}/bytes is no text", place);
  auto decoded = base64_decode(*text);
  if (!decoded) return at(place + "/bytes", std::move(decoded).error());
  std::string exact(reinterpret_cast<const char*>(decoded->data()), decoded->size());
  if (text::to_valid_utf8(exact) != content)
    return fail(Code::CorruptData, "{}: bytes and content do not agree; without bytes the content counts", place);
  return exact;
}

// Members that are null count as absent, as in transformers: clients write "content" and "tool_calls" so.
Json without_nulls(const Json& message) {
  Json out = Json::object();
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) out[key] = value;
  return out;
}

Result<Json> checked_message(const Json& given, const std::string& place) {
  if (!given.is_object()) return fail(Code::CorruptData, "{} is no message with role and content", place);
  Json out = without_nulls(given);
  const Json* const role = find(out, "role");
  if (!role || !as_string(*role)) return fail(Code::CorruptData, "{} has no role", place);
  if (std::ranges::find(kRoles, *as_string(*role)) == kRoles.end())
    return fail(Code::CorruptData, "{}: role \"{}\" is none of {}", place, as_string(*role)->substr(0, 40),
                fmt::join(kRoles, ", "));
  if (const Json* const content = find(out, "content")) {
    LOOM_TRY(out["content"], content_of(*content, place));
  } else if (*as_string(*role) != "assistant" && !given.contains("content")) {
    return fail(Code::CorruptData, "{} has no content", place);
  }
  if (const Json* const bytes = find(out, "bytes")) {
    const Json* const content = find(out, "content");
    if (!content) return fail(Code::CorruptData, "{} has bytes and no content", place);
    LOOM_TRY(std::string exact, exact_bytes(*bytes, *as_string(*content), place));
    out["content"] = std::move(exact);
    out.erase("bytes");
  }
  if (const Json* const calls = find(out, "tool_calls")) {
    LOOM_TRY(out["tool_calls"], calls_of(*calls, place));
  }
  return out;
}

}  // namespace

Result<Json> conversation_from_json(const Json& file) {
  if (const Json* version = find(file, "loom_chat"); version && as_int(*version) != kVersion)
    return fail(Code::Unsupported, "/loom_chat is {}, version {} is read", dump_json(*version).substr(0, 40), kVersion);
  const Json* const list = file.is_array() ? &file : find(file, "messages");
  if (!list || !list->is_array())
    return fail(Code::CorruptData, "neither a list of messages nor an object with a list \"messages\"");
  Json out = Json::array();
  for (std::size_t i = 0; i < list->size(); ++i) {
    LOOM_TRY(Json checked, checked_message((*list)[i], fmt::format("{}/{}", file.is_array() ? "" : "/messages", i)));
    out.push_back(std::move(checked));
  }
  return out;
}

Result<Json> read_conversation(const std::string& path) {
  LOOM_TRY(const std::string text, read_text_file(path, std::size_t{64} << 20));
  auto json = parse_json(text);
  if (!json) return at(path, std::move(json).error());
  auto messages = conversation_from_json(*json);
  if (!messages) return at(path, std::move(messages).error());
  return messages;
}

Json conversation_to_json(const Json& messages) {
  Json list = messages;
  for (Json& entry : list)
    if (const std::string content(content_text(entry)); !is_utf8(content)) {
      entry["content"] = text::to_valid_utf8(content);
      entry["bytes"] = base64_encode(std::as_bytes(std::span(content)));
    }
  return Json{{"loom_chat", kVersion}, {"messages", std::move(list)}};
}

Result<void> write_conversation(const std::string& path, const Json& messages, const Json& beside) {
  if (is_file(path) && !read_conversation(path))
    return fail(Code::InvalidArgument, "{}: exists and holds no conversation; not overwritten", path);
  Json file = conversation_to_json(messages);
  for (const auto& [key, value] : beside.items()) file[key] = value;
  const std::string text = dump_json(file, 1) + "\n";
  return write_file_atomically(path, std::as_bytes(std::span(text)));
}

std::string_view content_text(const Json& message) {
  const Json* const content = find(message, "content");
  return content && as_string(*content) ? std::string_view(*as_string(*content)) : std::string_view();
}

Json message(const std::string& role, std::string content) {
  return Json{{"role", role}, {"content", std::move(content)}};
}

}  // namespace loom
