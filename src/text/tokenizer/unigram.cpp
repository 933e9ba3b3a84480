#include <algorithm>
#include <cmath>
#include <limits>

#include "text/tokenizer/model.h"
#include "text/unicode/utf8.h"

namespace loom::text {

Result<std::unique_ptr<UnigramModel>> UnigramModel::create(Vocab vocab, std::vector<double> scores,
                                                           UnigramConfig config) {
  constexpr std::size_t kMaxPiece = 4096;
  auto model = std::make_unique<UnigramModel>();
  model->vocab_ = std::move(vocab);
  model->scores_ = std::move(scores);
  model->config_ = config;
  const Vocab& v = model->vocab_;
  if (v.max_length() > kMaxPiece)
    return fail(Code::LimitExceeded, "model Unigram: a token has {} bytes, at most {} are read", v.max_length(),
                kMaxPiece);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < model->scores_.size(); ++i) {
    const double s = model->scores_[i];
    if (!(s > -1e300 && s < 1e300))
      return fail(Code::CorruptData, "model Unigram: the score of token {} is no finite number", i);
    least = std::min(least, s);
  }
  if (model->scores_.empty()) return fail(Code::CorruptData, "model Unigram: the vocabulary is empty");
  LOOM_TRY(model->trie_, Trie::of(v));
  model->unk_score_ = least - 10.0;  // SentencePiece's penalty
  for (int b = 0; b < 256; ++b)
    model->byte_ids_[static_cast<std::size_t>(b)] =
        config.byte_fallback ? v.find(byte_token(static_cast<std::uint8_t>(b))) : kNoToken;
  return model;
}

Result<void> UnigramModel::append_unknown(std::string_view piece, std::vector<TokenId>& ids) const {
  // Several pieces that were joined may be a token, such as the unk token's own text.
  if (const TokenId id = vocab_.find(piece); id != kNoToken) {
    ids.push_back(id);
    return {};
  }
  const bool bytes = std::all_of(piece.begin(), piece.end(),
                                 [&](char c) { return byte_ids_[static_cast<std::uint8_t>(c)] != kNoToken; });
  if (bytes) {
    for (const char c : piece) ids.push_back(byte_ids_[static_cast<std::uint8_t>(c)]);
    return {};
  }
  if (config_.unk == kNoToken)
    return fail(Code::CorruptData, "\"{}\" has no token and the vocabulary has no unk",
                to_valid_utf8(piece.substr(0, 60)));
  ids.push_back(config_.unk);
  return {};
}

// Viterbi: the best sum of scores over all ways to cut the word. Neighbouring unknown characters become one unknown
// piece, and so do those that are spelled like the unk token, as in the tokenizers package.
Result<void> UnigramModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const {
  const std::size_t n = word.size();
  if (n == 0) return {};
  auto& best = scratch.best;
  best.assign(n + 1, -std::numeric_limits<double>::infinity());
  scratch.back.assign(n + 1, 0);
  scratch.back_id.assign(n + 1, kNoToken);
  best[0] = 0;
  for (std::size_t i = 0; i < n;) {
    const std::size_t step = decode_utf8(word.data() + i, word.data() + n).length;
    const auto offer = [&](std::size_t length, TokenId id, double score) {
      if (!(best[i] + score > best[i + length])) return;
      best[i + length] = best[i] + score;
      scratch.back[i + length] = static_cast<std::uint32_t>(i);
      scratch.back_id[i + length] = id;
    };
    bool single = false;
    std::uint32_t node = Trie::kRoot;
    for (std::size_t length = 1; length <= n - i; ++length) {
      node = trie_.next(node, static_cast<std::uint8_t>(word[i + length - 1]));
      if (node == Trie::kNowhere) break;
      const TokenId id = trie_.token(node);
      if (id == kNoToken) continue;
      single = single || length == step;
      offer(length, id, scores_[static_cast<std::size_t>(id)]);
    }
    if (!single) offer(step, kNoToken, unk_score_);
    i += step;
  }
  // Walk back, then turn round.
  std::vector<std::uint32_t>& ends = scratch.back;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pieces;
  for (std::size_t end = n; end > 0; end = ends[end]) pieces.emplace_back(ends[end], static_cast<std::uint32_t>(end));
  const auto is_unknown = [&](std::size_t end) {
    const TokenId id = scratch.back_id[end];
    return id == kNoToken || (config_.fuse_unk && id == config_.unk);
  };
  for (std::size_t k = pieces.size(); k-- > 0;) {
    const auto [begin, end] = pieces[k];
    const TokenId id = scratch.back_id[end];
    if (!is_unknown(end)) {
      ids.push_back(id);
      continue;
    }
    std::uint32_t last = end;
    while (config_.fuse_unk && k > 0 && is_unknown(pieces[k - 1].second)) last = pieces[--k].second;
    LOOM_TRY_VOID(append_unknown(word.substr(begin, last - begin), ids));
  }
  return {};
}

}  // namespace loom::text
