// Finds a model by its path or hub id in huggingface_hub's cache; nothing is downloaded.
#pragma once

#include <loom/loom.hpp>

#include <string>

namespace loom_godot {

// Returns the path; NOT_FOUND has the command that fetches a hub id.
loom::Result<std::string> find_model(const std::string& name);

}  // namespace loom_godot
