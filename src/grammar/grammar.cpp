#include "grammar/grammar.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/config_reader.h"
#include "core/config_writer.h"
#include "core/json.h"
#include "core/nearest.h"
#include "grammar/automaton.h"
#include "grammar/frontends.h"
#include "grammar/masks.h"
#include "grammar/runner.h"
#include "grammar/tagged_calls.h"
#include "text/unicode/utf8.h"

namespace loom {

using grammar::Automaton;
using grammar::Rules;
using grammar::Runner;

namespace {

using grammar::CharSet;
using grammar::ExprId;

constexpr JsonLimits kSchemaLimits{.max_bytes = std::size_t{16} << 20, .max_depth = 128};

std::vector<std::uint32_t> code_points(std::string_view text) {
  std::vector<std::uint32_t> out;
  for (std::size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(text.data() + at, text.data() + text.size());
    out.push_back(d.code_point);
    at += d.length;
  }
  return out;
}

// Text in which the trigger does not occur, or, where it `ends`, occurs once, at the end (Knuth, Morris, Pratt 1977).
ExprId text_without(Rules& rules, std::string_view trigger, bool ends) {
  const std::vector<std::uint32_t> word = code_points(trigger);
  const std::size_t count = word.size();
  CharSet alphabet;
  for (const std::uint32_t c : word) alphabet.push_back({c, c});
  alphabet = grammar::normalized(alphabet);
  // How much of the trigger stands at the end of its first `matched` characters and c.
  const auto next = [&](std::size_t matched, std::uint32_t c) {
    for (std::size_t length = matched + 1; length > 0; --length)
      if (word[length - 1] == c && std::equal(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(length) - 1,
                                              word.begin() + static_cast<std::ptrdiff_t>(matched + 1 - length)))
        return length;
    return std::size_t{0};
  };
  grammar::Machine machine;
  machine.states.resize(count + 1);
  machine.states[count].accepts = ends;
  for (std::size_t state = 0; state < count; ++state) {
    machine.states[state].accepts = !ends;
    auto& edges = machine.states[state].edges;
    for (const grammar::CharRange& range : alphabet)
      for (std::uint32_t c = range.first; c <= range.last; ++c) {
        const std::size_t to = next(state, c);
        if (to < count || ends) edges.push_back({rules.chars({{c, c}}), static_cast<std::uint32_t>(to)});
      }
    edges.push_back({rules.chars(grammar::complement(alphabet)), 0});
  }
  return rules.machine(std::move(machine));
}

// Any text that does not begin with a brace, after blanks.
ExprId text_without_brace(Rules& rules) {
  const CharSet blanks = grammar::normalized({{' ', ' '}, {'\n', '\n'}, {'\t', '\t'}, {'\r', '\r'}});
  CharSet not_first = blanks;
  not_first.push_back({'{', '{'});
  const ExprId rest = rules.repeat(rules.chars({{0, grammar::kLastCodePoint}}), 0);
  const ExprId begin = rules.chars(grammar::complement(grammar::normalized(not_first)));
  return rules.sequence({rules.repeat(rules.chars(blanks), 0), rules.optional(rules.sequence({begin, rest}))});
}

// The calls, in front of which free text may stand where the syntax says so.
template <class Syntax>
ExprId with_free_text(Rules& rules, const Syntax& syntax, ExprId calls) {
  if (!syntax.is_optional) return rules.sequence({rules.text(syntax.open), calls});
  if (syntax.trigger.empty())
    return rules.choice({text_without_brace(rules), rules.sequence({rules.text(syntax.open), calls})});
  const std::string_view rest = std::string_view(syntax.open).substr(syntax.trigger.size());
  return rules.choice({text_without(rules, syntax.trigger, false),
                       rules.sequence({text_without(rules, syntax.trigger, true), rules.text(rest), calls})});
}

}  // namespace

struct GrammarBuilder {
  static Result<std::shared_ptr<const Grammar>> build(const Rules& rules, grammar::RuleId root,
                                                      Grammar::Source source) {
    LOOM_TRY(Automaton automaton, Automaton::create(rules, root));
    return std::shared_ptr<const Grammar>(new Grammar(std::move(automaton), std::move(source)));
  }
};

Grammar::Grammar(Automaton automaton, Source source)
    : source_(std::move(source)), automaton_(std::make_unique<const Automaton>(std::move(automaton))) {}
Grammar::~Grammar() = default;

Result<std::shared_ptr<const Grammar>> Grammar::from_schema(std::string_view json_schema) {
  auto schema = parse_json(json_schema, kSchemaLimits);
  if (!schema) {
    Error error = std::move(schema).error();
    if (error.code == Code::CorruptData) error.code = Code::InvalidArgument;
    return at("the schema", std::move(error));
  }
  return from_parsed_schema(*schema);
}

Result<std::shared_ptr<const Grammar>> Grammar::from_parsed_schema(const Json& json_schema) {
  Rules rules;
  auto root = grammar::compile_schema(json_schema, rules);
  if (!root) return at("the schema", std::move(root).error());
  auto built = GrammarBuilder::build(rules, *root, {"schema", {dump_json(json_schema)}});
  if (!built) return at("the schema", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::from_gbnf(std::string_view text) {
  Rules rules;
  auto root = grammar::compile_gbnf(text, rules);
  if (!root) return at("the grammar", std::move(root).error());
  auto built = GrammarBuilder::build(rules, *root, {"grammar", {std::string(text)}});
  if (!built) return at("the grammar", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::from_regex(std::string_view pattern) {
  LOOM_TRY(const grammar::PatternMachine machine, grammar::compile_pattern(pattern, true));
  Rules rules;
  const grammar::RuleId root = rules.add_rule("the pattern");
  grammar::Machine out;
  for (const grammar::PatternMachine::State& state : machine.states) {
    grammar::Machine::State copy{.edges = {}, .accepts = state.accepts};
    for (const auto& [set, to] : state.edges) copy.edges.push_back({rules.chars(machine.sets[set]), to});
    out.states.push_back(std::move(copy));
  }
  rules.define(root, rules.machine(std::move(out)));
  auto built = GrammarBuilder::build(rules, root, {"regex", {std::string(pattern)}});
  if (!built) return at("the pattern", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::from_choices(std::span<const std::string> choices) {
  if (choices.empty()) return fail(Code::InvalidArgument, "no choices came, expected at least one text");
  Rules rules;
  const grammar::RuleId root = rules.add_rule("the choices");
  if (const auto found = std::ranges::find(choices, ""); found != choices.end())
    return fail(Code::InvalidArgument, "choice {} is empty, expected a text", found - choices.begin());
  rules.define(root, grammar::any_text(rules, {choices.begin(), choices.end()}));
  auto built = GrammarBuilder::build(rules, root, {"choices", {choices.begin(), choices.end()}});
  if (!built) return at("the choices", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::from_calls(const CallSyntax& syntax,
                                                           std::span<const CallGrammar> functions) {
  if (functions.empty()) return fail(Code::InvalidArgument, "no functions came, expected at least one");
  if (syntax.is_optional && !syntax.open.starts_with(syntax.trigger))
    return fail(Code::InvalidArgument, "the opening \"{}\" does not begin with the trigger", printable(syntax.open));
  Rules rules;
  const grammar::RuleId root = rules.add_rule("the calls"), call = rules.add_rule("a call");
  std::vector<ExprId> parts;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    auto schema = grammar::compile_schema(*functions[i].schema, rules);
    if (!schema) return at(fmt::format("function {}", i), std::move(schema).error());
    parts.push_back(rules.sequence({rules.text(functions[i].before), rules.rule(*schema)}));
  }
  rules.define(call, rules.choice(std::move(parts)));
  const ExprId one = rules.rule(call);
  const ExprId more = rules.repeat(rules.sequence({rules.text(syntax.between), one}), 0);
  const ExprId calls = rules.sequence({one, syntax.several ? more : rules.empty(), rules.text(syntax.close)});
  rules.define(root, with_free_text(rules, syntax, calls));
  auto built = GrammarBuilder::build(rules, root, source_of_calls(syntax, functions));
  if (!built) return at("the calls", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::json_object() { return from_schema(R"({"type":"object"})"); }

namespace {

// The members of the JSON object that describes calls, but the functions.
void call_fields(ConfigVisitor& visit, CallSyntax& syntax) {
  visit({"open"}, syntax.open);
  visit({"between"}, syntax.between);
  visit({"close"}, syntax.close);
  visit({"several"}, syntax.several);
  visit({"is_optional"}, syntax.is_optional);
  visit({"trigger"}, syntax.trigger);
}

// The value of an argument. Texts have no quotes, so only lists of them are held.
Result<ExprId> tagged_value(Rules& rules, const TaggedSyntax& syntax, const Json& root, const std::string& name,
                            const Json& schema) {
  const Json* const type = find(schema, "type");
  if (type == nullptr || *type != "string") {
    LOOM_TRY(const grammar::RuleId rule, grammar::compile_schema_part(root, schema, rules));
    return rules.rule(rule);
  }
  std::optional<std::vector<std::string>> texts;
  for (const auto& [key, value] : schema.items()) {
    constexpr std::string_view kNotes[] = {"type", "title", "description", "default", "examples", "$comment"};
    const bool is_list = key == "enum" || key == "const";
    if (std::ranges::find(kNotes, key) != std::end(kNotes) || std::string_view(key).starts_with("x-")) continue;
    if (!is_list || texts)
      return fail_at({"properties", name, key}, Code::InvalidArgument,
                     "a text in a tag can be held to one of enum and const alone");
    texts.emplace();
    for (const Json& each : key == "enum" ? value : Json::array({value})) {
      const std::string* const text = as_string(each);
      if (text == nullptr || text->empty() || text->find(syntax.value_end) != text->npos)
        return fail_at({"properties", name, key}, Code::InvalidArgument,
                       "expected texts that are not empty, without {}", printable(syntax.value_end));
      texts->push_back(*text);
    }
    if (texts->empty()) return fail_at({"properties", name, key}, Code::InvalidArgument, "expected at least one text");
  }
  return texts ? grammar::any_text(rules, *std::move(texts)) : text_without(rules, syntax.value_end, false);
}

// The part after the name: arguments in the order of the schema.
Result<ExprId> tagged_arguments(Rules& rules, const TaggedSyntax& syntax, const Json& schema) {
  constexpr std::string_view kKeys[] = {"type",        "properties", "required", "additionalProperties", "title",
                                        "description", "$defs",      "$schema",  "definitions",          "$comment"};
  for (const auto& [key, value] : schema.items())
    if (std::ranges::find(kKeys, key) == std::end(kKeys) && !std::string_view(key).starts_with("x-"))
      return fail_at({key}, Code::InvalidArgument, "this keyword is not supported for arguments in tags");
  const Json none = Json::object();
  const Json *const given = find(schema, "properties"), *const required = find(schema, "required");
  const Json& properties = given == nullptr ? none : *given;
  if (!properties.is_object()) return fail_at({"properties"}, Code::InvalidArgument, "expected an object of schemas");
  std::set<std::string> needed;
  if (required != nullptr && !required->is_array())
    return fail_at({"required"}, Code::InvalidArgument, "expected a list of names");
  for (const Json& name : required == nullptr ? Json::array() : *required) {
    if (as_string(name) == nullptr || find(properties, *as_string(name)) == nullptr)
      return fail_at({"required"}, Code::InvalidArgument, "expected names of properties, got {}", dump_json(name));
    needed.insert(*as_string(name));
  }
  const auto count = static_cast<std::uint32_t>(properties.size());
  const auto state_of = [count](std::uint32_t index, bool is_first) { return is_first ? index : count + 1 + index; };
  const std::uint32_t end = 2 * count + 2;
  grammar::Machine machine;
  machine.states.resize(end + 1);
  machine.states[end].accepts = true;
  std::uint32_t i = 0;
  for (const auto& [name, property] : properties.items()) {
    LOOM_TRY(const ExprId value, tagged_value(rules, syntax, schema, name, property));
    for (const bool is_first : {true, false}) {
      auto& edges = machine.states[state_of(i, is_first)].edges;
      const std::string before = (is_first ? syntax.first : syntax.next) + name + syntax.inside;
      edges.push_back({rules.sequence({rules.text(before), value}), state_of(i + 1, false)});
      if (!needed.contains(name)) edges.push_back({rules.empty(), state_of(i + 1, is_first)});
    }
    ++i;
  }
  machine.states[state_of(count, true)].edges.push_back({rules.text(syntax.none), end});
  machine.states[state_of(count, false)].edges.push_back({rules.text(syntax.close), end});
  return rules.machine(std::move(machine));
}

void tagged_fields(ConfigVisitor& visit, TaggedSyntax& syntax) {
  visit({"open"}, syntax.open);
  visit({"first"}, syntax.first);
  visit({"inside"}, syntax.inside);
  visit({"next"}, syntax.next);
  visit({"close"}, syntax.close);
  visit({"none"}, syntax.none);
  visit({"value_end"}, syntax.value_end);
  visit({"is_optional"}, syntax.is_optional);
  visit({"trigger"}, syntax.trigger);
}

Result<std::shared_ptr<const Grammar>> tagged_calls_from(const Json& json) {
  TaggedSyntax syntax;
  Json functions;
  auto read = read_config(json, [&](ConfigVisitor& v) { tagged_fields(v, syntax), v.json("functions", functions); });
  if (!read) return at("the calls", std::move(read).error());
  std::vector<TaggedCall> calls;
  for (std::size_t i = 0; functions.is_array() && i < functions.size(); ++i) {
    const Json *const name = find(functions[i], "name"), *const schema = find(functions[i], "schema");
    if (name == nullptr || as_string(*name) == nullptr || schema == nullptr)
      return fail(Code::InvalidArgument, "the calls: /functions/{}: expected an object with name and schema", i);
    calls.push_back({*as_string(*name), schema});
  }
  return tagged_call_grammar(syntax, calls);
}

Result<std::shared_ptr<const Grammar>> calls_from(std::string_view text) {
  CallSyntax syntax;
  Json functions;
  auto json = parse_json(text, kSchemaLimits);
  if (!json) return at("the calls", std::move(json).error());
  if (find(*json, "value_end") != nullptr) return tagged_calls_from(*json);
  auto read = read_config(*json, [&](ConfigVisitor& v) { call_fields(v, syntax), v.json("functions", functions); });
  if (!read) return at("the calls", std::move(read).error());
  std::vector<CallGrammar> calls;
  for (std::size_t i = 0; functions.is_array() && i < functions.size(); ++i) {
    const Json *const before = find(functions[i], "before"), *const schema = find(functions[i], "schema");
    if (before == nullptr || as_string(*before) == nullptr || schema == nullptr)
      return fail(Code::InvalidArgument, "the calls: /functions/{}: expected an object with before and schema", i);
    calls.push_back({*as_string(*before), schema});
  }
  return Grammar::from_calls(syntax, calls);
}

}  // namespace

Grammar::Source Grammar::source_of_calls(const CallSyntax& syntax, std::span<const CallGrammar> functions) {
  Json list = Json::array();
  for (const CallGrammar& each : functions) list.push_back(Json{{"before", each.before}, {"schema", *each.schema}});
  CallSyntax copy = syntax;
  Json json = written_config([&](ConfigVisitor& visit) { call_fields(visit, copy); });
  json["functions"] = std::move(list);
  return {"calls", {dump_json(json)}};
}

Result<std::shared_ptr<const Grammar>> tagged_call_grammar(const TaggedSyntax& syntax,
                                                           std::span<const TaggedCall> functions) {
  if (functions.empty()) return fail(Code::InvalidArgument, "no functions came, expected at least one");
  if (syntax.value_end.empty()) return fail(Code::InvalidArgument, "the tag that ends a value is empty");
  if (syntax.is_optional && (syntax.trigger.empty() || !syntax.open.starts_with(syntax.trigger)))
    return fail(Code::InvalidArgument, "the opening \"{}\" does not begin with the trigger", printable(syntax.open));
  Rules rules;
  const grammar::RuleId root = rules.add_rule("the calls");
  std::vector<ExprId> ways;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    auto arguments = tagged_arguments(rules, syntax, *functions[i].schema);
    if (!arguments) return at(fmt::format("function {}", i), std::move(arguments).error());
    ways.push_back(rules.sequence({rules.text(functions[i].name), *arguments}));
  }
  rules.define(root, with_free_text(rules, syntax, rules.choice(std::move(ways))));
  auto built = GrammarBuilder::build(rules, root, source_of_tagged_calls(syntax, functions));
  if (!built) return at("the calls", std::move(built).error());
  return built;
}

Grammar::Source source_of_tagged_calls(const TaggedSyntax& syntax, std::span<const TaggedCall> functions) {
  Json list = Json::array();
  for (const TaggedCall& each : functions) list.push_back(Json{{"name", each.name}, {"schema", *each.schema}});
  TaggedSyntax copy = syntax;
  Json json = written_config([&](ConfigVisitor& visit) { tagged_fields(visit, copy); });
  json["functions"] = std::move(list);
  return {"calls", {dump_json(json)}};
}

Result<std::shared_ptr<const Grammar>> Grammar::from_source(const Source& source) {
  if (source.kind == "choices") return from_choices(source.texts);
  if (source.texts.size() != 1)
    return fail(Code::InvalidArgument, "{} texts of a form of kind {}, expected 1", source.texts.size(), source.kind);
  if (source.kind == "schema") return from_schema(source.texts[0]);
  if (source.kind == "grammar") return from_gbnf(source.texts[0]);
  if (source.kind == "regex") return from_regex(source.texts[0]);
  if (source.kind == "calls") return calls_from(source.texts[0]);
  return fail(Code::InvalidArgument, "{} is no kind of form, expected {}", source.kind, fmt::join(kKinds, ", "));
}

Result<bool> Grammar::matches(std::string_view text) const {
  Runner runner(*automaton_);
  LOOM_TRY(grammar::StateId state, runner.start());
  for (const char c : text) {
    if (runner.is_nearly_full()) state = runner.clear(state);
    runner.begin_work();
    LOOM_TRY(state, runner.next(state, static_cast<std::uint8_t>(c)));
    if (state == Runner::kDead) return false;
  }
  return runner.accepts(state);
}

std::unique_ptr<grammar::Masks> Grammar::take_masks(const std::shared_ptr<const TokenTrie>& trie,
                                                    std::span<const std::int32_t> ends, std::size_t vocab_size) const {
  {
    const Mutex::Guard guard(mutex_);
    for (std::size_t i = kept_.size(); i-- > 0;) {
      if (!kept_[i]->is_for(trie, ends, vocab_size)) continue;
      std::unique_ptr<grammar::Masks> out = std::move(kept_[i]);
      kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(i));
      return out;
    }
  }
  return std::make_unique<grammar::Masks>(*automaton_, trie, ends, vocab_size);
}

void Grammar::keep_masks(std::unique_ptr<grammar::Masks> masks) const {
  if (!masks->is_small()) return;
  std::unique_ptr<grammar::Masks> oldest;  // freed outside of the lock
  const Mutex::Guard guard(mutex_);
  kept_.push_back(std::move(masks));
  if (kept_.size() <= kMostKept) return;
  oldest = std::move(kept_.front());
  kept_.erase(kept_.begin());
}

GrammarState::GrammarState() = default;
GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(GrammarState&& other) noexcept {
  std::swap(grammar_, other.grammar_);
  std::swap(trie_, other.trie_);
  std::swap(masks_, other.masks_);
  state_ = other.state_, is_first_ = other.is_first_;
  return *this;
}
GrammarState::~GrammarState() {
  if (masks_) grammar_->keep_masks(std::move(masks_));
}

Result<GrammarState> GrammarState::create(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
                                          std::span<const std::int32_t> ends, std::size_t vocab_size) {
  GrammarState out;
  out.masks_ = grammar->take_masks(trie, ends, vocab_size);
  out.grammar_ = std::move(grammar), out.trie_ = std::move(trie);
  out.masks_->runner().begin_work();
  LOOM_TRY(out.state_, out.masks_->runner().start());
  return out;
}

bool GrammarState::is_complete() const { return masks_->runner().accepts(state_); }

Result<TokenMask> GrammarState::mask() { return masks_->at(*trie_, state_, is_first_); }

Result<void> GrammarState::advance(std::int32_t token) {
  const std::string_view bytes = (is_first_ ? trie_->first() : trie_->later()).bytes_of(token);
  Runner& runner = masks_->runner();
  grammar::StateId state = bytes.empty() ? Runner::kDead : state_;
  runner.begin_work();
  for (std::size_t i = 0; i < bytes.size() && state != Runner::kDead; ++i) {
    LOOM_TRY(state, runner.next(state, static_cast<std::uint8_t>(bytes[i])));
  }
  if (state == Runner::kDead)
    return fail(Code::InvalidArgument, "token {} does not continue the text by the grammar", token);
  state_ = state;
  is_first_ = false;
  return {};
}

}  // namespace loom
