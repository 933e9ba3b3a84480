#pragma once
// The form of a generated text, compiled from a JSON Schema, a grammar file of llama.cpp (GBNF), a regular expression
// or a list of texts. A GrammarState follows one text and reports the tokens that may come next.
//
// Documents that fit a JSON Schema are written with properties in the order of the schema (then additional ones), with
// no blanks, one space or a line break and its indentation between tokens, and integers without fraction.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "core/mutex.h"
#include "grammar/token_trie.h"

namespace loom {

namespace grammar {
class Automaton;
class Masks;
}  // namespace grammar

// How calls of functions are written: `open`, a call, further calls with `between` in front of each, `close`. A
// call is the text of one of the functions, which ends with its name, and arguments that fit its schema.
struct CallSyntax {
  std::string open, between, close;
  bool several = true;  // false: exactly one call
  // Any text without `trigger`, with which `open` begins, may stand in place of the calls or in front of them. With an
  // empty trigger: any text that does not begin with a brace, in place of them.
  bool is_optional = false;
  std::string trigger;
};
struct CallGrammar {
  std::string before;
  const Json* schema = nullptr;
};

// Any number of threads may use one. It keeps the masks of some texts that ended, for the next ones.
class Grammar {
 public:
  // Every create function: InvalidArgument with the place for bad syntax and, by name, for what is not supported;
  // LimitExceeded for a form with too many states.
  static Result<std::shared_ptr<const Grammar>> from_schema(std::string_view json_schema);
  static Result<std::shared_ptr<const Grammar>> from_parsed_schema(const Json& json_schema);
  static Result<std::shared_ptr<const Grammar>> from_gbnf(std::string_view text);
  // The whole text matches.
  static Result<std::shared_ptr<const Grammar>> from_regex(std::string_view pattern);
  static Result<std::shared_ptr<const Grammar>> from_choices(std::span<const std::string> choices);
  // Errors of schemas begin with the number of the function.
  static Result<std::shared_ptr<const Grammar>> from_calls(const CallSyntax& syntax,
                                                           std::span<const CallGrammar> functions);
  // Any JSON object.
  static Result<std::shared_ptr<const Grammar>> json_object();

  // The text or texts that it was compiled from, as a receipt holds them.
  struct Source {
    std::string kind;                // schema, grammar, regex, choices or calls
    std::vector<std::string> texts;  // one, of choices all; of calls a JSON object
    bool operator==(const Source&) const = default;
  };
  static constexpr std::string_view kKinds[] = {"schema", "grammar", "regex", "choices", "calls"};
  const Source& source() const { return source_; }
  // Returns the source of the grammar that from_calls() would make.
  static Source source_of_calls(const CallSyntax& syntax, std::span<const CallGrammar> functions);
  // InvalidArgument for another kind or number of texts, and like the functions above.
  static Result<std::shared_ptr<const Grammar>> from_source(const Source& source);

  ~Grammar();
  // Whether `text` is a whole text of the grammar. LimitExceeded as for GrammarState.
  Result<bool> matches(std::string_view text) const;
  const grammar::Automaton& automaton() const { return *automaton_; }

 private:
  Grammar(grammar::Automaton automaton, Source source);
  friend struct GrammarBuilder;
  friend class GrammarState;
  static constexpr std::size_t kMostKept = 4;  // of masks, each with its bounds
  std::unique_ptr<grammar::Masks> take_masks(const std::shared_ptr<const TokenTrie>& trie,
                                             std::span<const std::int32_t> ends, std::size_t vocab_size) const;
  void keep_masks(std::unique_ptr<grammar::Masks> masks) const;

  Source source_;
  std::unique_ptr<const grammar::Automaton> automaton_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<grammar::Masks>> kept_;
};

// The allowed tokens: bit i % 64 of word i / 64 is token i.
using TokenMask = std::span<const std::uint64_t>;
inline bool allows(TokenMask mask, std::size_t token) { return (mask[token / 64] >> (token % 64) & 1u) != 0; }

// Follows one generated text. Masks are found once per state and kept, within bounds of bytes, also for later texts.
class GrammarState {
 public:
  // `ends` are tokens that end the text: allowed where it is complete, and nowhere else. `vocab_size` is the number of
  // logits. LimitExceeded for a grammar that is too ambiguous.
  static Result<GrammarState> create(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTrie> trie,
                                     std::span<const std::int32_t> ends, std::size_t vocab_size);
  GrammarState(GrammarState&&) noexcept;
  GrammarState& operator=(GrammarState&&) noexcept;
  ~GrammarState();

  // Valid until the next call.
  Result<TokenMask> mask();
  // Appends a token that mask() allows and that does not end the text; InvalidArgument for another one.
  Result<void> advance(std::int32_t token);
  // Whether the text so far is complete.
  bool is_complete() const;

 private:
  GrammarState();

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const TokenTrie> trie_;
  std::unique_ptr<grammar::Masks> masks_;
  std::int32_t state_ = 0;
  bool is_first_ = true;  // no token yet
};

}  // namespace loom
