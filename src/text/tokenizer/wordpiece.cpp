#include <algorithm>

#include "text/tokenizer/model.h"
#include "text/unicode/utf8.h"

namespace loom::text {

Result<std::unique_ptr<WordPieceModel>> WordPieceModel::create(Vocab vocab, WordPieceConfig config) {
  auto model = std::make_unique<WordPieceModel>();
  model->vocab_ = std::move(vocab);
  model->config_ = std::move(config);
  if (model->config_.unk == kNoToken) return fail(Code::CorruptData, "model WordPiece: the unk token is not in the vocabulary");
  return model;
}

// Takes the longest piece that the vocabulary has, again and again; a word that cannot be covered is one unk.
Result<void> WordPieceModel::encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const {
  if (word.empty()) return {};
  std::size_t chars = 0;
  for_each_code_point(word, [&](std::uint32_t) { ++chars; });
  if (chars > config_.max_chars) return ids.push_back(config_.unk), Result<void>();
  std::string& text = scratch.text;
  const std::size_t before = ids.size();
  std::string marked;
  if (!config_.word_prefix.empty()) word = marked.append(config_.word_prefix).append(word);
  for (std::size_t begin = 0; begin < word.size();) {
    text.clear();
    if (begin > 0) text = config_.continuing_prefix;
    const std::size_t prefix = text.size();
    text.append(word.substr(begin, vocab_.max_length()));
    TokenId id = kNoToken;
    for (; text.size() > prefix; text.pop_back())
      if ((id = vocab_.find(text)) != kNoToken) break;
    if (id == kNoToken) {
      ids.resize(before);
      ids.push_back(config_.unk);
      return {};
    }
    ids.push_back(id);
    begin += text.size() - prefix;
  }
  return {};
}

}  // namespace loom::text
