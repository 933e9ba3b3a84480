#include "grammar/grammar.h"

#include <algorithm>
#include <bit>

#include "core/json.h"
#include "core/nearest.h"
#include "grammar/automaton.h"
#include "grammar/frontends.h"
#include "grammar/runner.h"
#include "text/unicode/utf8.h"

namespace loom {

using grammar::Automaton;
using grammar::Rules;
using grammar::Runner;

namespace {

constexpr std::size_t kWordBits = 64;
// A quarter of the runner's bounds: a walk over the vocabulary begins with room for what it may add.
bool is_nearly_full(const Runner& runner) {
  return runner.num_states() > Runner::kMostStates / 4 || runner.total() > Runner::kMostTotal / 4;
}

using grammar::CharSet;
using grammar::ExprId;

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
ExprId with_free_text(Rules& rules, const CallSyntax& syntax, ExprId calls) {
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
  auto schema = parse_json(json_schema, {.max_bytes = std::size_t{16} << 20, .max_depth = 128});
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
  std::vector<grammar::ExprId> parts;
  for (const std::string& choice : choices) {
    if (choice.empty()) return fail(Code::InvalidArgument, "choice {} is empty, expected a text", parts.size());
    parts.push_back(rules.text(choice));
  }
  rules.define(root, rules.choice(std::move(parts)));
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
  auto built = GrammarBuilder::build(rules, root, {});
  if (!built) return at("the calls", std::move(built).error());
  return built;
}

Result<std::shared_ptr<const Grammar>> Grammar::json_object() { return from_schema(R"({"type":"object"})"); }

Result<std::shared_ptr<const Grammar>> Grammar::from_source(const Source& source) {
  if (source.kind == "choices") return from_choices(source.texts);
  if (source.texts.size() != 1)
    return fail(Code::InvalidArgument, "{} texts of a form of kind {}, expected 1", source.texts.size(), source.kind);
  if (source.kind == "schema") return from_schema(source.texts[0]);
  if (source.kind == "grammar") return from_gbnf(source.texts[0]);
  if (source.kind == "regex") return from_regex(source.texts[0]);
  return fail(Code::InvalidArgument, "{} is no kind of form, expected schema, grammar, regex or choices", source.kind);
}

Result<bool> Grammar::matches(std::string_view text) const {
  Runner runner(*automaton_);
  LOOM_TRY(grammar::StateId state, runner.start());
  for (const char c : text) {
    if (is_nearly_full(runner)) state = runner.clear(state);
    runner.begin_work();
    LOOM_TRY(state, runner.next(state, static_cast<std::uint8_t>(c)));
    if (state == Runner::kDead) return false;
  }
  return runner.accepts(state);
}

GrammarState::GrammarState(GrammarState&&) noexcept = default;
GrammarState& GrammarState::operator=(GrammarState&&) noexcept = default;
GrammarState::~GrammarState() = default;

Result<GrammarState> GrammarState::create(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
                                          std::span<const std::int32_t> ends, std::size_t vocab_size) {
  GrammarState out;
  out.runner_ = std::make_unique<Runner>(grammar->automaton());
  LOOM_TRY(out.state_, out.runner_->start());
  out.grammar_ = std::move(grammar), out.trie_ = std::move(trie);
  out.ends_.assign(ends.begin(), ends.end());
  out.vocab_size_ = vocab_size;
  return out;
}

bool GrammarState::is_complete() const { return runner_->accepts(state_); }

Result<TokenMask> GrammarState::mask() {
  if (is_first_) {
    if (first_mask_.empty()) {
      LOOM_TRY(first_mask_, find_mask());
    }
    return TokenMask(first_mask_);
  }
  const auto found = masks_.find(state_);
  if (found != masks_.end()) return TokenMask(found->second);
  if (masks_.size() >= kMostMasks) masks_.clear();
  if (is_nearly_full(*runner_)) {
    masks_.clear();
    state_ = runner_->clear(state_);
  }
  LOOM_TRY(auto bits, find_mask());
  return TokenMask(masks_.emplace(state_, std::move(bits)).first->second);
}

// Walks the tree of tokens; what an entry's bytes lead to is kept by depth, and dead entries are passed over whole. So
// are those below which all bytes are plain, where the state takes as many plain bytes.
Result<std::vector<std::uint64_t>> GrammarState::find_mask() {
  constexpr std::size_t kFewEntries = 2;  // of which each is looked at
  const TokenTrie::Tree& tree = is_first_ ? trie_->first() : trie_->later();
  std::vector<std::uint64_t> bits((vocab_size_ + kWordBits - 1) / kWordBits, 0);
  path_.resize(tree.max_depth + 1);
  path_[0] = state_;
  runner_->begin_work();
  const auto allow = [&](std::uint32_t begin, std::uint32_t end) {
    for (std::uint32_t t = begin; t < end; ++t)
      if (const auto id = static_cast<std::size_t>(tree.ids[t]); id < vocab_size_)
        bits[id / kWordBits] |= std::uint64_t{1} << (id % kWordBits);
  };
  const std::uint8_t run = runner_->plain_run(state_);
  const bool takes_plain = run == Runner::kEndless || run >= tree.longest_plain;
  if (takes_plain) {
    std::copy_n(tree.plain.begin(), std::min(tree.plain.size(), bits.size()), bits.begin());
    if (vocab_size_ % kWordBits != 0) bits.back() &= (std::uint64_t{1} << (vocab_size_ % kWordBits)) - 1;
  }
  const std::size_t count = tree.entries.size() - 1;
  for (std::size_t i = 0; i < count;) {
    const TokenTrie::Entry& entry = tree.entries[i];
    if (takes_plain && entry.is_plain_path && entry.is_plain_below) {
      i = entry.end;
      continue;
    }
    const grammar::StateId from = path_[entry.depth - 1u];
    grammar::StateId to = runner_->known_next(from, grammar_->automaton().class_of(entry.byte));
    if (to == Runner::kUnknown) {
      LOOM_TRY(to, runner_->next(from, entry.byte));
    }
    if (to == Runner::kDead) {
      i = entry.end;
      continue;
    }
    path_[entry.depth] = to;
    if (entry.is_plain_below && entry.end - i > kFewEntries) {
      const std::uint8_t plain = runner_->plain_run(to);
      if (plain == Runner::kEndless || plain >= entry.below) {
        allow(entry.tokens, tree.entries[entry.end].tokens);
        i = entry.end;
        continue;
      }
    }
    allow(entry.tokens, tree.entries[i + 1].tokens);
    ++i;
  }
  for (const std::int32_t id : ends_) {
    const auto at = static_cast<std::size_t>(id);
    const std::uint64_t bit = std::uint64_t{1} << (at % kWordBits);
    if (is_complete())
      bits[at / kWordBits] |= bit;
    else
      bits[at / kWordBits] &= ~bit;
  }
  return bits;
}

Result<void> GrammarState::advance(std::int32_t token) {
  const std::string_view bytes = (is_first_ ? trie_->first() : trie_->later()).bytes_of(token);
  grammar::StateId state = bytes.empty() ? Runner::kDead : state_;
  runner_->begin_work();
  for (std::size_t i = 0; i < bytes.size() && state != Runner::kDead; ++i) {
    LOOM_TRY(state, runner_->next(state, static_cast<std::uint8_t>(bytes[i])));
  }
  if (state == Runner::kDead)
    return fail(Code::InvalidArgument, "token {} does not continue the text by the grammar", token);
  state_ = state;
  is_first_ = false;
  return {};
}

}  // namespace loom
