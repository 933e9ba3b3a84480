#pragma once
// Compares the answers that a saved response or conversation shows with those of its receipts.

#include <string>

#include "core/error.h"

namespace loom {

// Describes the first answer whose text, thoughts or calls are not those of its receipt; empty: there is none, or the
// receipt stands alone. Errors of read_receipts().
Result<std::string> shown_difference(const std::string& path);

}  // namespace loom
