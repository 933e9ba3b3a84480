#include "text/template/chat_template.h"

#include "text/template/interpreter.h"
#include "text/template/lexer.h"
#include "text/template/parser.h"
#include "text/template/unicode.h"

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

std::string ChatTemplate::literal_text() const {
  std::string out;
  const auto tokens = jinja::tokenize(program_->data.source);  // it parsed before
  if (!tokens) return out;
  for (const jinja::Token& token : *tokens)
    if (token.kind == jinja::TokenKind::Data || token.kind == jinja::TokenKind::String)
      out.append(out.empty() ? 0 : 1, '\0').append(token.text);
  return out;
}

namespace {

// A message without its null members. Reasoning is passed under several names: templates read reasoning_content, those
// of gpt-oss thinking.
Json template_message(const Json& message) {
  if (!message.is_object()) return message;
  Json out = Json::object();
  const Json* reasoning = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"})
    if (const Json* found = find(message, name); !reasoning && found && !found->is_null()) reasoning = found;
  if (reasoning) out["thinking"] = *reasoning;
  for (const auto& [key, value] : message.items())
    if (!value.is_null()) out[key] = value;
  if (reasoning) out["reasoning_content"] = *reasoning;
  return out;
}

}  // namespace

Result<Json> chat_context(const ChatContext& chat) {
  if (!chat.messages.is_array())
    return fail(Code::InvalidArgument, "chat: messages must be an array, got {}", chat.messages.type_name());
  if (!chat.extra.is_object() && !chat.extra.is_null())
    return fail(Code::InvalidArgument, "chat: extra variables must be an object, got {}", chat.extra.type_name());
  Json out = Json::object();
  Json& messages = out["messages"] = Json::array();
  for (const Json& message : chat.messages) messages.push_back(template_message(message));
  out["tools"] = chat.tools;
  out["documents"] = chat.documents;
  out["add_generation_prompt"] = chat.add_generation_prompt;
  if (!chat.bos_token.empty()) out["bos_token"] = chat.bos_token;
  if (!chat.eos_token.empty()) out["eos_token"] = chat.eos_token;
  for (const auto& [name, text] : chat.special_tokens) out[name] = text;
  if (const auto* extra = chat.extra.get_ptr<const Json::object_t*>())
    for (const auto& [key, value] : *extra) out[key] = value;
  return out;
}

Result<std::string> render_to_continue(const ChatTemplate& chat_template, ChatContext chat,
                                       const TemplateLimits& limits, const std::optional<TemplateTime>& now) {
  // Marks the end of the message, as in transformers; the space shows whether the template strips the content.
  constexpr std::string_view kMark = "CONTINUE_FINAL_MESSAGE_TAG", kMarkAndSpace = "CONTINUE_FINAL_MESSAGE_TAG ";
  Json* const last = chat.messages.is_array() && !chat.messages.empty() ? &chat.messages.back() : nullptr;
  const Json* const content = last ? find(*last, "content") : nullptr;
  if (!content || !as_string(*content))
    return fail(Code::InvalidArgument, "chat: the conversation has no last message whose content could be continued");
  const std::string text = *as_string(*content);
  (*last)["content"] = text + std::string(kMarkAndSpace);
  chat.add_generation_prompt = false;
  LOOM_TRY(const Json variables, chat_context(chat));
  LOOM_TRY(std::string out, chat_template.render(variables, limits, now));
  const std::size_t end = out.rfind(kMark);
  if (end == out.npos || out.find(jinja::strip_right(jinja::strip_left(text))) == out.npos)
    return fail(Code::InvalidArgument, "chat: the template does not write the last message, so it cannot be continued");
  const bool is_stripped = out.compare(end, kMarkAndSpace.size(), kMarkAndSpace) != 0;
  out.resize(end);
  if (is_stripped) out.resize(jinja::strip_right(out).size());
  for (std::size_t at = 0; (at = out.find(kMark, at)) != out.npos;)  // written earlier as well
    out.erase(at, out.compare(at, kMarkAndSpace.size(), kMarkAndSpace) == 0 ? kMarkAndSpace.size() : kMark.size());
  return out;
}

}  // namespace loom
