#pragma once
// Writes the vocabulary of a GGUF file as the two files of a Hugging Face folder.

#include <string>

#include "text/tokenizer/tokenizer.h"

namespace loom::text {

struct TokenizerFiles {
  std::string tokenizer_json, tokenizer_config_json;
};
// The ids of the tokenizers package for these files are those of Tokenizer::from_vocab(). Unsupported for kinds whose
// rules a tokenizer.json cannot express ("bert" with its marks, "t5", "gemma4"); errors of Tokenizer::from_vocab().
Result<TokenizerFiles> write_tokenizer_files(const VocabSpec& vocab);

}  // namespace loom::text
