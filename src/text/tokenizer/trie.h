#pragma once
// The texts of a vocabulary as a tree of bytes: every token that starts at a place of a text is met on one walk, whose
// length is that of the longest of them.

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/tokenizer/vocab.h"

namespace loom::text {

class Trie {
 public:
  static constexpr std::uint32_t kRoot = 0, kNowhere = 0xFFFFFFFFu;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 24;  // published vocabularies have 1 to 3 MB
  // Builds a trie of every text that `vocab` finds. LimitExceeded beyond kMaxBytes of texts.
  static Result<Trie> of(const Vocab& vocab);
  // The node that `byte` leads to, or kNowhere.
  std::uint32_t next(std::uint32_t node, std::uint8_t byte) const {
    const Node& n = nodes_[node];
    std::uint32_t low = n.first, high = n.first + n.count;
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (nodes_[middle].byte < byte)
        low = middle + 1;
      else
        high = middle;
    }
    return low < n.first + n.count && nodes_[low].byte == byte ? low : kNowhere;
  }
  std::uint32_t walk(std::uint32_t node, std::string_view text) const {
    for (std::size_t i = 0; i < text.size() && node != kNowhere; ++i)
      node = next(node, static_cast<std::uint8_t>(text[i]));
    return node;
  }
  TokenId token(std::uint32_t node) const { return nodes_[node].id; }  // kNoToken: no text ends at this node

 private:
  struct Node {
    std::uint32_t first = 0;  // children stand side by side, by their bytes
    TokenId id = kNoToken;
    std::uint16_t count = 0;
    std::uint8_t byte = 0;
  };
  std::vector<Node> nodes_{1};
};

}  // namespace loom::text
