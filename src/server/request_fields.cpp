#include "server/request_fields.h"

#include <algorithm>

namespace loom::server {
namespace {

constexpr std::size_t kMostLogprobs = 20;
constexpr NumberRange kPenalty{-2, 2}, kProbability{0, 1};
constexpr SizeRange kTopK{0, 1U << 20};

}  // namespace

void AnswerFields::visit(ConfigVisitor& v) {
  v("model", model);
  v("temperature", sampling.temperature, {0, 2});
  v("top_p", sampling.top_p, kProbability);
  v("top_k", top_k, kTopK);
  v("min_p", sampling.min_p, kProbability);
  v("repetition_penalty", sampling.repetition_penalty, {0, 10});
  v("frequency_penalty", sampling.frequency_penalty, kPenalty);
  v("presence_penalty", sampling.presence_penalty, kPenalty);
  v.json("seed", seed);
  v.json("stop", stop);
  v.json("logit_bias", logit_bias);
  v("stream", stream);
  v.json("structured_outputs", structured_outputs);
  v.json("guided_json", guided_json);
  v.json("guided_choice", guided_choice);
  v.json("guided_regex", guided_regex);
  v.json("guided_grammar", guided_grammar);
  v("ignore_eos", ignore_eos);
}

void CompletionFields::visit(ConfigVisitor& v) {
  v("max_completion_tokens|max_tokens", max_tokens, {1, kMostTokens});
  v("n", n, {1, 128});
  v("receipt", receipt);
  v.json("stream_options", stream_options);
  AnswerFields::visit(v);
}

void ChatFields::visit(ConfigVisitor& v) {
  v.json("messages", messages);
  v("logprobs", logprobs);
  v("top_logprobs", top_logprobs, {0, kMostLogprobs});
  v.json("response_format", response_format);
  v.json("chat_template_kwargs", chat_template_kwargs);
  v.json("tools", tools);
  v.json("tool_choice", tool_choice);
  v("parallel_tool_calls", parallel_tool_calls);
  CompletionFields::visit(v);
}

void TextFields::visit(ConfigVisitor& v) {
  v.json("prompt", prompt);
  CompletionFields::visit(v);
}

void ResponseFields::visit(ConfigVisitor& v) {
  v.json("input", input);
  v("instructions", instructions);
  v("max_output_tokens", max_output_tokens, {1, kMostTokens});
  v.json("text", text);
  v.json("tools", tools);
  v.json("tool_choice", tool_choice);
  v("parallel_tool_calls", parallel_tool_calls);
  v("previous_response_id", previous_response_id);
  v.choice("truncation", truncation, {"disabled"}, Code::Unsupported);
  v("background", background);
  v("include", include);
  AnswerFields::visit(v);
}

void EmbeddingFields::visit(ConfigVisitor& v) {
  v("model", model);
  v.json("input", input);
  v.choice("encoding_format", encoding_format, {"float", "base64"}, Code::InvalidConfig);
  v("dimensions", dimensions, {0, 1U << 20});
}

void RerankFields::visit(ConfigVisitor& v) {
  v("model", model);
  v("query", query);
  v.json("documents", documents);
  v("top_n", top_n, {0, 1U << 20});
  v("return_documents", return_documents);
}

void TokenizeFields::visit(ConfigVisitor& v) {
  v("model", model);
  v.json("prompt|content", prompt);
  v.json("messages", messages);
  v("add_special_tokens|add_special", add_special_tokens);
  v("add_generation_prompt", add_generation_prompt);
  v("return_token_strs|with_pieces", return_token_strs);
}

void DetokenizeFields::visit(ConfigVisitor& v) {
  v("model", model);
  v("tokens", tokens);
}

void OllamaOptions::visit(ConfigVisitor& v) {
  v("temperature", sampling.temperature, {0, 2});
  v("top_k", top_k, kTopK);
  v("top_p", sampling.top_p, kProbability);
  v("min_p", sampling.min_p, kProbability);
  v("typical_p", sampling.typical_p, kProbability);
  v("repeat_penalty", sampling.repetition_penalty, {0, 10});
  v("frequency_penalty", sampling.frequency_penalty, kPenalty);
  v("presence_penalty", sampling.presence_penalty, kPenalty);
  v("num_ctx", num_ctx, {0, kMostTokens});
  v.json("num_predict", num_predict);
  v.json("repeat_last_n", repeat_last_n);
  v.json("seed", seed);
  v.json("stop", stop);
  v.json("mirostat", mirostat);
  v.json("tfs_z", tfs_z);
}

void OllamaFields::visit(ConfigVisitor& v) {
  v("model|name", model);
  v.json("format", format);
  v.json("options", options);
  v.json("think", think);
  v("stream", stream);
}

void OllamaChatFields::visit(ConfigVisitor& v) {
  v.json("messages", messages);
  v.json("tools", tools);
  v.json("keep_alive", keep_alive);
  OllamaFields::visit(v);
}

void OllamaGenerateFields::visit(ConfigVisitor& v) {
  v.json("prompt", prompt);
  v("system", system);
  v("raw", raw);
  v.json("keep_alive", keep_alive);
  OllamaFields::visit(v);
}

void OllamaEmbedFields::visit(ConfigVisitor& v) {
  v("model|name", model);
  v.json("input", input);
  v("truncate", truncate);
  v("dimensions", dimensions, {0, 1U << 20});
}

void OllamaEmbeddingFields::visit(ConfigVisitor& v) {
  v("model|name", model);
  v("prompt", prompt);
}

void OllamaShowFields::visit(ConfigVisitor& v) {
  v("model|name", model);
  v("verbose", verbose);
}

Result<Json> members_of(std::string_view body, std::span<const std::string_view> required,
                        std::span<const std::string_view> without_effect) {
  LOOM_TRY(Json json, parse_json(body));
  const std::string_view first = required.empty() ? std::string_view("prompt") : required[0];
  if (!json.is_object()) return fail(Code::CorruptData, "expected an object with \"{}\", got {}", first, shown(json));
  for (auto member = json.begin(); member != json.end();) {
    const bool is_unread = member->is_null() || std::ranges::find(without_effect, member.key()) != without_effect.end();
    member = is_unread ? json.erase(member) : std::next(member);
  }
  for (const std::string_view name : required)
    if (find(json, name) == nullptr && !(name == "model" && find(json, "name") != nullptr))
      return fail(Code::InvalidConfig, "/{}: is missing", name);
  return json;
}

}  // namespace loom::server
