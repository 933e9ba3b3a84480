#include "host/prompts.h"

namespace loom {

Prompts Prompts::of(const LanguageModel& model) {
  Prompts out;
  out.chat_template = model.chat_template;
  out.bos_token = model.bos_token, out.eos_token = model.eos_token;
  return out;
}

Result<std::string> Prompts::render(const Json& messages, const std::atomic<bool>* cancel) const {
  if (!chat_template) return fail(Code::NoTemplate, "the model brings no chat template");
  ChatContext context;
  context.messages = messages;
  context.tools = tools;
  context.extra = variables;
  context.add_generation_prompt = true;
  context.bos_token = bos_token, context.eos_token = eos_token;
  LOOM_TRY(const Json all, chat_context(context));
  return chat_template->render(all, {.cancel = cancel}, date);
}

}  // namespace loom
