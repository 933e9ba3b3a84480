#pragma once
// Text to token ids and back. Loaded from a tokenizer.json or from the vocabulary of a GGUF file; the ids equal those
// of the tokenizers package and of llama.cpp. Invalid UTF-8 is kept: it becomes byte tokens where the vocabulary has
// them. A Tokenizer is immutable: any number of threads may use one.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::text {

// The tokenizer.ggml.* values of a GGUF file, under their names.
struct VocabSpec {
  // "gpt2" (byte-level BPE), "llama" (SentencePiece BPE), "bert" (WordPiece), "t5" (unigram), "gemma4" (BPE over text)
  std::string model;
  std::string pre;  // how the text is cut: "smollm", "llama-bpe", "qwen2"..., empty: "default"
  std::vector<std::string> tokens;
  std::vector<float> scores;  // empty or one per token
  // empty or one per token: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte
  std::vector<std::int32_t> types;
  std::vector<std::string> merges;  // "left right"
  std::string precompiled_charsmap;
  std::optional<std::int32_t> bos, eos, unk, sep, pad, cls, mask;
  std::optional<bool> add_bos, add_eos, add_sep, add_space_prefix, remove_extra_whitespaces;
  std::optional<bool> blanks_go_with_markers;  // of Phi-3: no key says so, see general_name()
  // Sets the options that follow from the model's name (general.name).
  void general_name(std::string_view name);
};

struct EncodeOptions {
  bool add_special_tokens = true;  // what the vocabulary puts around a text (<s> and the like)
  // "<|im_end|>" in the text is the marker; false: it is ordinary text (texts from users)
  bool parse_special = true;
  // false: no added token is looked for, special or not
  bool parse_added = true;
  // Room of the caller: encoding stops with ContextFull once there are more tokens, and does not begin with a text that
  // is longer than so many of the longest token.
  std::size_t max_tokens = static_cast<std::size_t>(-1);
};
struct Encoded {
  // Bytes of the text without a token, where the vocabulary has no unk either: left out, as the tokenizers package and
  // llama.cpp do, but never silently. 0 for complete vocabularies; SmolLM2's lacks some control characters and bytes
  // that are never UTF-8.
  std::size_t dropped_bytes = 0;
};
struct DecodeOptions {
  bool skip_special_tokens = true;
};

// Texts that end a turn or a text in the vocabularies of chat models. Converters often name one of them and leave out
// the others, so llama.cpp finds them by text too; </s> and its like are ordinary pieces elsewhere and stay out.
std::span<const std::string_view> end_markers();

class IncrementalDecoder;

class Tokenizer {
 public:
  // Unsupported names an unknown component; CorruptData, OutOfRange, LimitExceeded for files that make no sense.
  static Result<Tokenizer> from_json(std::string_view tokenizer_json);
  static Result<Tokenizer> from_vocab(VocabSpec spec);
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  // Replaces the content of `ids`. Fails on limits (2 GiB of text, the step budget of a pattern) and where a unigram
  // vocabulary has no unk.
  Result<Encoded> encode(std::string_view text, EncodeOptions options, std::vector<std::int32_t>& ids) const;
  // Bytes; not valid UTF-8 when the ids are not. Ids without a text add nothing.
  std::string decode(std::span<const std::int32_t> ids, DecodeOptions options = {}) const;

  std::size_t vocab_size() const;                      // one more than the greatest id
  std::string_view token_text(std::int32_t id) const;  // as the vocabulary spells it; empty for an unknown id
  std::optional<std::int32_t> id_of(std::string_view text) const;
  bool is_special(std::int32_t id) const;
  bool is_added(std::string_view text) const;  // whether an added token has this text
  // Texts that steer a model: special tokens, and other added tokens that tokenizer_config.json lists as
  // chat_control_tokens or, without such a list, that `template_text` contains.
  std::vector<std::string> control_tokens(std::string_view template_text) const;
  std::optional<std::int32_t> bos() const;
  std::optional<std::int32_t> eos() const;

  struct Parts;  // parts.h

 private:
  friend class IncrementalDecoder;
  friend struct TokenizerBuilder;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

// Decodes id by id. The pieces of push() and finish(), joined, equal decode() of all ids; no piece ends inside a UTF-8
// sequence that the next ids can complete. The tokenizer must outlive it.
class IncrementalDecoder {
 public:
  explicit IncrementalDecoder(const Tokenizer& tokenizer, DecodeOptions options = {});
  IncrementalDecoder(IncrementalDecoder&&) noexcept;
  ~IncrementalDecoder();
  std::string push(std::int32_t id);
  std::string finish();  // what was held back; the decoder is then as new

 private:
  struct State;
  std::string settle(std::string bytes, bool last);
  const Tokenizer* tokenizer_;
  DecodeOptions options_;
  std::unique_ptr<State> state_;
};

}  // namespace loom::text
