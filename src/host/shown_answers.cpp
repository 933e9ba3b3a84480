#include "host/shown_answers.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "core/file.h"
#include "core/json.h"
#include "core/nearest.h"
#include "host/conversation.h"
#include "host/receipt.h"
#include "text/unicode/utf8.h"

namespace loom {
namespace {

constexpr std::string_view kBlanks = " \n\r\t";

struct Call {
  std::string name, arguments;
};

// One choice of a response as it is shown, whole or joined from the pieces of a stream.
struct Shown {
  std::optional<std::string> text, thoughts;
  std::map<std::int64_t, Call> calls;
  Json receipt;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

void append(const Json& object, std::string_view member, std::optional<std::string>& to) {
  const Json* const value = find(object, member);
  const std::string* const text = value == nullptr ? nullptr : as_string(*value);
  if (text != nullptr) to = to.value_or("") + *text;
}

void append(const Json& object, std::string_view member, std::string& to) {
  std::optional<std::string> text;
  append(object, member, text);
  to += text.value_or("");
}

void add_choice(const Json& choice, std::map<std::int64_t, Shown>& to) {
  const Json* const index = find(choice, "index");
  Shown& shown = to[index == nullptr ? 0 : as_int(*index).value_or(0)];
  append(choice, "text", shown.text);
  for (const char* const part : {"message", "delta"}) {
    const Json* const message = find(choice, part);
    if (message == nullptr) continue;
    append(*message, "content", shown.text);
    append(*message, "reasoning_content", shown.thoughts);
    const Json* const calls = find(*message, "tool_calls");
    if (calls == nullptr || !calls->is_array()) continue;
    for (std::size_t i = 0; i < calls->size(); ++i) {
      const Json *const number = find((*calls)[i], "index"), *const function = find((*calls)[i], "function");
      if (function == nullptr) continue;
      const auto fallback = static_cast<std::int64_t>(i);
      Call& call = shown.calls[number == nullptr ? fallback : as_int(*number).value_or(fallback)];
      append(*function, "name", call.name);
      append(*function, "arguments", call.arguments);
    }
  }
  const Json *const loom = find(choice, "loom"), *const receipt = loom == nullptr ? nullptr : find(*loom, "receipt");
  if (receipt != nullptr && !receipt->is_null()) shown.receipt = *receipt;
}

void add_choices(const Json& response, std::map<std::int64_t, Shown>& to) {
  const Json* const choices = find(response, "choices");
  if (choices == nullptr || !choices->is_array()) return;
  for (const Json& choice : *choices) add_choice(choice, to);
}

// The end of the JSON object that begins at `begin`; npos: it has none.
std::size_t end_of_object(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  bool in_text = false;
  for (std::size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      if (c == '"') in_text = false;
    } else if (c == '"') {
      in_text = true;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return text.npos;
}

bool has_object(std::string_view text, const Json& wanted) {
  constexpr std::size_t kMostTried = 4096;  // a hostile file must not take quadratic time
  std::size_t tried = 0;
  for (std::size_t at = text.find('{'); at != text.npos && tried < kMostTried; at = text.find('{', at + 1), ++tried) {
    const std::size_t end = end_of_object(text, at);
    if (end == text.npos) continue;
    const auto json = parse_json(text.substr(at, end - at), kReceiptLimits);
    if (json && *json == wanted) return true;
  }
  return false;
}

// Whether a value stands between two tags.
bool has_value(std::string_view text, const Json& wanted) {
  if (const std::string* const words = as_string(wanted)) return text.find(*words) != text.npos;
  for (std::size_t at = text.find('>'); at != text.npos; at = text.find('>', at + 1)) {
    const std::size_t end = std::min(text.find('<', at), text.size());
    const auto json = parse_json(trimmed(text.substr(at + 1, end - at - 1)), kReceiptLimits);
    if (json && *json == wanted) return true;
  }
  return false;
}

// Arguments stand in the answer as an object, or each in tags of its own.
bool has_arguments(std::string_view text, const std::string& arguments) {
  const auto json = parse_json(arguments, kReceiptLimits);
  if (!json || !json->is_object()) return false;
  if (has_object(text, *json)) return true;
  if (text.find("</") == text.npos) return false;
  return std::ranges::all_of(json->items(), [&](const auto& item) {
    return text.find(item.key()) != text.npos && has_value(text, item.value());
  });
}

std::string differs(std::string_view what, const std::string& shown, const std::string& written) {
  constexpr std::size_t kMostShown = 60;
  return fmt::format("the {} of the response: {}, of its receipt: {}", what,
                     printable(std::string_view(shown).substr(0, kMostShown)),
                     printable(std::string_view(written).substr(0, kMostShown)));
}

// Whether a name stands in the text, and not as a part of a longer one.
bool has_name(std::string_view text, std::string_view name) {
  const auto is_in_name = [&](std::size_t at) {
    if (at >= text.size()) return false;
    const char c = text[at];
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  };
  if (name.empty()) return false;
  for (std::size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1))
    if ((at == 0 || !is_in_name(at - 1)) && !is_in_name(at + name.size())) return true;
  return false;
}

// Thoughts and calls are parts of the text of the receipt; without any the text is all of it.
std::string difference_of(const Shown& shown, const std::string& written) {
  for (const auto& [number, call] : shown.calls) {
    if (!has_name(written, call.name)) return differs("function", call.name, written);
    if (!has_arguments(written, call.arguments)) return differs("arguments", call.arguments, written);
  }
  if (shown.thoughts && written.find(*shown.thoughts) == written.npos)
    return differs("thoughts", *shown.thoughts, written);
  if (!shown.text) return {};
  const bool is_part = !shown.calls.empty() || shown.thoughts || written.find("</think>") != written.npos;
  const bool is_equal =
      is_part ? written.find(trimmed(*shown.text)) != written.npos : trimmed(*shown.text) == trimmed(written);
  return is_equal ? std::string() : differs("text", *shown.text, written);
}

std::string text_of(const Json& receipt) {
  const Json* const result = find(receipt, "result");
  std::string out;
  if (result != nullptr) append(*result, "text", out);
  return text::to_valid_utf8(out);
}

std::string numbered(std::size_t number, std::size_t count, std::string difference) {
  return count > 1 && !difference.empty() ? fmt::format("answer {}: {}", number + 1, difference) : difference;
}

std::string difference_of_conversation(const Json& file) {
  const Json *const messages = find(file, "messages"), *const receipts = find(file, "receipts");
  if (messages == nullptr || !messages->is_array() || receipts == nullptr || !receipts->is_array()) return {};
  for (std::size_t i = 0; i < receipts->size(); ++i) {
    const Json *const number = find((*receipts)[i], "message"), *const receipt = find((*receipts)[i], "receipt");
    const auto at = number == nullptr ? std::nullopt : as_int(*number);
    if (!at || receipt == nullptr || *at < 0 || static_cast<std::uint64_t>(*at) >= messages->size()) continue;
    Shown shown;
    append((*messages)[static_cast<std::size_t>(*at)], "content", shown.text);
    if (auto difference = difference_of(shown, text_of(*receipt)); !difference.empty())
      return numbered(i, receipts->size(), std::move(difference));
  }
  return {};
}

}  // namespace

Result<std::string> shown_difference(const std::string& path) {
  LOOM_TRY_VOID(read_receipts(path));
  LOOM_TRY(const std::string text, read_text_file(path, kReceiptLimits.max_bytes));
  std::map<std::int64_t, Shown> answers;
  if (const auto json = parse_json(text, kReceiptLimits)) {
    if (find(*json, "loom_receipt") != nullptr) return std::string();
    if (find(*json, "loom_chat") != nullptr) return difference_of_conversation(*json);
    add_choices(*json, answers);
  } else {
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (!line.starts_with("data:")) continue;
      if (const auto event = parse_json(line.substr(std::string_view("data:").size()), kReceiptLimits))
        add_choices(*event, answers);
    }
  }
  for (const auto& [index, shown] : answers) {
    if (shown.receipt.is_null()) continue;
    if (auto difference = difference_of(shown, text_of(shown.receipt)); !difference.empty())
      return numbered(static_cast<std::size_t>(index), answers.size(), std::move(difference));
  }
  return std::string();
}

}  // namespace loom
