#pragma once
// Tokens that are found in the text itself, before anything else looks at it: chat markers and the like.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocab.h"

namespace loom::text {

struct AddedToken {
  std::string content;
  TokenId id = kNoToken;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
};

// A set of texts and the search for them: the longest match at the earliest position.
class TokenMatcher {
 public:
  static constexpr std::size_t kMaxText = 1024;  // a search costs the text times this at worst
  Result<void> add(std::string_view text, std::uint32_t value);
  bool empty() const { return nodes_ == 1; }
  struct Found {
    std::size_t begin = 0, end = 0;
    std::uint32_t value = 0;
  };
  // The first match that starts at `from` or later.
  bool find(std::string_view text, std::size_t from, Found& found) const;

 private:
  PairTable edges_;  // (node, byte) -> node
  std::vector<std::uint32_t> value_{kNone};
  std::array<bool, 256> first_{};
  TokenId nodes_ = 1;
  static constexpr std::uint32_t kNone = 0xFFFFFFFFu;
};

// A stretch of text: an added token, or (id kNoToken) text between them.
struct Stretch {
  std::size_t begin, end;
  TokenId id;
};

// Cuts `text` at the tokens of `matcher` (values are indexes into `tokens`) by their flags. Special tokens are left in
// the text when `parse_special` is false.
void split_at_tokens(std::string_view text, const TokenMatcher& matcher, const std::vector<AddedToken>& tokens,
                     bool parse_special, std::vector<Stretch>& out);

}  // namespace loom::text
