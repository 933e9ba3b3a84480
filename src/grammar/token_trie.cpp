#include "grammar/token_trie.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

namespace loom {
namespace {

constexpr std::size_t kMostTokenBytes = std::size_t{1} << 31;
// A longer token is left out: some files hold a page of text as one.
constexpr std::size_t kLongestToken = 1024;

// Sets what entries report about the bytes below them.
void find_plain_below(std::vector<TokenTrie::Entry>& entries) {
  constexpr std::uint32_t kMostBelow = 255;
  for (std::size_t i = entries.size() - 1; i-- > 0;) {
    TokenTrie::Entry& entry = entries[i];
    entry.is_plain_below = true;
    for (std::size_t child = i + 1; child < entry.end; child = entries[child].end) {
      const TokenTrie::Entry& under = entries[child];
      entry.is_plain_below = entry.is_plain_below && under.is_plain_below && TokenTrie::is_plain(under.byte);
      entry.below = static_cast<std::uint8_t>(std::min(kMostBelow, std::max(entry.below + 0u, under.below + 1u)));
    }
  }
}

// Finds the tokens of plain bytes.
void find_plain(TokenTrie::Tree& tree) {
  constexpr std::uint32_t kWordBits = 64;
  std::vector<TokenTrie::Entry>& entries = tree.entries;
  const std::size_t count = entries.size() - 1;
  tree.plain.assign((tree.offsets.size() + kWordBits - 1) / kWordBits, 0);
  std::vector<bool> is_plain(tree.max_depth + 1, true);  // by depth
  for (std::size_t i = 0; i < count; ++i) {
    TokenTrie::Entry& entry = entries[i];
    entry.is_plain_path = is_plain[entry.depth - 1u] && TokenTrie::is_plain(entry.byte);
    is_plain[entry.depth] = entry.is_plain_path;
    if (!entry.is_plain_path) continue;
    for (std::uint32_t t = entry.tokens; t < entries[i + 1].tokens; ++t) {
      const auto id = static_cast<std::size_t>(tree.ids[t]);
      tree.plain[id / kWordBits] |= std::uint64_t{1} << (id % kWordBits);
      tree.longest_plain = std::max<std::size_t>(tree.longest_plain, entry.depth);
    }
  }
}

// A part of a token's bytes.
struct Piece {
  std::int32_t id = 0;
  std::string_view text;
};

TokenTrie::Entries entries_of(std::vector<Piece> pieces) {
  TokenTrie::Entries out;
  std::ranges::stable_sort(pieces, {}, &Piece::text);
  std::vector<std::uint32_t> open;  // entries above the next one
  std::string_view path;
  const auto close_to = [&](std::size_t depth) {
    for (; open.size() > depth; open.pop_back())
      out.entries[open.back()].end = static_cast<std::uint32_t>(out.entries.size());
  };
  for (const auto& [id, text] : pieces) {
    const auto shared = static_cast<std::size_t>(std::ranges::mismatch(path, text).in1 - path.begin());
    close_to(shared);
    for (std::size_t depth = shared; depth < text.size(); ++depth) {
      open.push_back(static_cast<std::uint32_t>(out.entries.size()));
      out.entries.push_back({.tokens = static_cast<std::uint32_t>(out.ids.size()),
                             .depth = static_cast<std::uint16_t>(depth + 1),
                             .byte = static_cast<std::uint8_t>(text[depth])});
    }
    // The tokens of an entry stand in front of those below it, since a text sorts before its extensions.
    out.ids.push_back(id);
    out.max_depth = std::max(out.max_depth, text.size());
    path = text;
  }
  close_to(0);
  const auto end = static_cast<std::uint32_t>(out.entries.size());
  out.entries.push_back({.end = end, .tokens = static_cast<std::uint32_t>(out.ids.size())});
  find_plain_below(out.entries);
  return out;
}

enum class Begin : std::uint8_t { None, Cut, Whole };
// Whether the text begins with a text character, or is the beginning of one, and how many bytes of it there are.
std::pair<Begin, std::size_t> begin_of(std::string_view text) {
  if (text.empty()) return {Begin::None, 0};
  if (TokenTrie::is_plain(static_cast<std::uint8_t>(text[0]))) return {Begin::Whole, 1};
  for (const Utf8Shape& shape : kUtf8Shapes) {
    const std::size_t count = std::min(shape.size, text.size());
    std::size_t i = 0;
    while (i < count && shape.ranges[i].holds(static_cast<std::uint8_t>(text[i]))) ++i;
    if (i == count) return {count == shape.size ? Begin::Whole : Begin::Cut, count};
  }
  return {Begin::None, 0};
}

TokenTrie::Characters characters_of(const std::vector<Piece>& pieces, std::size_t vocab_size) {
  constexpr std::size_t kWordBits = 64;
  TokenTrie::Characters out;
  const std::size_t words = (vocab_size + kWordBits - 1) / kWordBits;
  out.all.assign(words, 0);
  for (std::vector<std::uint64_t>& mask : out.up_to) mask.assign(words, 0);
  std::map<std::size_t, std::vector<Piece>> branches;
  for (const auto& [id, text] : pieces) {
    std::size_t count = 0;
    std::string_view rest = text;
    auto [begin, size] = begin_of(rest);
    for (; begin == Begin::Whole; std::tie(begin, size) = begin_of(rest)) {
      rest.remove_prefix(size);
      ++count;
    }
    if (begin == Begin::Cut) {
      rest = {};
      ++count;
    }
    out.most = std::max(out.most, count);
    if (!rest.empty()) {
      branches[count].push_back({id, rest});
      continue;
    }
    const auto at = static_cast<std::size_t>(id);
    const std::uint64_t bit = std::uint64_t{1} << (at % kWordBits);
    out.all[at / kWordBits] |= bit;
    for (std::size_t n = count; n <= TokenTrie::Characters::kMasked; ++n) out.up_to[n - 1][at / kWordBits] |= bit;
    if (count > TokenTrie::Characters::kMasked) out.longer.emplace_back(static_cast<std::uint32_t>(count), id);
  }
  std::ranges::sort(out.longer);
  for (auto& [count, rests] : branches) out.branches.push_back({count, entries_of(std::move(rests))});
  return out;
}

void find_text_below(TokenTrie::Tree& tree) {
  constexpr std::size_t kWordBits = 64;
  const std::size_t count = tree.entries.size() - 1;
  std::string path;
  std::vector<std::size_t> begins(tree.max_depth + 1, 0);  // of the character after so many bytes
  for (std::size_t i = 0; i < count; ++i) {
    TokenTrie::Entry& entry = tree.entries[i];
    const std::size_t depth = entry.depth;
    path.resize(depth - 1u);
    path += static_cast<char>(entry.byte);
    const std::size_t begin = begins[depth - 1u];
    entry.is_text_below = begin_of(std::string_view(path).substr(begin)) == std::pair(Begin::Whole, depth - begin);
    begins[depth] = entry.is_text_below ? depth : begin;
  }
  for (std::size_t i = count; i-- > 0;) {
    TokenTrie::Entry& entry = tree.entries[i];
    for (std::uint32_t t = entry.tokens; t < tree.entries[entry.end].tokens && entry.is_text_below; ++t) {
      const auto id = static_cast<std::size_t>(tree.ids[t]);
      entry.is_text_below = (tree.characters.all[id / kWordBits] >> (id % kWordBits) & 1u) != 0;
    }
  }
}

TokenTrie::Tree tree_of(const std::vector<std::string>& texts) {
  TokenTrie::Tree tree;
  tree.offsets.push_back(0);
  for (const std::string& text : texts) {
    tree.bytes += text;
    tree.offsets.push_back(static_cast<std::uint32_t>(tree.bytes.size()));
  }
  std::vector<Piece> pieces;
  for (std::size_t id = 0; id < texts.size(); ++id)
    if (!texts[id].empty()) pieces.push_back({static_cast<std::int32_t>(id), texts[id]});
  tree.characters = characters_of(pieces, texts.size());
  static_cast<TokenTrie::Entries&>(tree) = entries_of(std::move(pieces));
  find_plain(tree);
  find_text_below(tree);
  return tree;
}

// A token after which another one stands as inside of a text: one letter.
std::optional<std::int32_t> letter_of(const text::Tokenizer& tokenizer) {
  for (std::int32_t id = 0; id < static_cast<std::int32_t>(tokenizer.vocab_size()); ++id) {
    const std::string_view text = tokenizer.token_text(id);
    if (text.size() == 1 && text[0] >= 'a' && text[0] <= 'z' && !tokenizer.is_special(id)) return id;
  }
  return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const TokenTrie>> TokenTrie::create(const text::Tokenizer& tokenizer,
                                                           std::span<const std::int32_t> visible) {
  const std::size_t count = tokenizer.vocab_size();
  const std::optional<std::int32_t> letter = letter_of(tokenizer);
  const std::string before = letter ? tokenizer.decode(std::span(&*letter, 1)) : std::string();
  std::vector<std::string> first(count), later(count);
  std::size_t total = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const bool is_visible = std::ranges::find(visible, id) != visible.end();
    if ((tokenizer.is_special(id) && !is_visible) || tokenizer.token_text(id).empty()) continue;
    first[i] = is_visible ? std::string(tokenizer.token_text(id)) : tokenizer.decode(std::span(&id, 1));
    later[i] = first[i];
    if (letter && !is_visible) {
      const std::int32_t both[] = {*letter, id};
      std::string text = tokenizer.decode(both);
      // Where a decoder changes what stands before the token, the token is not the bytes that it adds.
      later[i] = text.starts_with(before) ? text.substr(before.size()) : std::string();
    }
    if (later[i].size() > kLongestToken) later[i].clear();
    if (first[i].size() > kLongestToken) first[i].clear();
    total += std::max(first[i].size(), later[i].size());
    if (total >= kMostTokenBytes)
      return fail(Code::LimitExceeded, "the vocabulary's tokens have more than {} bytes", kMostTokenBytes);
  }
  std::shared_ptr<TokenTrie> out(new TokenTrie);
  out->later_ = tree_of(later);
  if (first != later) out->first_ = std::make_unique<const Tree>(tree_of(first));
  return std::shared_ptr<const TokenTrie>(std::move(out));
}

Result<std::shared_ptr<const TokenTrie>> TokenTrieCache::get(const std::shared_ptr<const text::Tokenizer>& tokenizer,
                                                             std::span<const std::int32_t> visible) {
  const Mutex::Guard guard(mutex_);
  if (tokenizer_ != tokenizer) plain_ = nullptr, with_visible_ = nullptr;
  tokenizer_ = tokenizer;
  if (visible.empty()) {
    if (plain_ == nullptr) {
      LOOM_TRY(plain_, TokenTrie::create(*tokenizer));
    }
    return plain_;
  }
  if (with_visible_ == nullptr || !std::ranges::equal(visible, visible_)) {
    LOOM_TRY(with_visible_, TokenTrie::create(*tokenizer, visible));
    visible_.assign(visible.begin(), visible.end());
  }
  return with_visible_;
}

}  // namespace loom
