#pragma once
// A developer may ask a test for more rounds through the environment.

#include <cstdint>
#include <cstdlib>

namespace loom::test {

// LOOM_TRIALS=20000 and the like; the standard where the variable is not set.
inline std::uint64_t asked_for(const char* variable, std::uint64_t standard) {
  const char* text = std::getenv(variable);
  return text == nullptr ? standard : std::strtoull(text, nullptr, 10);
}

}  // namespace loom::test
