#include "server/call_form.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/json.h"
#include "grammar/tagged_calls.h"
#include "host/conversation.h"
#include "server/tools.h"

namespace loom::server {
namespace {

// Question, answer and names of the probes: words that no template writes by itself.
constexpr std::string_view kQuestion = "loomquestion", kAnswer = "~loomanswer", kName = "loomtool",
                           kOtherName = "loomother", kKey = "loomkey", kNextKey = "loomnext", kId = "loomid001",
                           kOtherId = "loomid002";

Json call_of(std::string_view name, std::string_view id, const Json& arguments = Json{{kKey, 7}}) {
  return Json{{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

Json tool_of(std::string_view name) {
  const Json property{{"type", "integer"}, {"description", "a number"}};
  const Json parameters{{"type", "object"}, {"properties", {{kKey, property}}}, {"required", Json::array({kKey})}};
  return Json{{"type", "function"},
              {"function", {{"name", name}, {"description", "a function"}, {"parameters", parameters}}}};
}

Result<std::string> rendered(const ChatTemplate& chat_template, const CallFormTexts& texts, const Json& tools,
                             const Json& answer) {
  ChatContext context;
  context.messages = Json::array({message("user", std::string(kQuestion))});
  if (!answer.is_null()) context.messages.push_back(answer);
  context.tools = tools, context.bos_token = texts.bos_token, context.eos_token = texts.eos_token;
  LOOM_TRY(const Json variables, chat_context(context));
  return chat_template.render(variables, {}, TemplateTime{.year = 2026});
}

// The text that a template writes for the answer, and what follows it.
Result<std::string> rendered_answer(const ChatTemplate& chat_template, const CallFormTexts& texts, const Json& tools,
                                    const Json& answer) {
  LOOM_TRY(const std::string text, rendered(chat_template, texts, tools, answer));
  const std::size_t at = text.rfind(kQuestion);
  if (at == text.npos) return fail(Code::Unsupported, "the chat template does not write the question");
  return text.substr(at + kQuestion.size());
}

// One call inside of a text: where its name and its arguments begin and end.
struct Found {
  std::size_t name = 0, name_end = 0, arguments = 0, end = 0;
};

std::optional<Found> find_call(std::string_view text, std::string_view name, std::size_t from) {
  Found out;
  out.name = text.find(name, from);
  if (out.name == text.npos) return std::nullopt;
  out.name_end = out.name + name.size();
  const std::size_t key = text.find(kKey, out.name_end);
  if (key == text.npos) return std::nullopt;
  out.arguments = text.rfind('{', key), out.end = text.find('}', key);
  if (out.arguments == text.npos || out.arguments < out.name_end || out.end == text.npos) return std::nullopt;
  const auto arguments = parse_json(text.substr(out.arguments, ++out.end - out.arguments));
  if (!arguments || *arguments != Json{{kKey, 7}}) return std::nullopt;
  return out;
}

// Ids of calls are left out: they are Loom's to give.
std::string without_id(std::string text) {
  for (const std::string_view id : {kId, kOtherId}) {
    const std::string member = fmt::format(", \"id\": \"{}\"", id);
    if (const std::size_t at = text.find(member); at != text.npos) text.erase(at, member.size());
  }
  return text;
}

// Cuts what ends the turn, of the text that follows a call.
std::string without_end(std::string text, std::string_view answer, const CallFormTexts& texts) {
  std::size_t cut = text.npos;
  const auto look = [&](std::string_view end) {
    if (!end.empty()) cut = std::min(cut, text.find(end));
  };
  look(texts.eos_token);
  for (const std::string& end : texts.ends) look(end);
  for (const std::string_view end : text::end_markers()) look(end);
  if (cut != text.npos) return text.substr(0, cut);
  std::size_t same = 0;  // with what follows a plain answer
  while (same < text.size() && same < answer.size() && text[text.size() - 1 - same] == answer[answer.size() - 1 - same])
    ++same;
  return text.substr(0, text.size() - same);
}

CallForm own_form() {
  CallForm form{.kind = CallForm::Kind::Own, .open = R"({"name": ")", .middle = R"(", "arguments": )"};
  form.between = "}\n{\"name\": \"", form.close = "}";
  return form;
}

// Where a word begins and ends in a text; npos where it is absent.
struct WordPlace {
  std::size_t begin = std::string_view::npos, end = std::string_view::npos;
};
// After a word that is absent, all are.
WordPlace place_of(std::string_view text, std::string_view word, const WordPlace& before) {
  const std::size_t at = text.find(word, before.end);
  return at == text.npos ? WordPlace{} : WordPlace{at, at + word.size()};
}

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> out;
  for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
    const std::size_t end = std::min(text.find_first_of(" \n\r\t"), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return out;
}

// Reads the tags from the text of a call with two arguments, which begins at `open`. `said`: a plain answer.
std::optional<CallForm> tagged_form(std::string_view text, std::size_t open, std::string_view said,
                                    const CallFormTexts& texts) {
  const WordPlace name = place_of(text, kName, {open, open}), key = place_of(text, kKey, name),
                  value = place_of(text, "7", key), next = place_of(text, kNextKey, value),
                  last = place_of(text, "8", next);
  if (last.end == text.npos) return std::nullopt;
  const auto between = [&](std::size_t from, std::size_t to) { return text.substr(from, to - from); };
  const std::string_view before = between(name.end, key.begin), inside = between(key.end, value.begin),
                         after = between(value.end, next.begin);
  const std::string rest = without_end(std::string(text.substr(last.end)), said, texts);
  std::size_t same = 0;  // with what both arguments begin
  while (same < std::min(before.size(), after.size()) &&
         before[before.size() - 1 - same] == after[after.size() - 1 - same])
    ++same;
  const std::string_view tail = before.substr(before.size() - same);
  const std::size_t tag = tail.rfind('<');
  if (tag == tail.npos) return std::nullopt;
  CallForm form{.kind = CallForm::Kind::Tagged};
  TaggedArguments& tagged = form.tagged;
  tagged.open = tail.substr(tag);
  form.middle = trimmed(before.substr(0, before.size() - tagged.open.size()));
  tagged.middle = parts_of(inside), tagged.on_lines = inside.ends_with('\n');
  tagged.close = trimmed(after.substr(0, after.size() - tagged.open.size()));
  std::string_view close = trimmed(rest);
  if (tagged.middle.empty() || tagged.close.empty() || !close.starts_with(tagged.close)) return std::nullopt;
  close = trimmed(close.substr(tagged.close.size()));
  const std::size_t end = close.find('>');
  if (end == close.npos) return std::nullopt;
  tagged.end = close.substr(0, end + 1);
  form.ending = trimmed(close.substr(end + 1)), form.close = close;
  form.open = trimmed(between(open, name.begin));
  const std::size_t line = form.open.find('\n');
  form.marker = trimmed(std::string_view(form.open).substr(0, line));
  if (line != form.open.npos) tagged.prefix = trimmed(std::string_view(form.open).substr(line));
  const auto without_blanks_after = [](std::string_view part) {
    return std::string(part.substr(0, part.find_last_not_of(" \n\r\t") + 1));
  };
  const std::string_view head = between(open, name.begin);
  tagged.exact_open = head.substr(std::min(head.find_first_not_of(" \n"), head.size()));
  tagged.exact_first = before, tagged.exact_inside = inside, tagged.exact_next = after;
  tagged.exact_close = without_blanks_after(rest);
  // A call without arguments: both ends without the tags of the argument, and one line break between them.
  std::string_view begin = before.substr(0, before.size() - tagged.open.size());
  std::string_view ending = std::string_view(tagged.exact_close);
  ending = ending.substr(ending.find(tagged.close) + tagged.close.size());
  if (begin.ends_with('\n') && ending.starts_with('\n')) ending.remove_prefix(1);
  tagged.exact_none = std::string(begin) + std::string(ending);
  return form.marker.empty() ? std::nullopt : std::optional(std::move(form));
}

// Sets what depends on the kind.
Result<CallForm> classified(CallForm form) {
  constexpr std::string_view kMember = R"({"name": ")";
  if (form.open.ends_with(kMember)) {
    form.kind = CallForm::Kind::Json;
    if (form.middle != R"(", "arguments": )" && form.middle != R"(", "parameters": )")
      return fail(Code::Unsupported, "the chat template writes arguments after {}, which is not read", form.middle);
    std::string_view marker = trimmed(std::string_view(form.open).substr(0, form.open.size() - kMember.size()));
    if (marker.ends_with('[')) marker = trimmed(marker.substr(0, marker.size() - 1));
    form.marker = marker;
    std::string_view ending = trimmed(form.close);
    while (ending.starts_with('}') || ending.starts_with(']')) ending = trimmed(ending.substr(1));
    form.ending = ending;
    return form;
  }
  form.kind = CallForm::Kind::Named;
  form.marker = trimmed(form.open), form.ending = trimmed(form.close);
  if (form.marker.empty() || form.middle.empty() || form.open.find('{') != form.open.npos)
    return fail(Code::Unsupported, "the chat template writes calls in a form that is not read");
  return form;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \n\r\t";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<CallForm> call_form_of(const ChatTemplate& chat_template, const CallFormTexts& texts) {
  const Json one = Json::array({tool_of(kName)}), two = Json::array({tool_of(kName), tool_of(kOtherName)});
  const auto plain = rendered(chat_template, texts, nullptr, nullptr),
             with = rendered(chat_template, texts, two, nullptr);
  if (plain && with && *plain == *with) return own_form();
  Json answer = message("assistant", ""), both = answer;
  answer["tool_calls"] = Json::array({call_of(kName, kId)});
  both["tool_calls"] = Json::array({call_of(kName, kId), call_of(kOtherName, kOtherId)});
  LOOM_TRY(const std::string said,
           rendered_answer(chat_template, texts, one, message("assistant", std::string(kAnswer))));
  LOOM_TRY(const std::string text, rendered_answer(chat_template, texts, one, answer));
  const std::optional<Found> call = find_call(text, kName, 0);
  const std::size_t begin = static_cast<std::size_t>(std::ranges::mismatch(text, said).in1 - text.begin());
  if (!call) {
    const auto with = [&](const Json& value) {
      answer["tool_calls"] = Json::array({call_of(kName, kId, Json{{kKey, value}, {kNextKey, 8}})});
      return rendered_answer(chat_template, texts, one, answer);
    };
    const auto tags = with(7), of_text = with("7");  // tags that name the type of a value are not read
    if (tags && of_text && *tags == *of_text && tags->starts_with(text.substr(0, begin)))
      if (auto form = tagged_form(*tags, begin, said, texts)) return *std::move(form);
    return fail(Code::Unsupported, "the chat template writes calls neither with JSON nor with a tag for each argument");
  }
  if (begin > call->name) return fail(Code::Unsupported, "the chat template writes calls in a form that is not read");
  CallForm form;
  form.open = text.substr(begin, call->name - begin);
  while (!form.open.empty() && (form.open[0] == '\n' || form.open[0] == ' ')) form.open.erase(0, 1);
  form.middle = text.substr(call->name_end, call->arguments - call->name_end);
  form.close = without_id(without_end(text.substr(call->end), said, texts));
  form.several = false;
  const auto twice = rendered_answer(chat_template, texts, two, both);
  const std::optional<Found> first = twice ? find_call(*twice, kName, 0) : std::nullopt;
  const std::optional<Found> second = first ? find_call(*twice, kOtherName, first->end) : std::nullopt;
  // A form that counts its calls, as "f:0" and "f:1", is written once.
  if (second && twice->substr(second->name_end, second->arguments - second->name_end) == form.middle) {
    form.between = without_id(twice->substr(first->end, second->name - first->end));
    form.several = true;
  }
  return classified(std::move(form));
}

std::vector<std::int32_t> visible_ids(const CallForm& form, const text::Tokenizer& tokenizer) {
  std::vector<std::int32_t> out;
  if (form.kind == CallForm::Kind::Own) return out;
  std::string all = form.open + form.middle + form.between + form.close + form.tagged.open + form.tagged.close;
  for (const std::string& part : form.tagged.middle) all += part;
  for (const std::string& text : tokenizer.control_tokens(all)) {
    const auto id = tokenizer.id_of(text);
    if (id && tokenizer.is_special(*id) && all.find(text) != all.npos) out.push_back(*id);
  }
  return out;
}

Result<std::shared_ptr<const Grammar>> call_grammar(const CallForm& form, std::span<const Function> functions,
                                                    bool most_one, bool is_optional, const FindForm& known) {
  const auto named = [](Result<std::shared_ptr<const Grammar>> made) -> Result<std::shared_ptr<const Grammar>> {
    if (made) return made;
    const Error& error = made.error();
    return fail(error.code == Code::LimitExceeded ? error.code : Code::InvalidConfig, "/tools: {}", error.text());
  };
  if (form.kind == CallForm::Kind::Tagged) {
    const TaggedArguments& tags = form.tagged;
    const TaggedSyntax syntax{.open = tags.exact_open,
                              .first = tags.exact_first,
                              .inside = tags.exact_inside,
                              .next = tags.exact_next,
                              .close = tags.exact_close,
                              .none = tags.exact_none,
                              .value_end = tags.close,
                              .is_optional = is_optional,
                              .trigger = form.marker};
    std::vector<TaggedCall> calls;
    for (const Function& function : functions) calls.push_back({function.name, &function.parameters});
    if (known)
      if (auto form_before = known(source_of_tagged_calls(syntax, calls))) return form_before;
    return named(tagged_call_grammar(syntax, calls));
  }
  std::vector<CallGrammar> calls;
  for (const Function& function : functions) calls.push_back({function.name + form.middle, &function.parameters});
  const CallSyntax syntax{.open = form.open,
                          .between = form.between,
                          .close = form.close,
                          .several = form.several && !most_one,
                          .is_optional = is_optional,
                          .trigger = form.marker};
  if (known)
    if (auto form_before = known(Grammar::source_of_calls(syntax, calls))) return form_before;
  return named(Grammar::from_calls(syntax, calls));
}

Json messages_in_own_form(const Json& messages, std::span<const Function> functions) {
  Json out = Json::array();
  std::map<std::string, std::string> names;  // of the functions, by the ids of their calls
  for (const Json& given : messages) {
    const std::string role = *as_string(given["role"]);
    if (role == "tool") {
      const Json* const id = find(given, "tool_call_id");
      const auto name = names.find(id != nullptr && as_string(*id) != nullptr ? *as_string(*id) : "");
      out.push_back(message("user", fmt::format("Result of {}:\n{}", name == names.end() ? "a function" : name->second,
                                                content_text(given))));
      continue;
    }
    Json copy = given;
    if (const Json* const calls = find(given, "tool_calls")) {
      std::string text(content_text(given));
      for (const Json& call : *calls) {
        const Json& function = call["function"];
        const Json *const id = find(call, "id"), *const arguments = find(function, "arguments");
        if (id != nullptr && as_string(*id) != nullptr) names[*as_string(*id)] = *as_string(function["name"]);
        text += (text.empty() ? "" : "\n") +
                dump_json(Json{{"name", function["name"]}, {"arguments", arguments ? *arguments : Json::object()}});
      }
      copy["content"] = std::move(text);
      copy.erase("tool_calls");
    }
    out.push_back(std::move(copy));
  }
  if (functions.empty()) return out;
  std::string text =
      "You can call functions. To call one, answer with nothing but a JSON object: "
      "{\"name\": \"NAME\", \"arguments\": {...}}. The functions are:";
  for (const Function& function : functions) text += "\n" + dump_json(function.shown);
  if (!out.empty() && out[0]["role"] == "system")
    out[0]["content"] = std::string(content_text(out[0])) + "\n\n" + text;
  else
    out.insert(out.begin(), message("system", std::move(text)));
  return out;
}

}  // namespace loom::server
