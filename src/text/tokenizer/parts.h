#pragma once
// The inside of a Tokenizer. Internal to tokenizer/.

#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/decoder.h"
#include "text/tokenizer/model.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/tokenizer.h"

namespace loom::text {

struct Tokenizer::Parts {
  NormalizerPtr normalizer;  // may be null
  std::vector<PreTokenizerPtr> pre_tokenizers;
  std::unique_ptr<Model> model;
  std::vector<TokenId> prefix, suffix;  // what the post-processor puts around a text
  std::vector<DecodeStepPtr> decoders;
  std::vector<AddedToken> added;
  std::optional<std::vector<std::string>> control_tokens;  // chat_control_tokens
  bool encode_special_tokens = false;                      // special tokens in a text are never markers
  TokenMatcher raw_matcher, normalized_matcher;  // over the text before and after normalisation; values index `added`
  Vocab added_vocab;
  std::vector<bool> special;  // by id
  std::optional<TokenId> bos, eos;
  std::size_t vocab_size = 0;
  std::size_t longest_token = 1;  // in bytes, within bounds: some files hold a page of text as one token

  std::string_view text(TokenId id) const {
    return added_vocab.has(id) ? added_vocab.text(id) : model->vocab().text(id);
  }
  bool has(TokenId id) const { return id >= 0 && (added_vocab.has(id) || model->vocab().has(id)); }
  bool is_special(TokenId id) const {
    return id >= 0 && static_cast<std::size_t>(id) < special.size() && special[static_cast<std::size_t>(id)];
  }
};

struct TokenizerBuilder {
  using Parts = Tokenizer::Parts;
  // Builds the matchers and tables from `added`; checks ids.
  static Result<Tokenizer> finish(std::unique_ptr<Parts> parts);
};

}  // namespace loom::text
