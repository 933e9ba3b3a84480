#pragma once
// --receipt FILE, of the commands whose results can be computed again.

#include "cli/common.h"
#include "host/receipt.h"

namespace loom::cli {

void add_receipt(CLI::App& app, std::string& path);
// Before any work: InvalidArgument for a path that holds another kind of file, and for --precision fast.
Result<void> check_receipt(const std::string& path, const CommonOptions& common);

// Gives the sealed receipt of a result, for --json and for the file at `path` if that is not empty; null where neither
// asks for it. Where only --json does, a result without a receipt (a stopped answer, precision fast) gives null too.
template <class Make>
Result<Json> give_receipt(const std::string& path, const CommonOptions& common, const Make& make) {
  if (path.empty() && !common.json) return Json();
  Result<Receipt> receipt = make();
  Result<Json> sealed = receipt ? seal(std::move(*receipt), &interrupt_flag()) : tl::make_unexpected(receipt.error());
  if (!sealed && path.empty() && sealed.error().code != Code::Cancelled) return Json();
  if (sealed && !path.empty()) LOOM_TRY_VOID(write_receipt(path, *sealed));
  return sealed;
}

}  // namespace loom::cli
