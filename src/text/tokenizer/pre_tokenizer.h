#pragma once
// Steps that cut text into words.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/json_fwd.h"
#include "text/tokenizer/normalizer.h"

namespace loom::text {

struct Span {
  std::size_t begin, end;
};

// One stretch of text between added tokens, and the words it has been cut into so far (in order, none empty).
struct Words {
  std::string_view text;
  std::string owned;  // what `text` looks at once a step has rewritten it
  std::vector<Span> spans;
  bool at_start = false;   // the stretch starts the whole input
  std::vector<Span> next;  // scratch
  std::vector<Match> matches;
};

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual Result<void> apply(Words& words) const = 0;
};
using PreTokenizerPtr = std::unique_ptr<PreTokenizer>;

enum class SplitBehavior : std::uint8_t { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

PreTokenizerPtr make_split(PatternSpec pattern, SplitBehavior behavior, bool invert);
PreTokenizerPtr make_bert_pre_tokenizer();
PreTokenizerPtr make_white_space_split();
PreTokenizerPtr make_unicode_scripts();
PreTokenizerPtr make_metaspace(std::string replacement, bool prepend_always, bool prepend_first, bool split);
// GPT-2's own pattern.
extern const char* const kGpt2Pattern;
Result<PreTokenizerPtr> make_regex_split(std::string_view pattern);  // Isolated

// The "pre_tokenizer" of a tokenizer.json as a list of steps. When the last one is ByteLevel and `bytes` is not null,
// the mapping of bytes to characters is left to the model and *bytes is set.
Result<void> pre_tokenizers_from_json(const Json& spec, std::vector<PreTokenizerPtr>& steps, bool* bytes,
                                      int depth = 0);

}  // namespace loom::text
