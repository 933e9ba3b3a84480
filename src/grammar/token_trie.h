#pragma once
// The bytes of a vocabulary's tokens as a tree that is walked from left to right.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/mutex.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

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
  };
  // Characters that stand for themselves in a JSON string: most tokens consist of them, and most states of a grammar
  // treat them alike.
  static constexpr bool is_plain(std::uint8_t byte) {
    return byte >= 0x20 && byte < 0x7F && byte != '"' && byte != '\\';
  }
  // In the order of a walk: each entry stands before those below it. A decoder may drop a space from the first token of
  // a text, so the trees of first and later tokens can differ.
  struct Tree {
    std::vector<Entry> entries;  // and one beyond the last
    std::vector<std::int32_t> ids;
    std::vector<std::uint32_t> offsets;  // of the bytes of each id, and the end
    std::string bytes;
    std::size_t max_depth = 0;
    std::vector<std::uint64_t> plain;  // a bit for each token that consists of plain bytes
    std::size_t longest_plain = 0;     // bytes of the longest of them

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
