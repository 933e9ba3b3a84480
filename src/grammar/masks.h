#pragma once
// The masks of one grammar beside one vocabulary: finds the tokens that may follow a state, and keeps what it found.
// Internal to grammar/.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/error.h"
#include "grammar/runner.h"
#include "grammar/token_trie.h"

namespace loom::grammar {

class Masks {
 public:
  using Bits = std::vector<std::uint64_t>;                         // bit i % 64 of word i / 64 is token i
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of masks that are kept

  // `ends` are allowed where the text is complete, and nowhere else.
  Masks(const Automaton& automaton, const std::shared_ptr<const TokenTrie>& trie, std::span<const std::int32_t> ends,
        std::size_t vocab_size);

  // Whether it was made for these.
  bool is_for(const std::shared_ptr<const TokenTrie>& trie, std::span<const std::int32_t> ends,
              std::size_t vocab_size) const;
  // Whether it is small enough to be kept for the next text.
  bool is_small() const;

  Runner& runner() { return runner_; }
  const Runner& runner() const { return runner_; }
  // The mask after `state`, which gets another number where states are forgotten. Valid until the next call.
  // LimitExceeded for a grammar that is too ambiguous.
  Result<std::span<const std::uint64_t>> at(const TokenTrie& trie, StateId& state, bool is_first);

 private:
  Result<Bits> find(const TokenTrie::Tree& tree, StateId state);
  // False, with no bit set, where the state does not treat text characters alike.
  Result<bool> add_by_characters(const TokenTrie::Tree& tree, StateId state, Bits& bits);
  // Like it, for a state in which text characters lead to `others`, which they do not leave, but for some plain bytes.
  Result<bool> add_with_exceptions(const TokenTrie::Tree& tree, StateId state, StateId others, Bits& bits);
  Result<void> add_all(const TokenTrie::Tree& tree, StateId state, Bits& bits);
  Result<void> walk(const TokenTrie::Entries& tree, std::size_t begin, std::size_t end, StateId from, bool skips_plain,
                    Bits& bits);
  Result<void> walk(const TokenTrie::Entries& tree, StateId from, Bits& bits) {
    return walk(tree, 0, tree.entries.size() - 1, from, false, bits);
  }
  // Finds the tokens that have a plain byte by which `state` goes elsewhere; false where there are many.
  Result<bool> find_leaving(const TokenTrie::Tree& tree, StateId state);
  bool takes_all_below(const TokenTrie::Entry& entry, StateId state);
  void allow(const TokenTrie::Entries& tree, std::uint32_t begin, std::uint32_t end, Bits& bits) const;
  void set_ends(StateId state, Bits& bits) const;

  const Automaton* automaton_;
  std::weak_ptr<const TokenTrie> trie_;
  std::vector<std::int32_t> ends_;
  std::size_t vocab_size_ = 0;
  Runner runner_;
  std::unordered_map<StateId, Bits> kept_;  // the first token's is not in it
  Bits first_;
  std::vector<StateId> path_;   // states by depth, while a tree is walked
  std::vector<StateId> chain_;  // states by number of text characters
  std::vector<std::int32_t> leaving_;
};

}  // namespace loom::grammar
