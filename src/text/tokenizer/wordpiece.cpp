#include <algorithm>

#include "text/tokenizer/model.h"
#include "text/unicode/utf8.h"

namespace loom::text {

Result<std::unique_ptr<WordPieceModel>> WordPieceModel::create(Vocab vocab, WordPieceConfig config) {
  auto model = std::make_unique<WordPieceModel>();
  model->vocab_ = std::move(vocab);
  model->config_ = std::move(config);
  LOOM_TRY(model->trie_, Trie::of(model->vocab_));
  return model;
}

Result<void> WordPieceModel::append_unknown(std::string_view word, std::vector<TokenId>& ids) const {
  if (config_.unk == kNoToken)
    return fail(Code::CorruptData, "\"{}\" has no token, and the vocabulary has no unk token",
                to_valid_utf8(word.substr(0, 40)));
  ids.push_back(config_.unk);
  return {};
}

// Takes the longest piece that the vocabulary has, again and again; a word that cannot be covered is one unk.
Result<void> WordPieceModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const {
  if (word.empty()) return {};
  std::size_t chars = 0;
  for_each_code_point(word, [&](std::uint32_t) { ++chars; });
  if (chars > config_.max_chars) return append_unknown(word, ids);
  const std::uint32_t inside = trie_.walk(Trie::kRoot, config_.continuing_prefix);
  const std::size_t before = ids.size();
  if (!config_.word_prefix.empty()) {
    scratch.text.assign(config_.word_prefix).append(word);
    word = scratch.text;
  }
  for (std::size_t begin = 0; begin < word.size();) {
    TokenId id = kNoToken;
    std::size_t end = begin;
    std::uint32_t node = begin > 0 ? inside : Trie::kRoot;
    for (std::size_t i = begin; node != Trie::kNowhere && i < word.size();) {
      node = trie_.next(node, static_cast<std::uint8_t>(word[i++]));
      if (node == Trie::kNowhere || trie_.token(node) == kNoToken) continue;
      id = trie_.token(node);
      end = i;
    }
    if (id == kNoToken) {
      ids.resize(before);
      return append_unknown(word, ids);
    }
    ids.push_back(id);
    begin = end;
  }
  return {};
}

Result<void> WordLevelModel::encode(std::string_view word, ModelScratch&, std::vector<TokenId>& ids) const {
  if (word.empty()) return {};
  const TokenId id = vocab_.find(word);
  if (id == kNoToken && unk_ == kNoToken)
    return fail(Code::CorruptData, "\"{}\" has no token, and the vocabulary has no unk token",
                to_valid_utf8(word.substr(0, 40)));
  ids.push_back(id == kNoToken ? unk_ : id);
  return {};
}

}  // namespace loom::text
