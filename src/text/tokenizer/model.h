#pragma once
// Models that turn one pre-token into ids. Four kinds: byte-pair merging, unigram language model, longest match
// (WordPiece), whole words (WordLevel).

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/trie.h"
#include "text/tokenizer/vocab.h"

namespace loom::text {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581, how SentencePiece writes a space

// Buffers of one encode call.
struct ModelScratch {
  struct Symbol {
    TokenId id;
    std::uint32_t previous, next;  // neighbours that are left
    std::uint32_t rank;            // of the pair with `next`; kNoRank: does not merge
    TokenId merged;
  };
  std::vector<Symbol> symbols;
  std::vector<std::uint64_t> heap;
  std::string text;
  std::vector<std::uint32_t> back;  // unigram: start of the best piece that ends at each byte
  std::vector<TokenId> back_id;
  std::vector<double> best;
  std::size_t dropped_bytes = 0;  // without a token, see Encoded
};

class Model {
 public:
  virtual ~Model() = default;
  // Appends the ids of `word`.
  virtual Result<void> encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const = 0;
  // Where the table is not null, encode(a + b) = encode(a) + encode(b) if b starts with U+2581, a does not end with it,
  // and the table is false for a's last byte. Long texts are cut into words that repeat by it.
  virtual const std::array<bool, 256>* glued_to_spaces() const { return nullptr; }
  const Vocab& vocab() const { return vocab_; }

 protected:
  Vocab vocab_;
};

struct BpeConfig {
  std::optional<std::string> unk;
  std::string continuing_prefix, end_suffix;
  bool fuse_unk = false, byte_fallback = false, ignore_merges = false;
  bool bytes = false;  // words come as bytes and the vocabulary spells them in byte-level characters
};

class BpeModel final : public Model {
 public:
  static constexpr std::uint32_t kNoRank = 0xFFFFFFFFu;
  struct Merge {
    std::string_view left, right;
  };
  // CorruptData when a merge or the unk token names what the vocabulary lacks. `replace`: of equal merges the last one
  // counts.
  static Result<std::unique_ptr<BpeModel>> create(Vocab vocab, const std::vector<Merge>& merges, BpeConfig config,
                                                  bool replace);
  // SentencePiece: any two neighbours whose joined text is a token merge, best score first.
  static Result<std::unique_ptr<BpeModel>> from_scores(Vocab vocab, const std::vector<float>& scores, BpeConfig config);

  Result<void> encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const override;
  const std::array<bool, 256>* glued_to_spaces() const override { return cuts_at_spaces_ ? &glued_ : nullptr; }

 private:
  using Symbol = ModelScratch::Symbol;
  Result<void> prepare();
  void find_cuts();
  void start(std::string_view word, ModelScratch& scratch) const;
  void start_bytes(std::string_view word, ModelScratch& scratch) const;
  void rank_pair(Symbol& s, const std::vector<Symbol>& symbols) const;
  void merge_short(std::vector<Symbol>& symbols) const;
  void merge_long(ModelScratch& scratch) const;
  TokenId symbol_of(std::string_view character) const;

  BpeConfig config_;
  PairTable pairs_;
  // characters that are part of tokens but no tokens themselves, from id vocab_.size() on
  Vocab extra_;
  std::array<TokenId, 256> byte_ids_{};  // of the byte's token; kNoToken
  std::array<TokenId, 128> ascii_ids_{};
  TokenId unk_ = kNoToken;
  bool all_bytes_ = false, cuts_at_spaces_ = false;
  std::array<bool, 256> glued_{};
};

struct UnigramConfig {
  TokenId unk = kNoToken;
  bool byte_fallback = false;
  bool fuse_unk = true;
};

class UnigramModel final : public Model {
 public:
  static Result<std::unique_ptr<UnigramModel>> create(Vocab vocab, std::vector<double> scores, UnigramConfig config);
  Result<void> encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  Result<void> append_unknown(std::string_view piece, std::vector<TokenId>& ids) const;
  UnigramConfig config_;
  std::vector<double> scores_;
  Trie trie_;
  double unk_score_ = 0;
  std::array<TokenId, 256> byte_ids_{};
};

struct WordPieceConfig {
  TokenId unk = kNoToken;  // without one, words that need it are an error
  std::string continuing_prefix = "##";
  std::size_t max_chars = 100;
  std::string word_prefix;  // GGUF vocabularies mark the start of a word instead of its continuation
};

class WordPieceModel final : public Model {
 public:
  static Result<std::unique_ptr<WordPieceModel>> create(Vocab vocab, WordPieceConfig config);
  Result<void> encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  Result<void> append_unknown(std::string_view word, std::vector<TokenId>& ids) const;
  WordPieceConfig config_;
  Trie trie_;
};

// Every word is a token or unk.
class WordLevelModel final : public Model {
 public:
  WordLevelModel(Vocab vocab, TokenId unk) : unk_(unk) { vocab_ = std::move(vocab); }
  Result<void> encode(std::string_view word, ModelScratch& scratch, std::vector<TokenId>& ids) const override;

 private:
  TokenId unk_;
};

}  // namespace loom::text
