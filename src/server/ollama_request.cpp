// Reads the bodies of Ollama's /api/chat and /api/generate.

#include <algorithm>
#include <deque>

#include "core/config_reader.h"
#include "host/conversation.h"
#include "server/generation_members.h"
#include "server/ollama.h"

namespace loom::server {
namespace {

// Whole numbers that may be negative: -1 stands for no limit.
Result<std::int64_t> whole(const Json& value, std::string_view member, std::int64_t least, std::int64_t standard) {
  if (value.is_null()) return standard;
  const auto number = as_int(value);
  if (!number || *number < least || *number > static_cast<std::int64_t>(kMostTokens))
    return fail(Code::InvalidConfig, "/options/{}: {}", member,
                expected(fmt::format("an integer from {} to {}", least, kMostTokens), value));
  return *number;
}

// Refuses a sampler that Loom lacks, unless the client switches it off.
Result<void> check_is_off(const Json& value, std::string_view member, int off) {
  if (value.is_null() || value == off) return {};
  return fail(Code::Unsupported, "/options/{}: {}", member,
              expected(fmt::format("{} (this sampler is off)", off), value));
}

Result<void> read_options(const Json& given, ChatRequest& to) {
  OllamaOptions options;
  options.sampling.repetition_window = 64;
  Json read = Json::object();
  for (const auto& [key, value] : given.items())
    if (!value.is_null() &&
        std::ranges::find(OllamaOptions::kWithoutEffect, key) == std::end(OllamaOptions::kWithoutEffect))
      read[key] = value;
  if (!given.is_null() && !given.is_object())
    return fail(Code::InvalidConfig, "/options: {}", expected("an object", given));
  LOOM_TRY_VOID(read_config(read, [&](ConfigVisitor& v) { options.visit(v); }, {"options"}));
  LOOM_TRY_VOID(check_is_off(options.mirostat, "mirostat", 0));
  LOOM_TRY_VOID(check_is_off(options.tfs_z, "tfs_z", 1));
  GenerationOptions& generation = to.generation;
  generation.sampling = options.sampling;
  generation.sampling.top_k = static_cast<int>(options.top_k);
  constexpr std::int64_t kFill = -2;  // until the context is full
  LOOM_TRY(const std::int64_t most, whole(options.num_predict, "num_predict", kFill, -1));
  LOOM_TRY(const std::int64_t window, whole(options.repeat_last_n, "repeat_last_n", -1, 64));
  if (most == 0) return fail(Code::InvalidConfig, "/options/num_predict: expected 1 or more, -1 or -2, got 0");
  generation.max_tokens = most < 0 ? kMostTokens : static_cast<std::size_t>(most);
  to.length_member = "/options/num_predict";
  generation.sampling.repetition_window = static_cast<int>(window);
  to.most_context = options.num_ctx;
  LOOM_TRY_VOID(read_stop(options.stop, generation.stop));
  return read_seed(options.seed, generation.sampling.seed);
}

// "json", a schema, or nothing.
Result<std::shared_ptr<const Grammar>> read_format(const Json& format) {
  if (format.is_null() || format == "") return std::shared_ptr<const Grammar>();
  if (format == "json") return Grammar::json_object();
  if (format.is_object()) return from_schema_member("format", format);
  return fail(Code::InvalidConfig, "/format: {}", expected("\"json\" or a JSON Schema", format));
}

Result<void> read_common(const OllamaFields& fields, ChatRequest& to) {
  to.model = fields.model, to.stream = fields.stream;
  LOOM_TRY_VOID(read_options(fields.options, to));
  LOOM_TRY(to.generation.grammar, read_format(fields.format));
  if (fields.think.is_null()) return {};
  const auto think = as_bool(fields.think);
  if (!think) return fail(Code::Unsupported, "/think: {}", expected("true or false", fields.think));
  to.variables["enable_thinking"] = *think, to.wants_thoughts = *think;
  return {};
}

// Ollama's messages have no ids: a result belongs to the first call before it that has none yet, by its name where it
// has one. Members of a message that would be dropped are refused.
Result<Json> with_ids(const Json& given) {
  Json messages = given;
  std::deque<std::pair<std::string, std::string>> open;  // names and ids of calls without a result
  std::size_t count = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Json& message = messages[i];
    if (const Json* const images = find(message, "images"); images != nullptr && !images->empty())
      return fail(Code::Unsupported, "/messages/{}/images: images are not read", i);
    if (!message.is_object()) continue;
    message.erase("images");
    if (message.contains("tool_calls") && message["tool_calls"].is_array())
      for (Json& call : message["tool_calls"]) {
        if (!call.is_object() || call.contains("id")) continue;
        const std::string id = fmt::format("call{:05}", count++ % 100000);
        call["id"] = id, call["type"] = "function";
        const Json* const function = find(call, "function");
        const Json* const name = function == nullptr ? nullptr : find(*function, "name");
        open.emplace_back(name != nullptr && as_string(*name) ? *as_string(*name) : "", id);
      }
    if (const Json* const role = find(message, "role"); role == nullptr || *role != "tool") continue;
    if (message.contains("tool_call_id")) continue;
    const Json* name = find(message, "tool_name");
    if (name == nullptr) name = find(message, "name");
    auto found = open.begin();
    if (name != nullptr && as_string(*name) != nullptr)
      found = std::ranges::find(open, *as_string(*name), &std::pair<std::string, std::string>::first);
    if (found == open.end())
      return fail(Code::CorruptData, "/messages/{}: a tool's result, and no call before it waits for one", i);
    message["tool_call_id"] = found->second;
    open.erase(found);
  }
  return messages;
}

bool is_zero(const Json& keep_alive) {
  return keep_alive == 0 || keep_alive == "0" || keep_alive == "0s" || keep_alive == "0m";
}

}  // namespace

