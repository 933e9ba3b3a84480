#include "server/call_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/json.h"

namespace loom::server {
namespace {

constexpr std::string_view kBlanks = " \n\r\t";

// How many bytes at the end of the text may be the beginning of the word.
std::size_t overlap(std::string_view text, std::string_view word) {
  for (std::size_t n = std::min(text.size(), word.size()); n > 0; --n)
    if (text.ends_with(word.substr(0, n))) return n;
  return 0;
}

// Arguments as the text of an object; models also write them as a text that holds one.
std::optional<std::string> arguments_of(const Json& call) {
  const Json* arguments = find(call, "arguments");
  if (arguments == nullptr) arguments = find(call, "parameters");
  if (arguments == nullptr) return "{}";
  if (const std::string* text = as_string(*arguments)) {
    const auto parsed = parse_json(*text);
    return parsed && parsed->is_object() ? std::optional(dump_json(*parsed)) : std::nullopt;
  }
  return arguments->is_object() ? std::optional(dump_json(*arguments)) : std::nullopt;
}

}  // namespace

CallReader::CallReader(CallForm form, std::vector<std::string> names, std::size_t most)
    : form_(std::move(form)),
      names_(std::move(names)),
      most_(most),
      state_(form_.marker.empty() ? State::Start : State::Text) {}

CallReader::Found CallReader::push(std::string_view text) {
  Found found;
  held_ += text;
  run(found, false);
  return found;
}

CallReader::Found CallReader::finish() {
  Found found;
  run(found, true);
  if (state_ == State::Call) give_up(found);
  run(found, true);
  found.text += std::exchange(held_, {});
  return found;
}

void CallReader::run(Found& found, bool is_last) {
  for (bool goes_on = true; goes_on;) switch (state_) {
      case State::Start: goes_on = read_start(found, is_last); break;
      case State::Text: goes_on = read_text(found, is_last); break;
      case State::Call: goes_on = read_call(found); break;
      case State::After: goes_on = read_after(is_last); break;
      case State::Plain:
        found.text += std::exchange(held_, {});
        goes_on = false;
        break;
    }
}

bool CallReader::is_offered(std::string_view name) const { return std::ranges::find(names_, name) != names_.end(); }

std::size_t CallReader::skip(std::size_t at, std::string_view bytes) const {
  const std::size_t next = held_.find_first_not_of(bytes, at);
  return next == held_.npos ? held_.size() : next;
}

void CallReader::begin_call(std::size_t cursor) {
  state_ = State::Call, cursor_ = cursor, scanned_ = 0, has_object_ = false;
}

// Without a marker, calls are the whole answer.
bool CallReader::read_start(Found& found, bool is_last) {
  const std::size_t at = skip(0, kBlanks);
  if (at == held_.size()) {
    if (is_last) found.text += std::exchange(held_, {});
    return false;
  }
  if (held_[at] == '{' || held_[at] == '[')
    begin_call(0);
  else
    state_ = State::Plain;
  return true;
}

bool CallReader::read_text(Found& found, bool is_last) {
  const std::size_t at = held_.find(form_.marker);
  if (at != held_.npos) {
    found.text += held_.substr(0, at);
    held_.erase(0, at);
    begin_call(form_.marker.size());
    return true;
  }
  const std::size_t kept = is_last ? 0 : overlap(held_, form_.marker);
  found.text += held_.substr(0, held_.size() - kept);
  held_.erase(0, held_.size() - kept);
  return false;
}

// Gives the beginning of a call as text, up to where the next one may begin.
void CallReader::give_up(Found& found) {
  const std::size_t length = form_.marker.empty() ? held_.size() : std::min(held_.size(), form_.marker.size());
  found.text += held_.substr(0, length);
  held_.erase(0, length);
  state_ = form_.marker.empty() ? State::Plain : State::Text;
}

// Finds the end of the object that begins at `begin`.
CallReader::Reading CallReader::take_object(std::size_t begin) {
  if (!has_object_) {
    if (held_[begin] != '{') return Reading::Bad;
    has_object_ = true, object_ = scanned_ = begin, depth_ = 0, in_text_ = is_escaped_ = false;
  }
  for (; scanned_ < held_.size(); ++scanned_) {
    const char c = held_[scanned_];
    if (in_text_) {
      if (is_escaped_)
        is_escaped_ = false;
      else if (c == '\\')
        is_escaped_ = true;
      else if (c == '"')
        in_text_ = false;
      continue;
    }
    if (c == '"') in_text_ = true;
    if (c == '{') ++depth_;
    if (c != '}' || --depth_ != 0) continue;
    end_ = scanned_ + 1;
    return Reading::Done;
  }
  return Reading::More;
}

CallReader::Reading CallReader::read_json(ToolCall& call) {
  const std::size_t begin = skip(cursor_, " \n\r\t[,;");
  if (begin == held_.size()) return Reading::More;
  const Reading reading = take_object(begin);
  if (reading != Reading::Done) return reading;
  const auto json = parse_json(std::string_view(held_).substr(object_, end_ - object_));
  const Json* const name = json ? find(*json, "name") : nullptr;
  if (name == nullptr || as_string(*name) == nullptr || !is_offered(*as_string(*name))) return Reading::Bad;
  auto arguments = arguments_of(*json);
  if (!arguments) return Reading::Bad;
  call = {*as_string(*name), *std::move(arguments)};
  return Reading::Done;
}

CallReader::Reading CallReader::read_named(ToolCall& call) {
  const std::string_view middle = trimmed(form_.middle);
  const std::size_t at = held_.find(middle, cursor_);
  if (at == held_.npos) {
    std::size_t longest = middle.size() + kBlanks.size();
    for (const std::string& name : names_) longest = std::max(longest, name.size() + middle.size() + kBlanks.size());
    return held_.size() - cursor_ > longest ? Reading::Bad : Reading::More;
  }
  const std::string name(trimmed(std::string_view(held_).substr(cursor_, at - cursor_)));
  if (!is_offered(name)) return Reading::Bad;
  const std::size_t begin = skip(at + middle.size(), kBlanks);
  if (begin == held_.size()) return Reading::More;
  const Reading reading = take_object(begin);
  if (reading != Reading::Done) return reading;
  const auto json = parse_json(std::string_view(held_).substr(object_, end_ - object_));
  if (!json) return Reading::Bad;
  call = {name, dump_json(*json)};
  return Reading::Done;
}

// Texts stand in tags as they are, also those that look like JSON.
Json CallReader::value_of(const std::string& function, const std::string& key, std::string_view text) const {
  if (form_.tagged.on_lines) {  // the line breaks around it belong to the tags
    if (text.starts_with('\n')) text.remove_prefix(1);
    if (text.ends_with('\n')) text.remove_suffix(1);
  }
  const auto schema = schemas_.find(function);
  const Json* const properties = schema == schemas_.end() ? nullptr : find(schema->second, "properties");
  const Json* const property = properties == nullptr ? nullptr : find(*properties, key);
  const Json* const type = property == nullptr ? nullptr : find(*property, "type");
  if (type != nullptr && *type == "string") return std::string(text);
  auto json = parse_json(trimmed(text));
  return json ? *std::move(json) : Json(std::string(text));
}

// A call is read when a tag that may end it has come.
CallReader::Reading CallReader::read_tagged(ToolCall& call) {
  const TaggedArguments& tags = form_.tagged;
  const std::size_t last = held_.find(tags.end, std::max(scanned_, cursor_));
  if (last == held_.npos) {
    scanned_ = held_.size() - std::min(held_.size(), tags.end.size());
    return Reading::More;
  }
  scanned_ = last + 1;
  std::size_t at = cursor_;
  const auto take = [&](std::string_view word) {
    at = skip(at, kBlanks);
    if (!std::string_view(held_).substr(at).starts_with(word)) return false;
    at += word.size();
    return true;
  };
  if (!take(tags.prefix)) return Reading::Bad;
  const std::size_t name_begin = skip(at, kBlanks);
  at = std::min(held_.find_first_of(" \n\r\t<>\"'", name_begin), held_.size());
  call.name = held_.substr(name_begin, at - name_begin);
  if (!is_offered(call.name) || !take(form_.middle)) return Reading::Bad;
  Json arguments = Json::object();
  while (!take(tags.end)) {
    if (at == held_.size()) return Reading::More;  // the end was a part of a value
    if (!take(tags.open)) return Reading::Bad;
    const std::size_t key_end = held_.find(tags.middle[0], at);
    if (key_end == held_.npos) return Reading::Bad;
    const std::string key(trimmed(std::string_view(held_).substr(at, key_end - at)));
    at = key_end;
    for (const std::string& part : tags.middle)
      if (!take(part)) return Reading::Bad;
    const std::size_t value_end = held_.find(tags.close, at);
    if (value_end == held_.npos) return Reading::More;
    arguments[key] = value_of(call.name, key, std::string_view(held_).substr(at, value_end - at));
    at = value_end + tags.close.size();
  }
  call.arguments = dump_json(arguments);
  end_ = at;
  return Reading::Done;
}

bool CallReader::read_call(Found& found) {
  ToolCall call;
  const bool is_tagged = form_.kind == CallForm::Kind::Tagged;
  const Reading reading = is_tagged ? read_tagged(call) : form_.is_json() ? read_json(call) : read_named(call);
  if (reading == Reading::More) return false;
  if (reading == Reading::Bad) {
    give_up(found);
    return true;
  }
  if (count_++ < most_) found.calls.push_back(std::move(call));
  held_.erase(0, end_);
  state_ = State::After;
  return true;
}

// Between two calls, or after the last one.
bool CallReader::read_after(bool is_last) {
  const std::size_t at = skip(0, form_.is_json() ? " \n\r\t],;" : kBlanks);
  const std::string_view rest = std::string_view(held_).substr(at);
  if (!form_.ending.empty() && rest.starts_with(form_.ending)) {
    held_.erase(0, at + form_.ending.size());
    return true;
  }
  if (!form_.marker.empty() && rest.starts_with(form_.marker)) {
    held_.erase(0, at);
    begin_call(form_.marker.size());
    return true;
  }
  const std::string& prefix = form_.tagged.prefix;
  if ((form_.is_json() && rest.starts_with('{')) || (!prefix.empty() && rest.starts_with(prefix))) {
    held_.erase(0, at);
    begin_call(0);
    return true;
  }
  const bool may_go_on =
      rest.empty() || form_.ending.starts_with(rest) || form_.marker.starts_with(rest) || prefix.starts_with(rest);
  if (!may_go_on) {
    state_ = form_.marker.empty() ? State::Plain : State::Text;
    held_.erase(0, at);
    return true;
  }
  if (is_last) held_.clear();
  return false;
}

}  // namespace loom::server
