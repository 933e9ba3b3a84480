#include "cli/receipt_option.h"

namespace loom::cli {

void add_receipt(CLI::App& app, std::string& path) {
  add_path(app, "--receipt", path,
           "FILE.json to write: hashes of the model and of all inputs, the options and the hash of the result; loom "
           "replay FILE computes it again and compares")
      ->type_name("FILE");
}

Result<void> check_receipt(const std::string& path, const CommonOptions& common) {
  if (path.empty()) return {};
  LOOM_TRY_VOID(need_exact(common, "--receipt", "proves"));
  return check_receipt_place(path);
}

}  // namespace loom::cli
