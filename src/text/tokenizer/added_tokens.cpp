#include "text/tokenizer/added_tokens.h"

#include <algorithm>

#include "text/unicode/unicode.h"

namespace loom::text {

Result<void> TokenMatcher::add(std::string_view text, std::uint32_t value) {
  if (text.empty()) return {};
  if (text.size() > kMaxText)
    return fail(Code::LimitExceeded, "an added token has {} bytes, at most {} are read", text.size(), kMaxText);
  TokenId node = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    const PairTable::Entry* e = edges_.find(node, byte);
    if (e) {
      node = e->merged;
      continue;
    }
    if (nodes_ > kMaxTokenId)
      return fail(Code::LimitExceeded, "the added tokens are longer than {} bytes together", kMaxTokenId);
    edges_.add(node, byte, 0, nodes_, false);
    value_.push_back(kNone);
    node = nodes_++;
  }
  auto& slot = value_[static_cast<std::size_t>(node)];
  if (slot == kNone) slot = value;
  first_[static_cast<std::uint8_t>(text[0])] = true;
  return {};
}

bool TokenMatcher::find(std::string_view text, std::size_t from, Found& found) const {
  if (empty()) return false;
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (!first_[static_cast<std::uint8_t>(text[begin])]) continue;
    TokenId node = 0;
    bool any = false;
    for (std::size_t i = begin; i < text.size(); ++i) {
      const PairTable::Entry* e = edges_.find(node, static_cast<std::uint8_t>(text[i]));
      if (!e) break;
      node = e->merged;
      const std::uint32_t value = value_[static_cast<std::size_t>(node)];
      if (value == kNone) continue;
      found = {begin, i + 1, value};
      any = true;
    }
    if (any) return true;
  }
  return false;
}

void split_at_tokens(std::string_view text, const TokenMatcher& matcher, const std::vector<AddedToken>& tokens,
                     bool parse_special, std::vector<Stretch>& out) {
  const char* const data = text.data();
  std::size_t done = 0;
  std::size_t white_end = 0;  // of the run stripped last: tokens inside it need not walk it again
  TokenMatcher::Found found;
  for (std::size_t from = 0; matcher.find(text, from, found);) {
    from = found.end;
    const AddedToken& token = tokens[found.value];
    if (token.special && !parse_special) continue;
    std::size_t begin = found.begin, end = found.end;
    if (token.single_word) {
      if (begin > 0 && is_word(decode_utf8_before(data, data + begin).code_point)) continue;
      if (end < text.size() && is_word(decode_utf8(data + end, data + text.size()).code_point)) continue;
    }
    while (token.lstrip && begin > done) {
      const Decoded d = decode_utf8_before(data, data + begin);
      if (!is_white_space(d.code_point)) break;
      begin -= d.length;
    }
    begin = std::max(begin, done);
    while (token.rstrip && end < text.size()) {
      const Decoded d = decode_utf8(data + end, data + text.size());
      if (!is_white_space(d.code_point)) break;
      end = std::max(end + d.length, white_end);
    }
    if (token.rstrip) white_end = std::max(white_end, end);
    if (token.lstrip && end <= done) continue;  // white space that the token before took
    if (done < begin) out.push_back({done, begin, kNoToken});
    out.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), kNoToken});
}

}  // namespace loom::text
