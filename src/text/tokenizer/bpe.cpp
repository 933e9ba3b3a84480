#include <algorithm>
#include <numeric>

#include "text/tokenizer/model.h"
#include "text/unicode/utf8.h"

namespace loom::text {
namespace {

constexpr std::uint32_t kEnd = 0xFFFFFFFFu;
constexpr std::size_t kShort = 24;  // symbols up to which a scan for the best pair beats a heap
constexpr std::size_t kMaxWord = std::size_t{1} << 31;

}  // namespace

Result<std::unique_ptr<BpeModel>> BpeModel::create(Vocab vocab, const std::vector<Merge>& merges, BpeConfig config,
                                                   bool replace) {
  auto model = std::make_unique<BpeModel>();
  model->vocab_ = std::move(vocab);
  model->config_ = std::move(config);
  const Vocab& v = model->vocab_;
  model->pairs_.reserve(merges.size());
  const std::size_t prefix = model->config_.continuing_prefix.size();
  std::string joined;
  for (std::size_t i = 0; i < merges.size(); ++i) {
    const auto& [left, right] = merges[i];
    const TokenId a = v.find(left), b = v.find(right);
    joined.assign(left);
    joined.append(right.substr(std::min(prefix, right.size())));
    const TokenId c = v.find(joined);
    if (a == kNoToken || b == kNoToken || c == kNoToken)
      return fail(Code::CorruptData, "merge {}: \"{}\" + \"{}\" names a token that the vocabulary lacks", i,
                  left.substr(0, 60), right.substr(0, 60));
    model->pairs_.add(a, b, static_cast<std::uint32_t>(i), c, replace);
  }
  LOOM_TRY_VOID(model->prepare());
  return model;
}

Result<std::unique_ptr<BpeModel>> BpeModel::from_scores(Vocab vocab, const std::vector<float>& scores,
                                                        BpeConfig config) {
  auto model = std::make_unique<BpeModel>();
  model->vocab_ = std::move(vocab);
  model->config_ = std::move(config);
  const Vocab& v = model->vocab_;
  // Rank of a token: how many distinct scores are better. Equal scores share a rank: the leftmost pair goes first.
  std::vector<TokenId> order(v.size());
  std::iota(order.begin(), order.end(), 0);
  const auto score = [&](TokenId id) {
    return static_cast<std::size_t>(id) < scores.size() ? scores[static_cast<std::size_t>(id)] : 0.0f;
  };
  for (TokenId id = 0; static_cast<std::size_t>(id) < v.size(); ++id)
    if (!(score(id) == score(id))) return fail(Code::CorruptData, "token {}: its score is not a number", id);
  std::stable_sort(order.begin(), order.end(), [&](TokenId a, TokenId b) { return score(a) > score(b); });
  std::vector<std::uint32_t> rank(v.size());
  for (std::size_t i = 0, r = 0; i < order.size(); ++i) {
    if (i > 0 && score(order[i]) != score(order[i - 1])) ++r;
    rank[static_cast<std::size_t>(order[i])] = static_cast<std::uint32_t>(r);
  }
  const auto symbol = [&](std::string_view part) {
    const TokenId id = v.find(part);
    return id != kNoToken ? id : model->extra_.find(part);
  };
  for (TokenId id = 0; static_cast<std::size_t>(id) < v.size(); ++id) {
    Result<void> added;
    for_each_code_point(v.text(id), [&](std::uint32_t c) {
      std::string one;
      append_utf8(one, c);
      if (symbol(one) == kNoToken)
        added = model->extra_.add(one, static_cast<TokenId>(std::max(v.size(), model->extra_.size())));
    });
    if (!added) return tl::make_unexpected(added.error());
  }
  constexpr std::size_t kMaxPairText = 4096;  // the splits of one token cost its square
  for (TokenId id = 0; static_cast<std::size_t>(id) < v.size(); ++id) {
    const std::string_view t = v.text(id);
    if (v.find(t) != id) continue;
    if (t.size() > kMaxPairText)
      return fail(Code::LimitExceeded, "token {} has {} bytes, at most {} are read", id, t.size(), kMaxPairText);
    const char* const end = t.data() + t.size();
    for (const char* p = t.data(); p < end;) {
      p += decode_utf8(p, end).length;
      if (p == end) break;
      const auto cut = static_cast<std::size_t>(p - t.data());
      const TokenId a = symbol(t.substr(0, cut)), b = a == kNoToken ? kNoToken : symbol(t.substr(cut));
      if (b != kNoToken) model->pairs_.add(a, b, rank[static_cast<std::size_t>(id)], id, true);
    }
  }
  LOOM_TRY_VOID(model->prepare());
  return model;
}

Result<void> BpeModel::prepare() {
  if (config_.unk) unk_ = vocab_.find(*config_.unk);  // a text that needs it fails where it is missing
  all_bytes_ = true;
  for (int b = 0; b < 256; ++b) {
    const auto byte = static_cast<std::uint8_t>(b);
    std::string name;
    if (config_.bytes)
      append_utf8(name, byte_level_char(byte));
    else
      name = byte_token(byte);
    byte_ids_[byte] = config_.bytes || config_.byte_fallback ? vocab_.find(name) : kNoToken;
    all_bytes_ = all_bytes_ && byte_ids_[byte] != kNoToken;
  }
  for (std::size_t c = 0; c < 128; ++c) {
    const char one = static_cast<char>(c);
    ascii_ids_[c] = symbol_of(std::string_view(&one, 1));
  }
  find_cuts();
  return {};
}

// Words may be cut before a space mark unless some token has the mark right after that character: no merge can cross
// the cut.
void BpeModel::find_cuts() {
  if (config_.bytes || !all_bytes_ || config_.ignore_merges || !config_.continuing_prefix.empty() ||
      !config_.end_suffix.empty())
    return;
  for (TokenId id = 0; static_cast<std::size_t>(id) < vocab_.size(); ++id) {
    const std::string_view t = vocab_.text(id);
    for (std::size_t at = t.find(kSpaceMark); at != std::string_view::npos; at = t.find(kSpaceMark, at + 1)) {
      if (at == 0 || (at >= 3 && t.substr(at - 3, 3) == kSpaceMark)) continue;
      // a merge of a byte token: any character could be that byte
      if (at >= 6 && byte_of_token(t.substr(at - 6, 6)) >= 0) return;
      glued_[static_cast<std::uint8_t>(t[at - 1])] = true;
    }
  }
  cuts_at_spaces_ = true;
}

TokenId BpeModel::symbol_of(std::string_view character) const {
  const TokenId id = vocab_.find(character);
  return id != kNoToken ? id : extra_.find(character);
}

void BpeModel::start_bytes(std::string_view word, ModelScratch& scratch) const {
  bool unk = false;
  for (const char c : word) {
    const TokenId id = byte_ids_[static_cast<std::uint8_t>(c)];
    if (id == kNoToken && unk_ == kNoToken) {
      ++scratch.dropped_bytes;
      continue;
    }
    if (id == kNoToken && unk && config_.fuse_unk) continue;
    unk = id == kNoToken;
    scratch.symbols.push_back({unk ? unk_ : id, 0, 0, kNoRank, kNoToken});
  }
}

// One symbol per character; what is unknown becomes bytes, or else unk.
void BpeModel::start(std::string_view word, ModelScratch& scratch) const {
  auto& symbols = scratch.symbols;
  const bool affixes = !config_.continuing_prefix.empty() || !config_.end_suffix.empty();
  bool pending_unk = false;
  const auto flush = [&] {
    if (pending_unk) symbols.push_back({unk_, 0, 0, kNoRank, kNoToken});
    pending_unk = false;
  };
  const char *p = word.data(), *const end = p + word.size();
  while (p < end) {
    const std::uint32_t length = decode_utf8(p, end).length;
    std::string_view s(p, length);
    TokenId id = kNoToken;
    if (affixes) {
      scratch.text.assign(p == word.data() ? std::string_view() : std::string_view(config_.continuing_prefix))
          .append(s);
      if (p + length == end) scratch.text.append(config_.end_suffix);
      s = scratch.text;
      id = symbol_of(s);
    } else {
      id =
          length == 1 && static_cast<std::uint8_t>(*p) < 128 ? ascii_ids_[static_cast<std::uint8_t>(*p)] : symbol_of(s);
    }
    p += length;
    if (id != kNoToken) {
      flush();
      symbols.push_back({id, 0, 0, kNoRank, kNoToken});
      continue;
    }
    if (config_.byte_fallback &&
        std::all_of(s.begin(), s.end(), [&](char c) { return byte_ids_[static_cast<std::uint8_t>(c)] != kNoToken; })) {
      for (const char c : s) symbols.push_back({byte_ids_[static_cast<std::uint8_t>(c)], 0, 0, kNoRank, kNoToken});
      continue;
    }
    if (unk_ == kNoToken) {
      scratch.dropped_bytes += length;
      continue;
    }
    // The last unk waits, so that more can fuse with it; bytes in between overtake it, as in the tokenizers package.
    if (pending_unk && !config_.fuse_unk) flush();
    pending_unk = true;
  }
  flush();
}

void BpeModel::rank_pair(Symbol& s, const std::vector<Symbol>& symbols) const {
  const PairTable::Entry* e = s.next == kEnd ? nullptr : pairs_.find(s.id, symbols[s.next].id);
  s.rank = e ? e->rank : kNoRank;
  s.merged = e ? e->merged : kNoToken;
}

void BpeModel::merge_short(std::vector<Symbol>& symbols) const {
  std::size_t n = symbols.size();
  const auto rank_at = [&](std::size_t i) {
    const PairTable::Entry* e = i + 1 < n ? pairs_.find(symbols[i].id, symbols[i + 1].id) : nullptr;
    symbols[i].rank = e ? e->rank : kNoRank;
    symbols[i].merged = e ? e->merged : kNoToken;
  };
  for (std::size_t i = 0; i < n; ++i) rank_at(i);
  while (true) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < n; ++i)
      if (symbols[i].rank < symbols[best].rank) best = i;
    if (symbols[best].rank == kNoRank) break;
    symbols[best].id = symbols[best].merged;
    std::copy(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 2, symbols.begin() + static_cast<std::ptrdiff_t>(n),
              symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    --n;
    rank_at(best);
    if (best > 0) rank_at(best - 1);
  }
  symbols.resize(n);
}

