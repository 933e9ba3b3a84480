#include "host/prompts.h"

#include "text/tokenizer/plain_text.h"

namespace loom {
namespace {

// Marks the control tokens in the texts of a value; names of members stay.
Json marked(const text::PlainTextMarker& marker, const Json& value) {
  if (const std::string* text = as_string(value)) return marker.mark(*text);
  Json out = value;
  if (value.is_structured())
    for (auto& member : out) member = marked(marker, member);
  return out;
}

}  // namespace

Prompts Prompts::of(const LanguageModel& model) {
  Prompts out;
  out.chat_template = model.chat_template;
  out.bos_token = model.bos_token, out.eos_token = model.eos_token;
  out.special_tokens = model.special_tokens;
  out.tokenizer = model.tokenizer;
  return out;
}

Result<void> Prompts::choose(const LanguageModel& model, std::string_view name) {
  const bool has_one_for_tools = model.named_templates.contains(std::string(kToolTemplate));
  if (name.empty()) name = !tools.is_null() && has_one_for_tools ? kToolTemplate : kDefaultTemplate;
  LOOM_TRY(const ChatTemplate* const chosen, model.need_template(name));
  chat_template = *chosen;
  return {};
}

Result<std::string> Prompts::render(const Json& messages, const std::atomic<bool>* cancel) const {
  if (!chat_template) return fail(Code::NoTemplate, "the model brings no chat template");
  ChatContext context;
  context.messages = messages;
  context.tools = tools;
  context.extra = variables;
  context.add_generation_prompt = add_generation_prompt;
  context.bos_token = bos_token, context.eos_token = eos_token;
  context.special_tokens = special_tokens;
  if (plain_text) {
    if (!tokenizer) return fail(Code::InvalidState, "plain text needs the model's tokenizer, which cannot be read");
    const text::PlainTextMarker marker(*tokenizer, chat_template->literal_text());
    for (Json* part : {&context.messages, &context.tools, &context.extra}) *part = marked(marker, *part);
  }
  if (continue_final_message) return render_to_continue(*chat_template, std::move(context), {.cancel = cancel}, date);
  LOOM_TRY(const Json all, chat_context(context));
  return chat_template->render(all, {.cancel = cancel}, date);
}

Result<text::Encoded> Prompts::encode(std::string_view rendered, std::size_t max_tokens,
                                      std::vector<std::int32_t>& ids) const {
  if (!tokenizer) return fail(Code::InvalidState, "the model's tokenizer cannot be read");
  if (plain_text) return text::encode_marked(*tokenizer, rendered, max_tokens, ids);
  return tokenizer->encode(rendered, {.add_special_tokens = false, .max_tokens = max_tokens}, ids);
}

Receipt::Prompt Prompts::describe(std::string_view rendered) const {
  const std::string source = chat_template ? chat_template->source() : std::string();
  if (!plain_text || !text::has_marks(rendered)) return prompt_of_text(rendered, false, source);
  Receipt::Prompt out = prompt_of_text(text::without_marks(rendered), false, source);
  out.is_exact = false;  // the ids say which parts are plain text
  return out;
}

}  // namespace loom
