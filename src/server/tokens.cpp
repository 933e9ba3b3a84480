#include "server/tokens.h"

#include "core/config_reader.h"

namespace loom::server {

Result<Json> tokenize(const Answers& answers, std::string_view body) {
  LOOM_TRY(const TokenizeFields fields, read_fields<TokenizeFields>(body));
  LOOM_TRY_VOID(answers.check_model(fields.model));
  if (fields.prompt.is_null() == fields.messages.is_null())
    return fail(Code::InvalidConfig, "expected one of \"prompt\" and \"messages\"");
  ChatRequest request;
  if (!fields.messages.is_null()) {
    LOOM_TRY_VOID(read_conversation_members(fields.messages, {}, request));
    LOOM_TRY_VOID(answers.check_messages(request.messages));
  } else if (const std::string* text = as_string(fields.prompt)) {
    request.text = *text;
  } else {
    return fail(Code::InvalidConfig, "/prompt: {}", expected("a text", fields.prompt));
  }
  LOOM_TRY(const Prompt prompt, answers.prompt_of(request, fields.add_generation_prompt, fields.add_special_tokens));
  const std::vector<std::int32_t>& ids = prompt.ids;
  const text::Tokenizer& tokenizer = *answers.engine().model().tokenizer;
  Json json{{"count", ids.size()}, {"max_model_len", answers.engine().context_tokens()}, {"tokens", ids}};
  if (!fields.return_token_strs) return json;
  json["token_strs"] = Json::array();
  for (const std::int32_t id : ids) json["token_strs"].push_back(std::string(tokenizer.token_text(id)));
  return json;
}

Result<Json> detokenize(const Answers& answers, std::string_view body) {
  LOOM_TRY(const DetokenizeFields fields, read_fields<DetokenizeFields>(body));
  LOOM_TRY_VOID(answers.check_model(fields.model));
  const text::Tokenizer& tokenizer = *answers.engine().model().tokenizer;
  std::vector<std::int32_t> ids;
  for (std::size_t i = 0; i < fields.tokens.size(); ++i) {
    const std::int64_t id = fields.tokens[i];
    if (id < 0 || static_cast<std::uint64_t>(id) >= tokenizer.vocab_size())
      return fail(Code::InvalidConfig, "/tokens/{}: expected an id from 0 to {}, got {}", i, tokenizer.vocab_size() - 1,
                  id);
    ids.push_back(static_cast<std::int32_t>(id));
  }
  const std::string text = tokenizer.decode(ids, {.skip_special_tokens = false});
  return Json{{"prompt", text}, {"content", text}};
}

}  // namespace loom::server
