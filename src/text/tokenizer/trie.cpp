#include "text/tokenizer/trie.h"

#include <algorithm>

namespace loom::text {

Result<Trie> Trie::of(const Vocab& vocab) {
  std::vector<std::string_view> texts;
  std::size_t bytes = 0;
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocab.size(); ++id) {
    const std::string_view t = vocab.text(id);
    if (!t.empty()) texts.push_back(t);
    bytes += t.size();
  }
  if (bytes > kMaxBytes)
    return fail(Code::LimitExceeded, "the texts of the tokens have {} bytes together, at most {} are read", bytes,
                kMaxBytes);
  std::sort(texts.begin(), texts.end());  // as unsigned bytes
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());

  // Breadth first: texts [begin, end) share the bytes up to `node`.
  struct Group {
    std::uint32_t node, begin, end, depth;
  };
  Trie trie;
  std::vector<Group> groups{{kRoot, 0, static_cast<std::uint32_t>(texts.size()), 0}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    Group group = groups[g];
    if (group.begin < group.end && texts[group.begin].size() == group.depth)
      trie.nodes_[group.node].id = vocab.find(texts[group.begin++]);
    trie.nodes_[group.node].first = static_cast<std::uint32_t>(trie.nodes_.size());
    while (group.begin < group.end) {
      const auto byte = static_cast<std::uint8_t>(texts[group.begin][group.depth]);
      std::uint32_t end = group.begin;
      while (end < group.end && static_cast<std::uint8_t>(texts[end][group.depth]) == byte) ++end;
      groups.push_back({static_cast<std::uint32_t>(trie.nodes_.size()), group.begin, end, group.depth + 1});
      ++trie.nodes_[group.node].count;
      Node child;
      child.byte = byte;
      trie.nodes_.push_back(child);
      group.begin = end;
    }
  }
  return trie;
}

}  // namespace loom::text
