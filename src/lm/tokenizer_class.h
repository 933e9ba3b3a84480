#pragma once
// The tokenizer classes of transformers 5 that build a tokenizer of their own from the vocabulary of a tokenizer.json.
// Internal to lm/.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json.h"
#include "lm/chat_files.h"

namespace loom {

// Settings of a tokenizer_config.json and special_tokens_map.json that a class reads.
struct ClassSettings {
  const Json& config;   // an object
  NamedTexts tokens{};  // special tokens by name, the class's own included
};

struct TokenizerClass {
  using Names = std::vector<std::pair<std::string_view, std::string_view>>;
  std::string_view name;
  // Special tokens that the class has where no file names them.
  Names tokens;
  // Others that it adds without a name.
  std::vector<std::string> (*more_tokens)(const Json& config);
  // Returns whether the steps of a tokenizer.json are the ones that the class has, with any settings. Where they are
  // not, the class would drop steps that the vocabulary was made with, and the file counts.
  bool (*fits)(const Json& file);
  // Writes the model's settings, normalizer, pre_tokenizer and decoder of the class.
  Result<void> (*rebuild)(Json& file, const ClassSettings& settings);
  // Writes the post_processor of the class; null: the one of the file stays. Called once the special tokens are added.
  void (*surround)(Json& file, const ClassSettings& settings);
  // Keys of tokenizer_config.json that it reads.
  std::vector<std::string_view> keys;
};

// The class of a name, or null for one that takes tokenizer.json as it is.
const TokenizerClass* tokenizer_class(std::string_view name);
// Returns whether transformers has a class of that name that builds a tokenizer which Loom does not know.
bool is_unknown_tokenizer_class(std::string_view name);
// The name of the class that AutoTokenizer of transformers 5.24 takes: by config.json, tokenizer_config.json, and
// whether tokenizer.json has byte-level steps. Empty: none.
std::string tokenizer_class_name(const Json& model_config, const Json& tokenizer_config, bool is_byte_level);

// The id that a tokenizer.json has for a text, -1 without one.
std::int64_t token_id_of(const Json& file, std::string_view text);

}  // namespace loom
