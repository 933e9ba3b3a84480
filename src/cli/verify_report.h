#pragma once
// `loom verify --report`: a row about this machine that somebody can send in.

#include <string>

#include "cli/common.h"
#include "verify/golden_models.h"

namespace loom::cli {

// Prints version, target, compiler, processor, instruction set and threads, the digest of the golden set, the hash of
// 500 training steps and, with a model, the hash of its answer to the README's question. Returns kFailed if a digest is
// not that of this numerics version.
Result<int> print_verify_report(const CommonOptions& options, const std::string& model, const GoldenOptions& run);

}  // namespace loom::cli
