#pragma once
// loom bench matrix, a command below bench.

#include "cli/commands.h"

namespace loom::cli {

Run bench_matrix_command(CLI::App& app);

}  // namespace loom::cli
