#pragma once
// The time of day, for records that people read, and time that has passed; no result depends on either.

#include <chrono>
#include <string>

namespace loom {

// Now, as 2026-11-25T02:30:00Z.
std::string utc_text();

using Clock = std::chrono::steady_clock;
inline double ms_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

}  // namespace loom
