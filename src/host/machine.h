#pragma once
// Describes the machine that a record was made on.

#include <string>

namespace loom {

// The processor's own name; "unknown CPU" where the system does not tell.
std::string cpu_name();

}  // namespace loom
