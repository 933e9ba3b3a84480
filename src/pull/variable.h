#pragma once
// Variables of the environment.

#include <cstdlib>
#include <string>

namespace loom::pull {

// Returns the value; empty where the variable is not set.
inline std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace loom::pull
