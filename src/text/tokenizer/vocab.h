#pragma once
// Token texts by id and ids by text, and the table of merges: flat arrays, open addressing, no allocation per token.

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::text {

using TokenId = std::int32_t;
constexpr TokenId kNoToken = -1;
// Ids above this are refused: a file could otherwise ask for gigabytes with one number.
constexpr TokenId kMaxTokenId = (1 << 24) - 1;

// A position in a hash table, never part of a result.
inline std::uint64_t mix_hash(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15u;
  a = (a ^ (a >> 32)) * 0xD6E8FEB86659FD93u;
  return a ^ (a >> 29);
}
inline std::uint64_t hash_bytes(std::string_view text) {
  std::uint64_t h = text.size(), word = 0;
  const char* p = text.data();
  std::size_t left = text.size();
  for (; left >= 8; p += 8, left -= 8) {
    std::memcpy(&word, p, 8);
    h = mix_hash(h, word);
  }
  word = 0;
  for (std::size_t i = 0; i < left; ++i) word |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(p[i])) << (8 * i);
  return mix_hash(h, word);
}

class Vocab {
 public:
  void reserve(std::size_t tokens, std::size_t bytes);
  // OutOfRange for an id above kMaxTokenId. A text that the vocabulary has already gets the new id (`replace`) or keeps
  // the old one.
  Result<void> add(std::string_view text, TokenId id, bool replace = true);
  TokenId find(std::string_view text) const;  // kNoToken
  bool has(TokenId id) const {
    return static_cast<std::size_t>(id) < length_.size() && length_[static_cast<std::size_t>(id)] != kAbsent;
  }
  // Empty for ids that have no text.
  std::string_view text(TokenId id) const {
    return has(id) ? std::string_view(bytes_).substr(offset_[static_cast<std::size_t>(id)],
                                                     length_[static_cast<std::size_t>(id)])
                   : std::string_view();
  }
  std::size_t size() const { return length_.size(); }     // one more than the greatest id
  std::size_t max_length() const { return max_length_; }  // bytes of the longest text

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFFu;
  struct Slot {
    std::uint32_t tag = 0;
    TokenId id = kNoToken;
  };
  void grow(std::size_t slots);
  std::size_t slot_of(std::string_view text, std::uint64_t hash) const;

  std::string bytes_;
  std::vector<std::uint32_t> offset_, length_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0, max_length_ = 0;
};

// (left id, right id) -> rank and merged id.
class PairTable {
 public:
  struct Entry {
    std::uint64_t key = kEmpty;
    std::uint32_t rank = 0;
    TokenId merged = kNoToken;
  };
  void reserve(std::size_t pairs);
  // `replace`: a pair that comes twice takes the later rank.
  void add(TokenId left, TokenId right, std::uint32_t rank, TokenId merged, bool replace);
  const Entry* find(TokenId left, TokenId right) const {
    if (slots_.empty()) return nullptr;
    const std::uint64_t key = key_of(left, right);
    for (std::size_t i = position(key);; i = (i + 1) & mask_) {
      const Entry& e = slots_[i];
      if (e.key == key) return &e;
      if (e.key == kEmpty) return nullptr;
    }
  }
  std::size_t size() const { return used_; }

 private:
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};
  static std::uint64_t key_of(TokenId left, TokenId right) {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t position(std::uint64_t key) const {
    return static_cast<std::size_t>(key * 0x9E3779B97F4A7C15u >> 24) & mask_;
  }
  std::vector<Entry> slots_;
  std::size_t mask_ = 0, used_ = 0;
};

// "<0x0A>" for 10: the name of a byte token.
std::string byte_token(std::uint8_t byte);
// The byte of such a name, or -1.
int byte_of_token(std::string_view text);

// GPT-2's map of bytes to visible characters: the code point of each byte, and back (-1: no byte).
std::uint32_t byte_level_char(std::uint8_t byte);
int byte_level_byte(std::uint32_t code_point);

}  // namespace loom::text
