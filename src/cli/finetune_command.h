#pragma once
// Declarations shared by replay and finetune.

#include "cli/common.h"

namespace loom::cli {

// Prints PASS or returns the first line of the journal that differs.
Result<int> replay_finetune_command(const std::string& journal, const std::string& folder, const CommonOptions& common);

}  // namespace loom::cli
