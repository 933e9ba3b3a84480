#pragma once
// The tokenizer of a Hugging Face folder as AutoTokenizer of transformers 5.24 makes it: tokenizer.json with what
// tokenizer_config.json, special_tokens_map.json, added_tokens.json and the tokenizer's class change.

#include <span>
#include <string>
#include <string_view>

#include "core/file_set.h"
#include "core/json.h"
#include "lm/chat_files.h"

namespace loom {

// How a key of tokenizer_config.json is treated.
enum class SettingUse { Read, Harmless, Refused };
struct TokenizerSetting {
  std::string_view key;
  SettingUse use;
  std::string_view reason;  // why it is harmless or refused
};
// All keys that are known. Others that end in _token name a special token; the rest is refused.
std::span<const TokenizerSetting> tokenizer_settings();

struct FolderTokenizer {
  std::string json;           // text of a tokenizer.json; empty: the folder has none
  NamedTexts special_tokens;  // by name (bos_token, pad_token, image_token..), those that the class supposes included
};
// Errors carry the path of the file: CorruptData, InvalidConfig, UnknownKey; Unsupported for keys and classes whose
// effect is not known.
Result<FolderTokenizer> read_folder_tokenizer(const FileSet& files);

}  // namespace loom