Result<OllamaRequest> read_ollama_chat(std::string_view body) {
  LOOM_TRY(const OllamaChatFields fields, read_fields<OllamaChatFields>(body));
  OllamaRequest out;
  LOOM_TRY_VOID(read_common(fields, out.chat));
  if (fields.messages.is_null() || fields.messages.empty()) {
    out.done_reason = is_zero(fields.keep_alive) ? "unload" : "load";
    return out;
  }
  if (!fields.messages.is_array())
    return fail(Code::InvalidConfig, "/messages: {}", expected("a list of messages", fields.messages));
  LOOM_TRY(const Json messages, with_ids(fields.messages));
  LOOM_TRY(Tools tools, read_tools(fields.tools, nullptr, ToolFamily::Nested));
  LOOM_TRY_VOID(read_conversation_members(messages, std::move(tools), out.chat));
  return out;
}

Result<OllamaRequest> read_ollama_generate(std::string_view body) {
  LOOM_TRY(const OllamaGenerateFields fields, read_fields<OllamaGenerateFields>(body));
  OllamaRequest out;
  LOOM_TRY_VOID(read_common(fields, out.chat));
  const std::string* const prompt = as_string(fields.prompt);
  if (!fields.prompt.is_null() && prompt == nullptr)
    return fail(Code::InvalidConfig, "/prompt: {}", expected("a text", fields.prompt));
  if (prompt == nullptr || prompt->empty()) {
    out.done_reason = is_zero(fields.keep_alive) ? "unload" : "load";
    return out;
  }
  if (fields.raw) {
    if (!fields.system.empty()) return fail(Code::InvalidConfig, "/system: has no effect beside \"raw\": true");
    out.chat.text = *prompt;
    return out;
  }
  Json messages = Json::array();
  if (!fields.system.empty()) messages.push_back(message("system", fields.system));
  messages.push_back(message("user", *prompt));
  out.chat.messages = std::move(messages);
  return out;
}

}  // namespace loom::server
