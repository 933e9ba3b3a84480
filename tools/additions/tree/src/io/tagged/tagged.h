#pragma once
// A JSON spec after a line "TAGGED". Shows how little a file format of networks needs.

#include <span>

#include "network/spec/spec.h"

namespace loom {

// Returns whether the bytes begin like such a file.
bool is_tagged(std::span<const std::byte> bytes);

Result<SpecResult> network_from_tagged(std::span<const std::byte> bytes, const SpecOptions& options = {});

}  // namespace loom
