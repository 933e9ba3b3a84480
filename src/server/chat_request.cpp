#include "server/chat_request.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/config_reader.h"
#include "host/conversation.h"

namespace loom::server {
namespace {

constexpr std::array<std::string_view, 7> kWithoutEffect = {
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"};
constexpr std::size_t kMostTokens = std::size_t{1} << 24, kMostStops = 16, kMostLogprobs = 20;
constexpr NumberRange kPenalty{-2, 2};

// Members as they are written; what they mean together comes after.
struct Fields {
  ChatRequest request;
  Json stop, logit_bias, stream_options, response_format, tool_choice, seed;
  std::size_t max_tokens = kMostTokens, n = 1,  // the context's end comes first
      top_logprobs = 0, top_k = 0;
  bool logprobs = false;

  void visit(ConfigVisitor& v) {
    SamplingOptions& s = request.generation.sampling;
    v("model", request.model);
    v.json("messages", request.messages);
    v("max_completion_tokens|max_tokens", max_tokens, {1, kMostTokens});
    v("temperature", s.temperature, {0, 2});
    v("top_p", s.top_p, {0, 1});
    v("top_k", top_k, {0, 1U << 20});
    v("min_p", s.min_p, {0, 1});
    v("repetition_penalty", s.repetition_penalty, {0, 10});
    v("frequency_penalty", s.frequency_penalty, kPenalty);
    v("presence_penalty", s.presence_penalty, kPenalty);
    v.json("seed", seed);
    v.json("stop", stop);
    v.json("logit_bias", logit_bias);
    v("logprobs", logprobs);
    v("top_logprobs", top_logprobs, {0, kMostLogprobs});
    v("n", n, {1, 128});
    v("stream", request.stream);
    v.json("stream_options", stream_options);
    v.json("response_format", response_format);
    v.json("tool_choice", tool_choice);
    v("ignore_eos", request.generation.ignore_eos);
  }
};

Result<void> read_stop(const Json& stop, std::vector<std::string>& to) {
  const Json list = stop.is_string() ? Json::array({stop}) : stop;
  if (list.is_null()) return {};
  if (!list.is_array() || list.size() > kMostStops)
    return fail(Code::InvalidConfig, "/stop: expected a text or a list of at most {} texts, got {}", kMostStops,
                shown(stop));
  for (const Json& each : list) {
    const std::string* text = as_string(each);
    if (text == nullptr || text->empty())
      return fail(Code::InvalidConfig, "/stop: expected texts that are not empty, got {}", shown(each));
    to.push_back(*text);
  }
  return {};
}

Result<void> read_logit_bias(const Json& bias, std::vector<std::pair<std::int32_t, float>>& to) {
  if (bias.is_null()) return {};
  if (!bias.is_object()) return fail(Code::InvalidConfig, "/logit_bias: {}", expected("an object", bias));
  for (const auto& [key, value] : bias.items()) {
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc{} || end != key.data() + key.size())
      return fail(Code::InvalidConfig, "/logit_bias/{}: expected a token's id as key", key);
    const auto number = as_number(value);
    constexpr double kMost = 100;
    if (!number || *number < -kMost || *number > kMost)
      return fail(Code::InvalidConfig, "/logit_bias/{}: {}", key, expected("a number from -100 to 100", value));
    to.emplace_back(id, static_cast<float>(*number));
  }
  return {};
}

// The seed's 64 bits: clients send negative ones too.
Result<void> read_seed(const Json& seed, std::uint64_t& to) {
  if (seed.is_null()) return {};
  const auto number = as_int(seed);
  if (!number) return fail(Code::InvalidConfig, "/seed: {}", expected("an integer", seed));
  to = static_cast<std::uint64_t>(*number);
  return {};
}

Result<void> read_stream_options(const Json& options, ChatRequest& to) {
  if (options.is_null()) return {};
  if (!to.stream) return fail(Code::InvalidConfig, "/stream_options: has no effect without \"stream\": true");
  return read_config(options, [&](ConfigVisitor& v) { v("include_usage", to.include_usage); }, {"stream_options"});
}

// Values that say what happens anyhow are taken; others would change the answer.
Result<void> refuse_unsupported(const Fields& fields) {
  const Json* type = find(fields.response_format, "type");
  if (!fields.response_format.is_null() && (type == nullptr || *type != "text"))
    return fail(Code::Unsupported, "/response_format: {}", expected(R"({"type": "text"})", fields.response_format));
  if (!fields.tool_choice.is_null() && fields.tool_choice != "none" && fields.tool_choice != "auto")
    return fail(Code::Unsupported, "/tool_choice: {}", expected("none or auto", fields.tool_choice));
  return {};
}

}  // namespace

std::span<const std::string_view> members_without_effect() { return kWithoutEffect; }

Result<ChatRequest> read_chat_request(std::string_view body) {
  LOOM_TRY(Json json, parse_json(body));
  if (!json.is_object()) return fail(Code::CorruptData, "expected an object with \"messages\", got {}", shown(json));
  for (auto member = json.begin(); member != json.end();) {
    const bool is_unread = member->is_null() || std::ranges::find(kWithoutEffect, member.key()) != kWithoutEffect.end();
    member = is_unread ? json.erase(member) : std::next(member);
  }
  Fields fields;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& v) { fields.visit(v); }));
  LOOM_TRY_VOID(refuse_unsupported(fields));
  ChatRequest& request = fields.request;
  if (request.messages.is_null()) return fail(Code::InvalidConfig, "/messages: is missing");
  LOOM_TRY(request.messages, conversation_from_json(request.messages));
  GenerationOptions& options = request.generation;
  options.max_tokens = fields.max_tokens, request.choices = fields.n;
  options.sampling.top_k = static_cast<int>(fields.top_k);
  if (fields.top_logprobs != 0 && !fields.logprobs)
    return fail(Code::InvalidConfig, "/top_logprobs: has no effect without \"logprobs\": true");
  // One is the least with which a generation reports the drawn token.
  options.logprobs = fields.logprobs ? std::max<std::size_t>(fields.top_logprobs, 1) : 0;
  request.lists_others = fields.top_logprobs != 0;
  LOOM_TRY_VOID(read_stop(fields.stop, options.stop));
  LOOM_TRY_VOID(read_logit_bias(fields.logit_bias, options.sampling.logit_bias));
  LOOM_TRY_VOID(read_seed(fields.seed, options.sampling.seed));
  LOOM_TRY_VOID(read_stream_options(fields.stream_options, request));
  return std::move(request);
}

}  // namespace loom::server
