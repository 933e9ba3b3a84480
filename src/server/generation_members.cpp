#include "server/generation_members.h"

#include <algorithm>
#include <charconv>

namespace loom::server {
namespace {

constexpr std::size_t kMostStops = 16;

Result<void> read_logit_bias(const Json& bias, std::vector<std::pair<std::int32_t, float>>& to) {
  if (bias.is_null()) return {};
  if (!bias.is_object()) return fail(Code::InvalidConfig, "/logit_bias: {}", expected("an object", bias));
  for (const auto& [key, value] : bias.items()) {
    std::int32_t id = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    // "05" and "-0" would be second names of ids.
    if (error != std::errc{} || end != key.data() + key.size() || std::to_string(id) != key)
      return fail(Code::InvalidConfig, "/logit_bias/{}: expected a token's id as key", key);
    const auto number = as_number(value);
    constexpr double kMost = 100;
    if (!number || *number < -kMost || *number > kMost)
      return fail(Code::InvalidConfig, "/logit_bias/{}: {}", key, expected("a number from -100 to 100", value));
    to.emplace_back(id, static_cast<float>(*number));
  }
  return {};
}

using MadeGrammar = Result<std::shared_ptr<const Grammar>>;

// With the member that the grammar came from in front of what is wrong with it.
MadeGrammar from_member(std::string_view member, MadeGrammar made) {
  if (made) return made;
  const Error& error = made.error();
  return fail(error.code == Code::LimitExceeded ? error.code : Code::InvalidConfig, "/{}: {}", member, error.text());
}

MadeGrammar schema_from(std::string_view member, const Json& schema) {
  if (const std::string* text = as_string(schema)) return from_member(member, Grammar::from_schema(*text));
  return from_member(member, Grammar::from_parsed_schema(schema));
}

MadeGrammar choices_from(std::string_view member, const Json& list) {
  std::vector<std::string> choices;
  const bool is_list = list.is_array() && std::ranges::all_of(list, [](const Json& each) { return each.is_string(); });
  if (!is_list) return fail(Code::InvalidConfig, "/{}: {}", member, expected("a list of texts", list));
  for (const Json& each : list) choices.push_back(*as_string(each));
  return from_member(member, Grammar::from_choices(choices));
}

using FromText = MadeGrammar (*)(std::string_view text);
MadeGrammar text_form_from(std::string_view member, const Json& given, FromText compile) {
  const std::string* const text = as_string(given);
  if (text == nullptr || text->empty())
    return fail(Code::InvalidConfig, "/{}: {}", member, expected("a text that is not empty", given));
  return from_member(member, compile(*text));
}

// Refuses members of a form that have no meaning beside its type.
Result<void> check_form(std::string_view member, const Json& format, const Steps& known) {
  for (const auto& [key, value] : format.items())
    if (!value.is_null() && std::ranges::find(known, key) == known.end())
      return fail(Code::UnknownKey, "/{}/{}: has no meaning beside this type, expected {}", member, printable(key),
                  fmt::join(known, ", "));
  return {};
}

// Null for {"type": "text"}. The schema is in "json_schema" or, as responses have it, beside the type. That of
// "json_object" may stand beside the type, as llama.cpp and Together have it.
MadeGrammar read_format(std::string_view member, const Json& format) {
  const Json* const type = find(format, "type");
  if (type != nullptr && *type == "text") {
    LOOM_TRY_VOID(check_form(member, format, {"type"}));
    return std::shared_ptr<const Grammar>();
  }
  if (type != nullptr && *type == "json_object") {
    LOOM_TRY_VOID(check_form(member, format, {"type", "schema"}));
    const Json* const schema = find(format, "schema");
    if (schema == nullptr || schema->is_null()) return Grammar::json_object();
    return schema_from(fmt::format("{}/schema", member), *schema);
  }
  if (type == nullptr || *type != "json_schema")
    return fail(Code::InvalidConfig, "/{}: {}", member,
                expected(R"({"type": "text"}, "json_object" or "json_schema")", format));
  const bool is_flat = member != "response_format";
  if (!is_flat) LOOM_TRY_VOID(check_form(member, format, {"type", "json_schema"}));
  const Json* const inner = is_flat ? &format : find(format, "json_schema");
  const Json* const schema = inner == nullptr ? nullptr : find(*inner, "schema");
  if (schema == nullptr)
    return fail(Code::InvalidConfig, R"(/{}: expected {}{{"name": ..., "schema": ...}})", member,
                is_flat ? "" : R"("json_schema": )");
  Steps known{"name", "description", "schema", "strict"};
  if (is_flat) known.emplace_back("type");
  LOOM_TRY_VOID(check_form(is_flat ? member : "response_format/json_schema", *inner, known));
  return schema_from(fmt::format("{}{}/schema", member, is_flat ? "" : "/json_schema"), *schema);
}

}  // namespace

Result<std::shared_ptr<const Grammar>> from_schema_member(std::string_view member, const Json& schema) {
  return schema_from(member, schema);
}

Result<void> read_stop(const Json& stop, std::vector<std::string>& to) {
  const Json list = stop.is_string() ? Json::array({stop}) : stop;
  if (list.is_null()) return {};
  if (!list.is_array() || list.size() > kMostStops)
    return fail(Code::InvalidConfig, "/stop: expected a text or a list of at most {} texts, got {}", kMostStops,
                shown(stop));
  for (const Json& each : list) {
    const std::string* text = as_string(each);
    if (text == nullptr || text->empty())
      return fail(Code::InvalidConfig, "/stop: expected texts that are not empty, got {}", shown(each));
    to.push_back(*text);
  }
  return {};
}

// The seed's 64 bits: clients send negative ones too, and digits where their numbers have 53 bits.
Result<void> read_seed(const Json& seed, std::uint64_t& to) {
  if (seed.is_null()) return {};
  if (const auto* whole = seed.get_ptr<const Json::number_unsigned_t*>()) {
    to = *whole;
    return {};
  }
  if (const std::string* text = as_string(seed)) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), to);
    if (error == std::errc{} && end == text->data() + text->size()) return {};
  } else if (const auto number = as_int(seed)) {
    to = static_cast<std::uint64_t>(*number);
    return {};
  }
  return fail(Code::InvalidConfig, "/seed: {}",
              expected("an integer from 0 to 18446744073709551615, or its digits as a text", seed));
}