// The heap holds (rank, position), least first; an entry whose pair has changed since is skipped.
void BpeModel::merge_long(ModelScratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  const auto n = static_cast<std::uint32_t>(symbols.size());
  const auto offer = [&](std::uint32_t i) {
    rank_pair(symbols[i], symbols);
    if (symbols[i].rank == kNoRank) return false;
    heap.push_back(static_cast<std::uint64_t>(symbols[i].rank) << 32 | i);
    return true;
  };
  for (std::uint32_t i = 0; i < n; ++i) {
    symbols[i].previous = i == 0 ? kEnd : i - 1;
    symbols[i].next = i + 1 == n ? kEnd : i + 1;
  }
  for (std::uint32_t i = 0; i < n; ++i) offer(i);
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](std::uint32_t i) {
    if (offer(i)) std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    const auto rank = static_cast<std::uint32_t>(heap.back() >> 32), i = static_cast<std::uint32_t>(heap.back());
    heap.pop_back();
    Symbol& s = symbols[i];
    if (s.id == kNoToken || s.rank != rank) continue;
    const std::uint32_t gone = s.next;
    s.id = s.merged;
    s.next = symbols[gone].next;
    symbols[gone].id = kNoToken;
    if (s.next != kEnd) symbols[s.next].previous = i;
    push(i);
    if (s.previous != kEnd) push(s.previous);
  }
  std::erase_if(symbols, [](const Symbol& s) { return s.id == kNoToken; });
}

