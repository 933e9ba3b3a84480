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
  if (source.size() > kMaxSource)
    return fail(Code::LimitExceeded, "template: {} bytes, at most {} are read", source.size(), kMaxSource);
  auto data = jinja::parse_template(std::move(source));
  if (!data) return at("template", std::move(data).error());
  auto program = std::make_shared<Program>();
  program->data = std::move(*data);
  return ChatTemplate(std::move(program));
}

Result<std::string> ChatTemplate::render(const Json& context, const TemplateLimits& limits,
                                         const std::optional<TemplateTime>& now) const {
  jinja::Machine machine(program_->data, limits, now);
  auto text = machine.run(context);
  if (!text) return at("template", std::move(text).error());
  return text;
}

Result<TemplateTime> parse_template_date(std::string_view text) {
  const auto wrong = [&] {
    return fail(Code::InvalidArgument, "\"{}\" is no date, expected YYYY-MM-DD", text.substr(0, 40));
  };
  constexpr std::string_view kShape = "0000-00-00";
  if (text.size() != kShape.size()) return wrong();
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kShape[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return wrong();
  const auto number = [&](std::size_t from, std::size_t count) {
    int value = 0;
    for (const char c : text.substr(from, count)) value = value * 10 + (c - '0');
    return value;
  };
  const TemplateTime t{number(0, 4), number(5, 2), number(8, 2)};
  constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (t.year < 1 || t.month < 1 || t.month > 12) return wrong();
  const bool leap = (t.year % 4 == 0 && t.year % 100 != 0) || t.year % 400 == 0;
  if (t.day < 1 || t.day > kDays[t.month - 1] + (leap && t.month == 2 ? 1 : 0)) return wrong();
  return t;
}

const std::string& ChatTemplate::source() const { return program_->data.source; }

Result<Json> chat_context(const ChatContext& chat) {
  if (!chat.messages.is_array())
    return fail(Code::InvalidArgument, "chat: messages must be an array, got {}", chat.messages.type_name());
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
