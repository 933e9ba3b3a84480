#pragma once
// The facts that clients ask for of a model that is served.

#include <string>

#include "lm/encoder.h"
#include "lm/language_model.h"
#include "server/ollama.h"

namespace loom::server {

ModelCard card_of(const LanguageModel& model, const std::string& path, std::string name, std::size_t context_tokens,
                  bool has_tools);
ModelCard card_of(const TextEncoder& encoder, const std::string& folder, std::string name);

// Whether a path is the folder of a text encoder (config.json of model_type bert).
bool is_encoder(const std::string& path);

}  // namespace loom::server
