#pragma once
// Texts of strangers inside of a prompt: control tokens in them are read as text, those that a chat template writes
// stay control tokens. As apply_chat_template(..., sanitize_control_tokens=True) of transformers 5.24.

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/tokenizer.h"

namespace loom::text {

// Wraps control tokens in private characters, U+F0000 and U+F0001, so that they differ from those of a template.
class PlainTextMarker {
 public:
  // `template_text`: what the template writes, see Tokenizer::control_tokens().
  PlainTextMarker(const Tokenizer& tokenizer, std::string_view template_text);
  // Drops private characters that the text already has, then marks its control tokens.
  std::string mark(std::string_view text) const;

 private:
  std::vector<std::string> tokens_;  // the longest first
  std::array<bool, 256> begins_{};   // whether one begins with the byte
};

// The text without marks.
std::string without_marks(std::string_view text);
bool has_marks(std::string_view text);

// Encodes a prompt that was rendered from marked texts, without special tokens around it. Marks that a template tore
// apart are dropped, and the text beside them does not join into a token. Unsupported where the vocabulary makes a
// control token of plain text; errors of Tokenizer::encode().
Result<Encoded> encode_marked(const Tokenizer& tokenizer, std::string_view text, std::size_t max_tokens,
                              std::vector<std::int32_t>& ids);

}  // namespace loom::text
