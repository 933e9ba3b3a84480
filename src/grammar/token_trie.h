#pragma once
// The bytes of a vocabulary's tokens as a tree that is walked from left to right.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.h"
#include "core/mutex.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

// The bytes of characters outside of ASCII: ranges of the first byte and of those that follow it (Unicode, table 3-7).
struct Utf8Shape {
  struct Range {
    std::uint8_t first = 0, last = 0;
    constexpr bool holds(std::uint8_t byte) const { return byte >= first && byte <= last; }
  };
  std::size_t size = 0;
  std::array<Range, 4> ranges{};
};
inline constexpr std::array<Utf8Shape, 8> kUtf8Shapes{{
    {2, {{{0xC2, 0xDF}, {0x80, 0xBF}}}},
    {3, {{{0xE0, 0xE0}, {0xA0, 0xBF}, {0x80, 0xBF}}}},
    {3, {{{0xE1, 0xEC}, {0x80, 0xBF}, {0x80, 0xBF}}}},
    {3, {{{0xED, 0xED}, {0x80, 0x9F}, {0x80, 0xBF}}}},
    {3, {{{0xEE, 0xEF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
    {4, {{{0xF0, 0xF0}, {0x90, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
    {4, {{{0xF1, 0xF3}, {0x80, 0xBF}, {0x80, 0xBF}, {0x80, 0xBF}}}},
    {4, {{{0xF4, 0xF4}, {0x80, 0x8F}, {0x80, 0xBF}, {0x80, 0xBF}}}},
}};

// Immutable: any number of threads may use one. Tokens without bytes are left out, and so are special ones but the
// visible ones, which have the bytes of their spelling.
class TokenTrie {
 public:
  // LimitExceeded for more than 2^31 bytes of tokens.
  static Result<std::shared_ptr<const TokenTrie>> create(const text::Tokenizer& tokenizer,
                                                         std::span<const std::int32_t> visible = {});

  struct Entry {
    std::uint32_t end = 0;     // the entry that follows the last below this one
    std::uint32_t tokens = 0;  // first of those that end at this byte, up to those of the next entry
    std::uint16_t depth = 0;   // 1 for a first byte
    std::uint8_t byte = 0;
    std::uint8_t below = 0;       // bytes of the longest way to an entry below, at most 255
    bool is_plain_path = false;   // all bytes up to this one are plain (is_plain())
    bool is_plain_below = false;  // all bytes below this one are
    // A text character (Characters) ends at this byte, and all tokens below consist of such characters. False in
    // branches.
    bool is_text_below = false;
  };
  // Characters that stand for themselves in a JSON string: most tokens consist of them, and most states of a grammar
  // treat them alike.
  static constexpr bool is_plain(std::uint8_t byte) {
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
  }
  // In the order of a walk: each entry stands before those below it.
  struct Entries {
    std::vector<Entry> entries;  // and one beyond the last
    std::vector<std::int32_t> ids;
    std::size_t max_depth = 0;
  };
  // Tokens by their text characters: plain bytes, and characters outside of ASCII. Where a state treats all text
  // characters alike, their number is all that counts.
  struct Characters {
    // Tokens that begin with `count` text characters, after which comes a byte of no text character: the rest of each.
    struct Branch {
      std::size_t count = 0;
      Entries rest;
    };
    static constexpr std::size_t kMasked = 16;

    // A bit for each token that consists of text characters, the last of which may be cut.
    std::vector<std::uint64_t> all;
    // Tokens of `all` with at most n + 1 characters, a cut one included.
    std::array<std::vector<std::uint64_t>, kMasked> up_to;
    std::vector<std::pair<std::uint32_t, std::int32_t>> longer;  // count and id of the others, sorted
    std::vector<Branch> branches;                                // sorted by count
    std::size_t most = 0;                                        // characters of one token
  };
  // A decoder may drop a space from the first token of a text, so the trees of first and later tokens can differ.
  struct Tree : Entries {
    std::vector<std::uint32_t> offsets;  // of the bytes of each id, and the end
    std::string bytes;
    std::vector<std::uint64_t> plain;  // a bit for each token that consists of plain bytes
    std::size_t longest_plain = 0;     // bytes of the longest of them
    Characters characters;

    std::string_view bytes_of(std::int32_t id) const {
      if (id < 0 || static_cast<std::size_t>(id) + 1 >= offsets.size()) return {};
      const std::size_t begin = offsets[static_cast<std::size_t>(id)], end = offsets[static_cast<std::size_t>(id) + 1];
      return std::string_view(bytes).substr(begin, end - begin);
    }
  };
  const Tree& first() const { return first_ ? *first_ : later_; }
  const Tree& later() const { return later_; }

 private:
  TokenTrie() = default;
  Tree later_;
  std::unique_ptr<const Tree> first_;  // null: like later_
};

// Keeps the tries of the tokenizer that was asked for last: one without and one with visible tokens. Threads may share
// one cache.
class TokenTrieCache {
 public:
  Result<std::shared_ptr<const TokenTrie>> get(const std::shared_ptr<const text::Tokenizer>& tokenizer,
                                               std::span<const std::int32_t> visible = {});

 private:
  Mutex mutex_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::shared_ptr<const TokenTrie> plain_, with_visible_;
  std::vector<std::int32_t> visible_;  // of the second
};

}  // namespace loom