Result<void> read_answer_members(const AnswerFields& fields, GenerationOptions& options) {
  options.sampling = fields.sampling, options.ignore_eos = fields.ignore_eos;
  options.sampling.top_k = static_cast<int>(fields.top_k);
  LOOM_TRY_VOID(read_stop(fields.stop, options.stop));
  LOOM_TRY_VOID(read_logit_bias(fields.logit_bias, options.sampling.logit_bias));
  return read_seed(fields.seed, options.sampling.seed);
}

Result<std::shared_ptr<const Grammar>> read_grammar(const AnswerFields& fields, std::string_view format_member,
                                                    const Json& format) {
  std::vector<std::pair<std::string_view, MadeGrammar>> made;
  const auto add = [&made](std::string_view member, MadeGrammar grammar) {
    made.emplace_back(member, std::move(grammar));
  };
  if (!format.is_null()) {
    auto grammar = read_format(format_member, format);
    if (!grammar || *grammar) add(format_member, std::move(grammar));
  }
  if (!fields.guided_json.is_null()) add("guided_json", schema_from("guided_json", fields.guided_json));
  if (!fields.guided_choice.is_null()) add("guided_choice", choices_from("guided_choice", fields.guided_choice));
  if (!fields.guided_regex.is_null())
    add("guided_regex", text_form_from("guided_regex", fields.guided_regex, Grammar::from_regex));
  if (!fields.guided_grammar.is_null())
    add("guided_grammar", text_form_from("guided_grammar", fields.guided_grammar, Grammar::from_gbnf));
  if (!fields.structured_outputs.is_null()) {
    Json json, choice, regex, grammar;
    LOOM_TRY_VOID(read_config(fields.structured_outputs,
                              [&](ConfigVisitor& v) {
                                v.json("json", json);
                                v.json("choice", choice);
                                v.json("regex", regex);
                                v.json("grammar", grammar);
                              },
                              {"structured_outputs"}));
    if (!json.is_null()) add("structured_outputs", schema_from("structured_outputs/json", json));
    if (!choice.is_null()) add("structured_outputs", choices_from("structured_outputs/choice", choice));
    if (!regex.is_null())
      add("structured_outputs", text_form_from("structured_outputs/regex", regex, Grammar::from_regex));
    if (!grammar.is_null())
      add("structured_outputs", text_form_from("structured_outputs/grammar", grammar, Grammar::from_gbnf));
    if (json.is_null() && choice.is_null() && regex.is_null() && grammar.is_null())
      return fail(Code::InvalidConfig, "/structured_outputs: {}",
                  expected("json, choice, regex or grammar", fields.structured_outputs));
  }
  if (made.empty()) return std::shared_ptr<const Grammar>();
  if (made.size() > 1)
    return fail(Code::InvalidConfig, "/{}: the form of the answer is given by /{} already: expected one of them",
                made[1].first, made[0].first);
  return std::move(made[0].second);
}

}  // namespace loom::server
