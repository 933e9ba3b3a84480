#pragma once
// The time of day, for records that people read; no result depends on it.

#include <string>

namespace loom {

// Now, as 2026-11-25T02:30:00Z.
std::string utc_text();

}  // namespace loom
