#pragma once
// Where the name of a model leads: a path, or the id of a model of the Hugging Face hub in the cache of
// huggingface_hub.

#include <string>

#include "core/error.h"

namespace loom {

// Returns a path that exists as it is. "ORG/NAME" and "ORG/NAME/FOLDER-OR-FILE" lead into the newest snapshot under
// HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub: the snapshot's folder, or its only GGUF file. Nothing is
// downloaded: NotFound names the cache and the command that fetches the model.
Result<std::string> find_model(const std::string& name);

// For the error about a folder without config.json: what in it could have been meant; empty where there is nothing.
std::string models_below(const std::string& folder);

}  // namespace loom
