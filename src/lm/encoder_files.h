#pragma once
// The small files beside an encoder's weights.

#include "lm/encoder.h"

namespace loom::encoder_files {

Result<EncoderConfig> read_config(const std::string& folder);
struct Modules {
  PoolingConfig pooling;
  std::vector<EncoderModule> after;
};
// modules.json and the configs of what it lists. Unsupported for other modules, and for modules in another order.
Result<Modules> read_modules(const std::string& folder, std::size_t hidden_size);
// The most tokens by sentence_bert_config.json, else by tokenizer_config.json, where one of them says so.
Result<std::optional<std::size_t>> read_max_length(const std::string& folder);
// config_sentence_transformers.json.
Result<EncoderPrompts> read_prompts(const std::string& folder);

}  // namespace loom::encoder_files
