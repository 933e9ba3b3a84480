#pragma once
// Steps that rewrite text before it is cut into words.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "text/regex/regex.h"
#include "text/unicode/unicode.h"

namespace loom::text {

// A file of a few kilobytes can hold forty rules that double the text each. Published ones make at most some times the
// text of it.
constexpr std::size_t kMaxGrowth = 64;
constexpr std::size_t growth_limit(std::size_t bytes) { return bytes * kMaxGrowth + 1024; }

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // LimitExceeded when the text would become longer than its growth_limit.
  Result<void> apply(std::string& text) const { return run(text, growth_limit(text.size())); }
  // Like apply() with this limit in bytes.
  Result<void> run(std::string& text, std::size_t limit) const;
  // `spec` is the "normalizer" of a tokenizer.json. Unsupported for an unknown type.
  static Result<std::unique_ptr<Normalizer>> from_json(const Json& spec, int depth = 0);

 private:
  // Makes at most `limit` bytes where one character can become a text of any length; other steps are measured when they
  // are done.
  virtual Result<void> rewrite(std::string& text, std::size_t limit) const = 0;
};
using NormalizerPtr = std::unique_ptr<Normalizer>;

NormalizerPtr make_prepend(std::string text);
NormalizerPtr make_replace_text(std::string from, std::string to);
NormalizerPtr make_form(Form form);
NormalizerPtr make_collapse_spaces(std::string space);  // runs of `space` become one; those at both ends go
NormalizerPtr make_sequence(std::vector<NormalizerPtr> steps);
struct BertNormalizerConfig {
  bool clean_text = true, chinese_chars = true, strip_accents = true, lowercase = true;
};
NormalizerPtr make_bert_normalizer(BertNormalizerConfig config);
// The general category as the BERT steps of the tokenizers package know it, from Unicode 8: exact for Mn, P., Cc, Cf
// and Co. Later characters are unassigned in Unicode 8, and so neither removed nor cut.
Category bert_category(std::uint32_t c);
inline bool in_bert_category(std::uint32_t c, CategoryMask mask) {
  return (mask >> static_cast<int>(bert_category(c)) & 1u) != 0;
}
// SentencePiece's compiled character map. `by_grapheme`: as the tokenizers package applies it; otherwise the longest
// prefix wins.
Result<NormalizerPtr> make_precompiled(std::string_view charsmap, bool by_grapheme);

// Search pattern of a JSON component: {"String": ..} or {"Regex": ..}.
struct PatternSpec {
  std::string literal;  // when there is no regex
  std::shared_ptr<const Regex> regex;
  // A literal has at most kMaxLiteral bytes.
  static Result<PatternSpec> from_json(const Json& spec, std::string_view where);
  static constexpr std::size_t kMaxLiteral = 1024;
  // All matches in order.
  Result<void> find_all(std::string_view text, std::vector<Match>& matches) const;
};
Result<void> replace_all(std::string& text, const PatternSpec& pattern, std::string_view content, std::size_t limit);

// Reads of a component's members: `fallback` when the member is missing or null, CorruptData when it has another type.
Result<bool> json_bool(const Json& spec, std::string_view key, bool fallback);
Result<std::string> json_text(const Json& spec, std::string_view key, std::string_view fallback);
Result<std::int64_t> json_int(const Json& spec, std::string_view key, std::int64_t fallback);

}  // namespace loom::text
