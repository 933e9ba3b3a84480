#pragma once
// A language model as a user knows it: a GGUF file, a Hugging Face folder or an .entity becomes a network, a tokenizer
// and a chat template.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/byte_source.h"
#include "core/file_set.h"
#include "grammar/token_trie.h"
#include "lm/chat_files.h"
#include "lm/decoder.h"
#include "lm/model_contents.h"
#include "text/template/chat_template.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

struct LanguageModel {
  std::string path;
  ModelFormat format = ModelFormat::Gguf;
  // made as one that is not const: who alone holds it may change its adapters
  std::shared_ptr<const DecoderModel> decoder;
  std::shared_ptr<const text::Tokenizer> tokenizer;  // null: the model brings none, or one that cannot be read
  std::optional<ChatTemplate> chat_template;         // the default one; absent: none, or one that cannot be read
  std::map<std::string, Result<ChatTemplate>> named_templates;  // others, as "tool_use"
  // why it cannot be read: token ids, and plain text, need it not
  std::optional<Error> tokenizer_error, template_error;
  std::string bos_token, eos_token;  // texts for the template; empty: none
  NamedTexts special_tokens;         // others by name, as "pad_token"
  // ascending: end-of-sequence tokens of every config, ends of a turn by their texts
  std::vector<std::int32_t> stop_ids;
  double load_ms = 0;
  std::string dtype;  // that the weights were turned into on load; empty: as stored
  // PEFT folders of adapters beside those that the model brings, with their names: whoever adds or drops one keeps it
  std::vector<std::pair<std::string, std::string>> adapter_folders;

  // of tokens by their bytes, for grammars; copies of the model share it
  std::shared_ptr<TokenTrieCache> token_tries = std::make_shared<TokenTrieCache>();

  // With NotFound, NoTemplate or what was wrong with it.
  Result<const text::Tokenizer*> need_tokenizer() const;
  Result<const ChatTemplate*> need_template(std::string_view name = kDefaultTemplate) const;
  // Made by the first call. Special tokens have no text but `visible` ones.
  Result<std::shared_ptr<const TokenTrie>> token_trie(std::span<const std::int32_t> visible = {}) const;
};

struct ModelOptions {
  int threads = 0;                     // for loading; 0: one per physical core; not read where there is a pool
  std::shared_ptr<ThreadPool> pool{};  // null: one of its own
  DecoderOptions decoder;
  // PEFT folders (lm/peft.h), named by their position: "0", "1"..., beside those that the model brings
  std::vector<std::string> adapters;
};

// Returns the format of the model at a path without building it. NotFound, or Unsupported with what was found and what
// is read.
Result<ModelFormat> model_format(const std::string& path);

// Errors carry the path, or the name of the source.
Result<LanguageModel> load_language_model(const std::string& path, const ModelOptions& options = {});
Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::string& path);  // also a tokenizer.json alone
// From memory, a part of a file or a callback: a GGUF, an .entity, for the tokenizer also a tokenizer.json. The model
// holds copies of all it needs: memory of the caller is read during the call and not later.
Result<LanguageModel> load_language_model(std::shared_ptr<const ByteSource> source, const ModelOptions& options = {});
// From the files of a Hugging Face folder. InvalidArgument for one in memory that is not read.
Result<LanguageModel> load_language_model(const FileSet& files, const ModelOptions& options = {});
Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const std::shared_ptr<const ByteSource>& source);

// All that a path holds, for loading it and for writing it in another format. The errors of load_language_model(), but
// for the tensors of an .entity: their hashes are checked when source_matrix() reads them.
Result<ModelContents> read_model(const std::string& path);
Result<ModelContents> read_model(const std::shared_ptr<const ByteSource>& source);

}  // namespace loom
