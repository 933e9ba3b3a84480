#include "host/prompts.h"

namespace loom {

Prompts Prompts::of(const LanguageModel& model) {
  Prompts out;
  out.chat_template = model.chat_template;
  out.bos_token = model.bos_token, out.eos_token = model.eos_token;
  out.special_tokens = model.special_tokens;
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
  if (continue_final_message) return render_to_continue(*chat_template, std::move(context), {.cancel = cancel}, date);
  LOOM_TRY(const Json all, chat_context(context));
  return chat_template->render(all, {.cancel = cancel}, date);
}

}  // namespace loom
