#pragma once
// Steps of read_folder_tokenizer(). Internal to lm/.

#include <optional>
#include <string>
#include <vector>

#include "core/json.h"
#include "lm/tokenizer_class.h"

namespace loom {

// The files of a folder; absent ones are null.
struct TokenizerFolder {
  Json model_config, config, tokens_map, added;
  Json file;  // tokenizer.json
};

// UnknownKey, Unsupported or InvalidConfig for the keys of a tokenizer_config.json.
Result<void> check_tokenizer_settings(const Json& config);
// Applies the settings that count with every class; returns whether the file changes.
Result<bool> apply_tokenizer_settings(const Json& model_config, const Json& config, Json& file);

// A special token with its name (bos_token, image_token..).
struct FolderToken {
  std::string content;
  bool single_word = false, lstrip = false, rstrip = false, normalized = false, special = false;
  std::int64_t id = -1;
  bool is_compared = true;  // with the texts of added_tokens.json: not where tokenizer_config.json has an object
};
struct NamedToken {
  std::string name;
  FolderToken token;
};
// Named special tokens of the class and the files, standard names first. special_tokens_map.json counts where the
// config has no added_tokens_decoder.
Result<std::vector<NamedToken>> named_tokens(const TokenizerFolder& folder, const TokenizerClass* tokenizer);
// Adds the tokens of all files to those of tokenizer.json, or, where `replaces`, writes them in place of those; returns
// whether the list changes.
Result<bool> add_folder_tokens(TokenizerFolder& folder, const TokenizerClass* tokenizer, bool replaces,
                               std::vector<NamedToken> names);

}  // namespace loom