Result<void> BpeModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const {
  if (word.empty()) return {};
  if (word.size() >= kMaxWord)
    return fail(Code::LimitExceeded, "a word of {} bytes, at most 2 GiB are encoded", word.size());
  if (config_.ignore_merges) {
    if (config_.bytes) {
      scratch.text.clear();
      for (const char c : word) append_utf8(scratch.text, byte_level_char(static_cast<std::uint8_t>(c)));
    }
    const TokenId whole = vocab_.find(config_.bytes ? std::string_view(scratch.text) : word);
    if (whole != kNoToken) {
      ids.push_back(whole);
      return {};
    }
  }
  const std::size_t dropped = scratch.dropped_bytes;
  auto& symbols = scratch.symbols;
  symbols.clear();
  if (config_.bytes)
    start_bytes(word, scratch);
  else
    start(word, scratch);
  if (symbols.size() > kShort)
    merge_long(scratch);
  else if (symbols.size() > 1)
    merge_short(symbols);
  for (const Symbol& s : symbols) {
    if (static_cast<std::size_t>(s.id) < vocab_.size()) {
      ids.push_back(s.id);
      continue;
    }
    // A character that only occurs inside tokens and did not merge.
    for (const char c : extra_.text(s.id)) {
      const TokenId byte = byte_ids_[static_cast<std::uint8_t>(c)];
      if (byte != kNoToken || unk_ != kNoToken)
        ids.push_back(byte != kNoToken ? byte : unk_);
      else
        ++scratch.dropped_bytes;
    }
  }
  if (config_.unk && unk_ == kNoToken && scratch.dropped_bytes != dropped)
    return fail(Code::CorruptData,
                "the text has characters without a token, and the unk token \"{}\" is not in the vocabulary",
                config_.unk->substr(0, 60));
  return {};
}

}  // namespace loom::text
