#include "server/chat_request.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "core/config_reader.h"
#include "host/conversation.h"

namespace loom::server {
namespace {

constexpr std::array<std::string_view, 7> kWithoutEffect = {
    "user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key", "prompt_cache_retention"};
constexpr std::size_t kMostTokens = DefaultLength::kWhole, kMostStops = 16, kMostLogprobs = 20;
constexpr NumberRange kPenalty{-2, 2};

// Members as they are written; what they mean together comes after.
struct Fields {
  ChatRequest request;
  Json stop, logit_bias, stream_options, response_format, tool_choice, seed;
  Json structured_outputs, guided_json, guided_choice;  // names of vLLM, as guided_regex and guided_grammar
  std::string guided_regex, guided_grammar;
  std::size_t max_tokens = kMostTokens, n = 1, top_logprobs = 0, top_k = 0;
  bool logprobs = false;
  Json prompt;

  void visit_chat(ConfigVisitor& v) {
    v.json("messages", request.messages);
    v("logprobs", logprobs);
    v("top_logprobs", top_logprobs, {0, kMostLogprobs});
    v.json("response_format", response_format);
    v.json("tool_choice", tool_choice);
    visit(v);
  }
  void visit_completion(ConfigVisitor& v) {
    v.json("prompt", prompt);
    visit(v);
  }
  void visit(ConfigVisitor& v) {
    SamplingOptions& s = request.generation.sampling;
    v("model", request.model);
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
    v("n", n, {1, 128});
    v("stream", request.stream);
    v.json("stream_options", stream_options);
    v.json("structured_outputs", structured_outputs);
    v.json("guided_json", guided_json);
    v.json("guided_choice", guided_choice);
    v("guided_regex", guided_regex);
    v("guided_grammar", guided_grammar);
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

using MadeGrammar = Result<std::shared_ptr<const Grammar>>;

// With the member that the grammar came from in front of what is wrong with it.
MadeGrammar from_member(std::string_view member, MadeGrammar made) {
  if (made) return made;
  const Error& error = made.error();
  return fail(error.code == Code::LimitExceeded ? error.code : Code::InvalidConfig, "/{}: {}", member, error.text());
}

MadeGrammar schema_from(std::string_view member, const Json& schema) {
  if (const std::string* text = as_string(schema)) return from_member(member, Grammar::from_schema(*text));
  return from_member(member, Grammar::from_parsed_schema(schema));
}

MadeGrammar choices_from(std::string_view member, const Json& list) {
  std::vector<std::string> choices;
  const bool is_list = list.is_array() && std::ranges::all_of(list, [](const Json& each) { return each.is_string(); });
  if (!is_list) return fail(Code::InvalidConfig, "/{}: {}", member, expected("a list of texts", list));
  for (const Json& each : list) choices.push_back(*as_string(each));
  return from_member(member, Grammar::from_choices(choices));
}

// Null for {"type": "text"}.
MadeGrammar read_response_format(const Json& format) {
  const Json* const type = find(format, "type");
  if (type != nullptr && *type == "text") return std::shared_ptr<const Grammar>();
  if (type != nullptr && *type == "json_object") return Grammar::json_object();
  if (type == nullptr || *type != "json_schema")
    return fail(Code::InvalidConfig, "/response_format: {}",
                expected(R"({"type": "text"}, "json_object" or "json_schema")", format));
  const Json* const inner = find(format, "json_schema");
  const Json* const schema = inner == nullptr ? nullptr : find(*inner, "schema");
  if (schema == nullptr)
    return fail(Code::InvalidConfig, R"(/response_format: expected {{"json_schema": {{"name": ..., "schema": ...}}}})");
  return schema_from("response_format/json_schema/schema", *schema);
}

// Null where the answer is free.
MadeGrammar read_grammar(const Fields& fields) {
  std::vector<std::pair<std::string_view, MadeGrammar>> made;
  const auto add = [&made](std::string_view member, MadeGrammar grammar) {
    made.emplace_back(member, std::move(grammar));
  };
  if (!fields.response_format.is_null()) {
    auto grammar = read_response_format(fields.response_format);
    if (!grammar || *grammar) add("response_format", std::move(grammar));
  }
  if (!fields.guided_json.is_null()) add("guided_json", schema_from("guided_json", fields.guided_json));
  if (!fields.guided_choice.is_null()) add("guided_choice", choices_from("guided_choice", fields.guided_choice));
  if (!fields.guided_regex.empty())
    add("guided_regex", from_member("guided_regex", Grammar::from_regex(fields.guided_regex)));
  if (!fields.guided_grammar.empty())
    add("guided_grammar", from_member("guided_grammar", Grammar::from_gbnf(fields.guided_grammar)));
  if (!fields.structured_outputs.is_null()) {
    Json json, choice;
    std::string regex, grammar;
    LOOM_TRY_VOID(read_config(fields.structured_outputs,
                              [&](ConfigVisitor& v) {
                                v.json("json", json);
                                v.json("choice", choice);
                                v("regex", regex);
                                v("grammar", grammar);
                              },
                              {"structured_outputs"}));
    if (!json.is_null()) add("structured_outputs", schema_from("structured_outputs/json", json));
    if (!choice.is_null()) add("structured_outputs", choices_from("structured_outputs/choice", choice));
    if (!regex.empty()) add("structured_outputs", from_member("structured_outputs/regex", Grammar::from_regex(regex)));
    if (!grammar.empty())
      add("structured_outputs", from_member("structured_outputs/grammar", Grammar::from_gbnf(grammar)));
  }
  if (made.empty()) return std::shared_ptr<const Grammar>();
  if (made.size() > 1)
    return fail(Code::InvalidConfig, "/{}: the form of the answer is given by /{} already: expected one of them",
                made[1].first, made[0].first);
  return std::move(made[0].second);
}

// Values that say what happens anyhow are taken; others would change the answer.
Result<void> refuse_unsupported(const Fields& fields) {
  if (!fields.tool_choice.is_null() && fields.tool_choice != "none" && fields.tool_choice != "auto")
    return fail(Code::Unsupported, "/tool_choice: {}", expected("none or auto", fields.tool_choice));
  return {};
}

}  // namespace

std::span<const std::string_view> members_without_effect() { return kWithoutEffect; }

namespace {

Result<Json> members_of(std::string_view body, std::string_view needed) {
  LOOM_TRY(Json json, parse_json(body));
  if (!json.is_object()) return fail(Code::CorruptData, "expected an object with \"{}\", got {}", needed, shown(json));
  for (auto member = json.begin(); member != json.end();) {
    const bool is_unread = member->is_null() || std::ranges::find(kWithoutEffect, member.key()) != kWithoutEffect.end();
    member = is_unread ? json.erase(member) : std::next(member);
  }
  return json;
}

Result<void> read_prompt(const Json& prompt, ChatRequest& to) {
  if (prompt.is_null()) return fail(Code::InvalidConfig, "/prompt: is missing");
  if (const std::string* text = as_string(prompt)) {
    to.text = *text;
    return {};
  }
  if (!prompt.is_array()) return fail(Code::InvalidConfig, "/prompt: {}", expected("a text or a list of ids", prompt));
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    const auto id = as_int(prompt[i]);
    if (!id || *id < 0 || *id > std::numeric_limits<std::int32_t>::max())
      return fail(Code::InvalidConfig, "/prompt/{}: {}", i, expected("a token's id", prompt[i]));
    to.ids.push_back(static_cast<std::int32_t>(*id));
  }
  if (to.ids.empty()) return fail(Code::InvalidConfig, "/prompt: expected at least one id, got an empty list");
  return {};
}

// Settles what the members of both kinds of requests mean together.
Result<ChatRequest> settled(Fields& fields) {
  ChatRequest& request = fields.request;
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
  LOOM_TRY(options.grammar, read_grammar(fields));
  return std::move(request);
}

}  // namespace

Result<ChatRequest> read_chat_request(std::string_view body) {
  LOOM_TRY(const Json json, members_of(body, "messages"));
  Fields fields;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& v) { fields.visit_chat(v); }));
  LOOM_TRY_VOID(refuse_unsupported(fields));
  Json& messages = fields.request.messages;
  if (messages.is_null()) return fail(Code::InvalidConfig, "/messages: is missing");
  LOOM_TRY(messages, conversation_from_json(messages));
  return settled(fields);
}

Result<ChatRequest> read_completion_request(std::string_view body) {
  LOOM_TRY(const Json json, members_of(body, "prompt"));
  Fields fields;
  fields.max_tokens = DefaultLength::kCompletion;
  LOOM_TRY_VOID(read_config(json, [&](ConfigVisitor& v) { fields.visit_completion(v); }));
  LOOM_TRY_VOID(read_prompt(fields.prompt, fields.request));
  return settled(fields);
}

}  // namespace loom::server
