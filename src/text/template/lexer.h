#pragma once
// Template text to tokens, with jinja2's trim_blocks and lstrip_blocks.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.h"

namespace loom::jinja {

enum class TokenKind : std::uint8_t {
  Data,
  VariableBegin,
  VariableEnd,
  BlockBegin,
  BlockEnd,
  Name,
  String,
  Integer,
  Float,
  Operator,
  End
};

struct Token {
  TokenKind kind = TokenKind::End;
  std::uint32_t line = 1;
  std::string text;  // Data and String: the decoded text; Operator: its characters
};

// TemplateError with the line.
Result<std::vector<Token>> tokenize(std::string_view source);

}  // namespace loom::jinja
