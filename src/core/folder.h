#pragma once
// Folders, by what every host of ours has (std::filesystem is missing under WASI).

#include <string>
#include <vector>

#include "core/error.h"

namespace loom {

// The folder and those above it that are missing. NotFound, IoError, DiskFull.
Result<void> create_folders(const std::string& path);

// Names in a folder, hidden ones left out, by their bytes. NotFound, IoError.
Result<std::vector<std::string>> visible_names_in(const std::string& folder);

}  // namespace loom
