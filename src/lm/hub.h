#pragma once
// Where the name of a model leads: a path, or the id of a model of the Hugging Face hub in the cache of
// huggingface_hub.

#include <string>
#include <string_view>

#include "core/error.h"

namespace loom {

// Returns a path that exists as it is. "ORG/NAME" and "ORG/NAME/FOLDER-OR-FILE" lead into the newest snapshot of
// hub_cache(): the snapshot's folder, or its only GGUF file. "ORG/NAME:CHOICE" leads to a file of the snapshot by its
// path or by the quantisation of a GGUF file. Nothing is downloaded: NotFound names the cache and the command that
// fetches the model.
Result<std::string> find_model(const std::string& name);

// The folder of huggingface_hub's cache: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub or
// ~/.cache/huggingface/hub.
std::string hub_cache();
// The folder of huggingface_hub's settings: HF_HOME or ~/.cache/huggingface.
std::string hub_home();

// "org", "name" and the rest of a model's id; no name where a text can be no id.
struct HubId {
  std::string org, name;
  std::string below;   // after "ORG/NAME/"
  std::string choice;  // after "ORG/NAME:"
};
HubId hub_id(const std::string& text);

// Returns "Q4_K_M" of "Model-7B.Q4_K_M.gguf"; empty where the name of a GGUF file does not end in a quantisation.
std::string quantisation_of(std::string_view file);
// Returns whether both name the same quantisation; case does not count.
bool is_quantisation(std::string_view file, std::string_view quantisation);

// For the error about a folder without config.json: what in it could have been meant; empty where there is nothing.
std::string models_below(const std::string& folder);

}  // namespace loom
