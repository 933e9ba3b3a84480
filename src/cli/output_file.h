#pragma once
// The option --overwrite of commands that write files (io/output_file.h).

#include "cli/common.h"
#include "io/output_file.h"

namespace loom::cli {

// --overwrite.
void add_overwrite(CLI::App& app, bool& overwrite);

}  // namespace loom::cli
