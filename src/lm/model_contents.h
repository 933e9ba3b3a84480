#pragma once
// A language model as its file has it, before anything is built. The tensors point into the map that they keep alive.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lm/chat_files.h"
#include "lm/decoder.h"
#include "lm/peft.h"
#include "text/tokenizer/tokenizer.h"

namespace loom {

// The files that a language model is read from.
enum class ModelFormat : std::uint8_t { Gguf, HuggingFace, Entity };
constexpr std::string_view name(ModelFormat format) {
  constexpr std::string_view kNames[] = {"gguf", "huggingface", "entity"};
  return kNames[static_cast<std::size_t>(format)];
}

struct ModelContents {
  ModelFormat format = ModelFormat::Gguf;
  DecoderSource source;
  std::string tokenizer_json;            // text of a tokenizer.json,
  std::optional<text::VocabSpec> vocab;  // or the vocabulary of a GGUF; neither: the model brings none
  std::string tokenizer_place;           // file of the tokenizer, for messages
  std::string chat_template;             // the default one; empty: none
  NamedTexts named_templates;            // others by name
  std::vector<PeftDelta> adapters;       // that it keeps beside its weights, each of another name
  std::string licence;                   // its name or text, for who passes the model on; empty: none is named
  // Texts for the template; absent: those of the tokenizer's own ids.
  std::optional<std::string> bos_token, eos_token;
  NamedTexts special_tokens;  // others by name, as "pad_token"
};

}  // namespace loom
