#include "server/tools.h"

#include <algorithm>
#include <set>

#include "core/config_reader.h"
#include "core/sha256.h"

namespace loom::server {
namespace {

constexpr std::size_t kMostTools = 128, kLongestName = 64;

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

Result<Function> read_function(const Json& json, const Steps& place, bool is_flat) {
  Function out;
  std::string type;
  out.parameters = nullptr;
  LOOM_TRY_VOID(read_config(
      json,
      [&](ConfigVisitor& v) {
        if (is_flat) v("type", type);
        v("name", out.name);
        v("description", out.description);
        v.json("parameters", out.parameters);
        v("strict", out.strict);
      },
      place));
  const std::string at = pointer_text(place);
  if (!is_name(out.name))
    return fail(Code::InvalidConfig, "{}/name: expected 1 to {} letters, digits, _ - and ., got {}", at, kLongestName,
                shown(out.name));
  if (out.parameters.is_null())
    out.parameters = Json{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  if (!out.parameters.is_object())
    return fail(Code::InvalidConfig, "{}/parameters: {}", at, expected("a JSON Schema", out.parameters));
  if (const Json* const type = find(out.parameters, "type"); type != nullptr && *type != "object")
    return fail(Code::InvalidConfig, "{}/parameters/type: {}", at, expected("\"object\", which arguments are", *type));
  out.shown = Json::object();
  for (const auto& [key, value] : json.items())
    if (key != "type" && key != "strict") out.shown[key] = value;
  out.shown["parameters"] = out.parameters;
  return out;
}

// Members that are null are absent.
Json without_nulls(const Json& object) {
  if (!object.is_object()) return object;
  Json out = Json::object();
  for (const auto& [key, value] : object.items())
    if (!value.is_null()) out[key] = value;
  return out;
}

Result<Function> read_tool(const Json& given, std::size_t index, ToolFamily family) {
  const Steps place{"tools", std::to_string(index)};
  const Json* const type = find(given, "type");
  if (type == nullptr || as_string(*type) == nullptr)
    return fail(Code::InvalidConfig, "{}: expected {{\"type\": \"function\", ...}}, got {}", pointer_text(place),
                shown(given));
  if (*type != "function")
    return fail(Code::Unsupported, "{}/type: expected function, got {}", pointer_text(place), shown(*type));
  if (family == ToolFamily::Flat) return read_function(without_nulls(given), place, true);
  Json function;
  std::string read;
  LOOM_TRY_VOID(read_config(given, [&](ConfigVisitor& v) { v("type", read), v.json("function", function); }, place));
  if (!function.is_object())
    return fail(Code::InvalidConfig, "{}/function: {}", pointer_text(place), expected("an object", function));
  return read_function(without_nulls(function), {"tools", std::to_string(index), "function"}, false);
}

Result<void> read_choice(const Json& choice, ToolFamily family, Tools& to) {
  if (choice.is_null() || choice == "auto") return {};
  if (choice == "none") {
    to.choice = Tools::Choice::None;
    return {};
  }
  to.choice = Tools::Choice::Required;
  if (choice == "required") {
    if (!to.functions.empty()) return {};
    return fail(Code::InvalidConfig, "/tool_choice: required needs tools, and there are none");
  }
  const Json *const type = find(choice, "type"), *const function = find(choice, "function");
  const Json* const owner = family == ToolFamily::Flat ? &choice : function;
  const Json* const name = owner == nullptr ? nullptr : find(*owner, "name");
  if (type == nullptr || *type != "function" || name == nullptr || as_string(*name) == nullptr)
    return fail(Code::Unsupported, "/tool_choice: {}",
                expected("none, auto, required or {\"type\": \"function\", ...} with a name", choice));
  for (const Json* const object : {&choice, owner})
    for (const auto& [key, value] : object->items()) {
      const bool is_known = object == owner && key == "name";
      if (is_known || (object == &choice && (key == "type" || (owner == function && key == "function")))) continue;
      if (!value.is_null()) return fail(Code::UnknownKey, "/tool_choice: {} is not read, expected a name", shown(key));
    }
  to.named = *as_string(*name);
  if (std::ranges::find(to.functions, to.named, &Function::name) == to.functions.end())
    return fail(Code::InvalidConfig, "/tool_choice: no tool is called {}", shown(*name));
  return {};
}

}  // namespace

bool Tools::are_strict() const { return std::ranges::any_of(functions, &Function::strict); }

std::vector<Function> Tools::callable() const {
  std::vector<Function> out;
  for (const Function& function : functions)
    if (named.empty() || function.name == named) out.push_back(function);
  return out;
}

Result<Tools> read_tools(const Json& tools, const Json& choice, ToolFamily family) {
  Tools out;
  if (!tools.is_null() && (!tools.is_array() || tools.size() > kMostTools))
    return fail(Code::InvalidConfig, "/tools: expected a list of at most {} tools, got {}", kMostTools, shown(tools));
  std::set<std::string> names;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    LOOM_TRY(Function function, read_tool(tools[i], i, family));
    if (!names.insert(function.name).second)
      return fail(Code::InvalidConfig, "/tools/{}: a tool before has the name {} too", i, function.name);
    if (out.list.is_null()) out.list = Json::array();
    out.list.push_back(Json{{"type", "function"}, {"function", function.shown}});
    out.functions.push_back(std::move(function));
  }
  LOOM_TRY_VOID(read_choice(choice, family, out));
  return out;
}

Result<void> check_calls(const Json& messages) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json& message = messages[i];
    if (const Json* const calls = find(message, "tool_calls")) {
      if (message["role"] != "assistant")
        return fail(Code::CorruptData, "/messages/{}/tool_calls: only an assistant calls functions", i);
      for (std::size_t k = 0; k < calls->size(); ++k) {
        const Json *const id = find((*calls)[k], "id"), *const type = find((*calls)[k], "type");
        if (id == nullptr || as_string(*id) == nullptr || as_string(*id)->empty())
          return fail(Code::CorruptData, "/messages/{}/tool_calls/{}: expected an id", i, k);
        if (type != nullptr && *type != "function")
          return fail(Code::Unsupported, "/messages/{}/tool_calls/{}/type: only functions are called, got {}", i, k,
                      shown(*type));
        ids.insert(*as_string(*id));
      }
    }
    if (message["role"] != "tool") continue;
    const Json* const id = find(message, "tool_call_id");
    if (id == nullptr || as_string(*id) == nullptr)
      return fail(Code::CorruptData, "/messages/{}: a tool's message needs tool_call_id, the id of the call", i);
    if (!ids.contains(*as_string(*id)))
      return fail(Code::CorruptData, "/messages/{}/tool_call_id: no call before has the id {}", i, shown(*id));
  }
  return {};
}

std::string call_id(std::string_view seed, std::size_t number, std::string_view name, std::string_view arguments) {
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
  constexpr std::size_t kLength = 9;
  Sha256 hash;
  const std::string text = fmt::format("{}\n{}\n{}\n{}", seed, number, name, arguments);
  hash.update(std::as_bytes(std::span(text)));
  const Digest digest = hash.finish();
  std::string out;
  for (std::size_t i = 0; i < kLength; ++i) out += kLetters[static_cast<std::size_t>(digest[i]) % kLetters.size()];
  return out;
}

}  // namespace loom::server
