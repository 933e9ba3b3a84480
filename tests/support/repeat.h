#pragma once

#include <string>

namespace loom::test {

// n times the text.
inline std::string repeat(int n, const std::string& text) {
  std::string out;
  for (int k = 0; k < n; ++k) out += text;
  return out;
}

}  // namespace loom::test
