#include "grammar/masks.h"

#include <algorithm>

namespace loom::grammar {
namespace {

constexpr std::size_t kWordBits = 64;

void copy(const Masks::Bits& from, Masks::Bits& to) {
  std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
}

void remove(std::span<const std::int32_t> ids, Masks::Bits& bits) {
  for (const std::int32_t id : ids)
    if (const std::size_t word = static_cast<std::size_t>(id) / kWordBits; word < bits.size())
      bits[word] &= ~(std::uint64_t{1} << (static_cast<std::size_t>(id) % kWordBits));
}

}  // namespace

Masks::Masks(const Automaton& automaton, const std::shared_ptr<const TokenTrie>& trie,
             std::span<const std::int32_t> ends, std::size_t vocab_size)
    : automaton_(&automaton),
      trie_(trie),
      ends_(ends.begin(), ends.end()),
      vocab_size_(vocab_size),
      runner_(automaton) {}

bool Masks::is_for(const std::shared_ptr<const TokenTrie>& trie, std::span<const std::int32_t> ends,
                   std::size_t vocab_size) const {
  return trie_.lock() == trie && std::ranges::equal(ends, ends_) && vocab_size == vocab_size_;
}

bool Masks::is_small() const {
  return runner_.num_states() <= Runner::kMostStates / 8 && runner_.total() <= Runner::kMostTotal / 16;
}

Result<std::span<const std::uint64_t>> Masks::at(const TokenTrie& trie, StateId& state, bool is_first) {
  if (is_first) {
    if (first_.empty()) {
      LOOM_TRY(first_, find(trie.first(), state));
    }
    return std::span<const std::uint64_t>(first_);
  }
  if (const auto found = kept_.find(state); found != kept_.end()) return std::span<const std::uint64_t>(found->second);
  const std::size_t bytes = std::max<std::size_t>(vocab_size_ / 8, 1);
  if (kept_.size() > kMostBytes / bytes) kept_.clear();
  if (runner_.is_nearly_full()) {
    kept_.clear();
    state = runner_.clear(state);
  }
  auto bits = find(trie.later(), state);
  if (!bits && bits.error().code == Code::LimitExceeded) {  // perhaps earlier states took the room
    kept_.clear();
    state = runner_.clear(state);
    bits = find(trie.later(), state);
  }
  if (!bits) return tl::unexpected(std::move(bits).error());
  return std::span<const std::uint64_t>(kept_.emplace(state, std::move(*bits)).first->second);
}

Result<Masks::Bits> Masks::find(const TokenTrie::Tree& tree, StateId state) {
  Bits bits((vocab_size_ + kWordBits - 1) / kWordBits, 0);
  path_.resize(tree.max_depth + 1);
  runner_.begin_work();
  LOOM_TRY(const bool is_done, add_by_characters(tree, state, bits));
  if (!is_done) LOOM_TRY_VOID(add_all(tree, state, bits));
  if (vocab_size_ % kWordBits != 0) bits.back() &= (std::uint64_t{1} << (vocab_size_ % kWordBits)) - 1;
  set_ends(state, bits);
  return bits;
}

void Masks::set_ends(StateId state, Bits& bits) const {
  const bool is_complete = runner_.accepts(state);
  for (const std::int32_t id : ends_) {
    const auto at = static_cast<std::size_t>(id);
    const std::uint64_t bit = std::uint64_t{1} << (at % kWordBits);
    if (is_complete)
      bits[at / kWordBits] |= bit;
    else
      bits[at / kWordBits] &= ~bit;
  }
}

// Tokens of text characters alone are allowed by their number. Other tokens are walked from the first byte of no text
// character, in the state after so many characters.
Result<bool> Masks::add_by_characters(const TokenTrie::Tree& tree, StateId state, Bits& bits) {
  const TokenTrie::Characters& characters = tree.characters;
  chain_.assign(1, state);
  bool is_endless = false, is_closed = false;  // any number of characters may follow; no further one may
  while (!is_endless && !is_closed && chain_.size() <= characters.most) {
    const auto [to, has_exceptions] = runner_.text_step(chain_.back());
    if (has_exceptions && chain_.size() == 1) {
      const Runner::TextStep next = runner_.text_step(to);
      if (next.to != to) return false;
      return add_with_exceptions(tree, state, to, bits);
    }
    if (to == Runner::kUnknown || has_exceptions) return false;
    is_closed = to == Runner::kDead;
    is_endless = to == chain_.back();
    if (!is_closed && !is_endless) chain_.push_back(to);
  }
  const std::size_t run = chain_.size() - 1;
  if (!is_closed || run > TokenTrie::Characters::kMasked)
    copy(characters.all, bits);
  else if (run > 0)
    copy(characters.up_to[run - 1], bits);
  if (is_closed && run > TokenTrie::Characters::kMasked)
    for (auto it = characters.longer.rbegin(); it != characters.longer.rend() && it->first > run; ++it)
      remove(std::span(&it->second, 1), bits);
  for (const TokenTrie::Characters::Branch& branch : characters.branches) {
    if (branch.count > run && is_closed) break;
    LOOM_TRY_VOID(walk(branch.rest, chain_[std::min(branch.count, run)], bits));
  }
  return true;
}

Result<bool> Masks::find_leaving(const TokenTrie::Tree& tree, StateId state) {
  constexpr std::size_t kMostBytes = 4, kMostTokens = 2000;
  leaving_.clear();
  if (!runner_.text_step(state).has_exceptions) return true;
  std::size_t bytes = 0;
  for (unsigned b = 0; b < 0x80; ++b) {
    const auto byte = static_cast<std::uint8_t>(b);
    if (!TokenTrie::is_plain(byte)) continue;
    LOOM_TRY(const StateId to, runner_.next(state, byte));
    if (to == state) continue;
    if (++bytes > kMostBytes) return false;
    for (std::size_t at = tree.bytes.find(static_cast<char>(byte)); at != std::string::npos;
         at = tree.bytes.find(static_cast<char>(byte), at)) {
      const auto after = std::ranges::upper_bound(tree.offsets, at);
      leaving_.push_back(static_cast<std::int32_t>(after - tree.offsets.begin()) - 1);
      if (leaving_.size() > kMostTokens) return false;
      at = *after;
    }
  }
  return true;
}

Result<bool> Masks::add_with_exceptions(const TokenTrie::Tree& tree, StateId state, StateId others, Bits& bits) {
  LOOM_TRY(const bool are_few, find_leaving(tree, others));
  if (!are_few) return false;
  copy(tree.characters.all, bits);
  for (const TokenTrie::Characters::Branch& branch : tree.characters.branches)
    LOOM_TRY_VOID(walk(branch.rest, branch.count == 0 ? state : others, bits));
  for (std::size_t i = 0, end = 0; i + 1 < tree.entries.size(); i = end) {
    const TokenTrie::Entry& entry = tree.entries[i];
    end = entry.end;
    if (!TokenTrie::is_plain(entry.byte)) continue;
    LOOM_TRY(const StateId to, runner_.next(state, entry.byte));
    if (to == others) continue;
    remove(std::span(tree.ids).subspan(entry.tokens, tree.entries[end].tokens - entry.tokens), bits);
    LOOM_TRY_VOID(walk(tree, i, end, state, false, bits));
  }
  remove(leaving_, bits);
  for (const std::int32_t id : leaving_) {
    StateId at = state;
    for (const char c : tree.bytes_of(id)) {
      if (at == Runner::kDead) break;
      LOOM_TRY(at, runner_.next(at, static_cast<std::uint8_t>(c)));
    }
    const auto bit = static_cast<std::size_t>(id);
    if (at != Runner::kDead && bit < vocab_size_) bits[bit / kWordBits] |= std::uint64_t{1} << (bit % kWordBits);
  }
  return true;
}

Result<void> Masks::add_all(const TokenTrie::Tree& tree, StateId state, Bits& bits) {
  const std::uint8_t run = runner_.plain_run(state);
  const bool takes_plain = run == Runner::kEndless || run >= tree.longest_plain;
  if (takes_plain) copy(tree.plain, bits);
  return walk(tree, 0, tree.entries.size() - 1, state, takes_plain, bits);
}

void Masks::allow(const TokenTrie::Entries& tree, std::uint32_t begin, std::uint32_t end, Bits& bits) const {
  for (std::uint32_t t = begin; t < end; ++t)
    if (const auto id = static_cast<std::size_t>(tree.ids[t]); id < vocab_size_)
      bits[id / kWordBits] |= std::uint64_t{1} << (id % kWordBits);
}

bool Masks::takes_all_below(const TokenTrie::Entry& entry, StateId state) {
  if (entry.is_text_below) {
    const Runner::TextStep step = runner_.text_step(state);
    if (step.to == state && !step.has_exceptions) return true;
  }
  if (!entry.is_plain_below) return false;
  const std::uint8_t plain = runner_.plain_run(state);
  return plain == Runner::kEndless || plain >= entry.below;
}

// Keeps what an entry's bytes lead to by depth, and passes over dead entries whole. So are those below which all tokens
// may follow.
Result<void> Masks::walk(const TokenTrie::Entries& tree, std::size_t begin, std::size_t end, StateId from,
                         bool skips_plain, Bits& bits) {
  constexpr std::size_t kFewEntries = 2;  // of which each is looked at
  path_[0] = from;
  for (std::size_t i = begin; i < end;) {
    const TokenTrie::Entry& entry = tree.entries[i];
    if (skips_plain && entry.is_plain_path && entry.is_plain_below) {
      i = entry.end;
      continue;
    }
    const StateId at = path_[entry.depth - 1u];
    StateId to = runner_.known_next(at, automaton_->class_of(entry.byte));
    if (to == Runner::kUnknown) {
      LOOM_TRY(to, runner_.next(at, entry.byte));
    }
    if (to == Runner::kDead) {
      i = entry.end;
      continue;
    }
    path_[entry.depth] = to;
    if (entry.end - i > kFewEntries && takes_all_below(entry, to)) {
      allow(tree, entry.tokens, tree.entries[entry.end].tokens, bits);
      i = entry.end;
      continue;
    }
    allow(tree, entry.tokens, tree.entries[i + 1].tokens, bits);
    ++i;
  }
  return {};
}

}  // namespace loom::grammar
