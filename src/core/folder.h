#pragma once
// Folders for what is written; by POSIX calls, which every host of ours has (std::filesystem is missing under WASI).

#include <string>

#include "core/error.h"

namespace loom {

// The folder and those above it that are missing. IoError, DiskFull.
Result<void> create_folders(const std::string& path);

}  // namespace loom
