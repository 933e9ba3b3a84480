#include "cli/output_file.h"

namespace loom::cli {

void add_overwrite(CLI::App& app, bool& overwrite) {
  app.add_flag("--overwrite", overwrite, "Replace a file of another kind, or what is read, too");
}

}  // namespace loom::cli
