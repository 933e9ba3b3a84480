#include "text/template/chat_template.h"

#include "text/template/interpreter.h"
#include "text/template/parser.h"

namespace loom {

struct ChatTemplate::Program {
  jinja::ProgramData data;
};

namespace {
constexpr std::size_t kMaxSource = std::size_t{4} << 20;  // the longest real templates have 20 KB
}

Result<ChatTemplate> ChatTemplate::parse(std::string source) {
  if (source.size() > kMaxSource) return fail(Code::LimitExceeded, "template: {} bytes, at most {} are read", source.size(), kMaxSource);
  auto data = jinja::parse_template(std::move(source));
  if (!data) return at("template", std::move(data).error());
  auto program = std::make_shared<Program>();
  program->data = std::move(*data);
  return ChatTemplate(std::move(program));
}

Result<std::string> ChatTemplate::render(const Json& context, const TemplateLimits& limits, const std::optional<TemplateTime>& now) const {
  jinja::Machine machine(program_->data, limits, now);
  auto text = machine.run(context);
  if (!text) return at("template", std::move(text).error());
  return text;
}

const std::string& ChatTemplate::source() const { return program_->data.source; }

Result<Json> chat_context(const ChatContext& chat) {
  if (!chat.messages.is_array()) return fail(Code::InvalidArgument, "chat: messages must be an array, got {}", chat.messages.type_name());
  if (!chat.extra.is_object() && !chat.extra.is_null())
    return fail(Code::InvalidArgument, "chat: extra variables must be an object, got {}", chat.extra.type_name());
  Json out = Json::object();
  out["messages"] = chat.messages;
  out["tools"] = chat.tools;
  out["documents"] = chat.documents;
  out["add_generation_prompt"] = chat.add_generation_prompt;
  if (!chat.bos_token.empty()) out["bos_token"] = chat.bos_token;
  if (!chat.eos_token.empty()) out["eos_token"] = chat.eos_token;
  if (const auto* extra = chat.extra.get_ptr<const Json::object_t*>())
    for (const auto& [key, value] : *extra) out[key] = value;
  return out;
}

}  // namespace loom
